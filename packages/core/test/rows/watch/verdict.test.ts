import { describe, expect, test } from 'vitest';
import { judgeRemovals, type RemovalRules } from '../../../src/rows/watch/removals.js';
import type { Findings } from '../../../src/rows/watch/walkComparison.js';

const rules: RemovalRules = { confirmations: 2, holdAbove: 0.5, holdWalks: 3, holdFor: 2_000, acceptRemovals: false };

/** One walk after another over a listing, a second apart: the keys that each shows, and what was made of it. */
function judged(walks: readonly string[], changed: Partial<RemovalRules> = {}, times?: readonly number[]): string[] {
  const accepted = new Set('abcdefghij');
  let missing: Parameters<typeof judgeRemovals>[1] = new Map();
  return walks.map((keys, nth) => {
    const options = { rules: { ...rules, ...changed }, now: times?.[nth] ?? nth * 1_000 };
    const verdict = judgeRemovals(findings(accepted, keys), missing, options);
    missing = verdict.missing;
    const told = verdict.differences.map(({ type, key, after }) => {
      if (after === null) accepted.delete(key);
      else accepted.add(key);
      return `${type === 'removed' ? '-' : '+'}${key}`;
    });
    return [...told, ...(verdict.held > 0 ? [`held ${String(verdict.held)}`] : [])].join(' ');
  });
}

function findings(accepted: ReadonlySet<string>, keys: string): Findings<string> {
  const added = [...keys].filter((key) => !accepted.has(key));
  return {
    changed: [],
    added: added.map((key) => ({ type: 'added', key, before: null, after: key, fields: [] })),
    gone: [...accepted].filter((key) => !keys.includes(key)).map((key) => [key, key]),
    accepted: accepted.size,
    repeated: 0,
  };
}

const all = 'abcdefghij';

describe('C2 a row that is missing', () => {
  test.each<[string, readonly string[], Partial<RemovalRules>, readonly string[]]>([
    ['goes with the second walk', ['bcdefghij', 'bcdefghij', 'bcdefghij'], {}, ['', '-a', '']],
    ['goes with the first, if one is enough', ['bcdefghij'], { confirmations: 1 }, ['-a']],
    [
      'goes with the third, if it takes three',
      ['bcdefghij', 'bcdefghij', 'bcdefghij'],
      { confirmations: 3 },
      ['', '', '-a'],
    ],
    ['stays, if it is back in between', ['bcdefghij', all, 'bcdefghij', all], {}, ['', '', '', '']],
    ['goes by itself', ['bcdefghij', 'acdefghij', 'acdefghij'], {}, ['', '', '-b']],
    ['comes back as another one', ['bcdefghij', 'bcdefghij', all], {}, ['', '-a', '+a']],
    ['goes though others come', ['bcdefghijk', 'bcdefghijkl'], {}, ['+k', '+l -a']],
  ])('%s', (_, walks, changed, told) => {
    expect(judged(walks, changed)).toEqual(told);
  });
});

describe('C3 a listing that shrinks', () => {
  test.each<[string, readonly string[], Partial<RemovalRules>, readonly string[]]>([
    ['by half is believed', ['abcde', 'abcde'], {}, ['', '-f -g -h -i -j']],
    ['by more is held for three walks', ['abcd', 'abcd', 'abcd', 'abcd'], {}, ['', 'held 6', '-e -f -g -h -i -j', '']],
    [
      'by more is held for three walks, even if one is enough else',
      ['abcd', 'abcd', 'abcd'],
      { confirmations: 1 },
      ['held 6', 'held 6', '-e -f -g -h -i -j'],
    ],
    [
      'by more is held for as many walks as it takes',
      ['', '', '', ''],
      { confirmations: 4, holdWalks: 4 },
      ['', '', '', '-a -b -c -d -e -f -g -h -i -j'],
    ],
    ['to nothing is held', ['', '', ''], {}, ['', 'held 10', '-a -b -c -d -e -f -g -h -i -j']],
    ['to nothing is held whatever the share', ['', ''], { holdAbove: 1 }, ['', 'held 10']],
    [
      'to nothing is believed with acceptRemovals',
      ['', ''],
      { acceptRemovals: true },
      ['', '-a -b -c -d -e -f -g -h -i -j'],
    ],
    ['and comes back has lost nothing', ['ab', 'ab', all, all], {}, ['', 'held 8', '', '']],
    ['and comes back in part has lost the rest', ['ab', 'ab', 'abcdefgh'], {}, ['', 'held 8', '-i -j']],
    [
      'and comes back, then shrinks again, is held anew',
      ['ab', 'ab', all, 'ab', 'ab', 'ab'],
      {},
      ['', 'held 8', '', '', 'held 8', '-c -d -e -f -g -h -i -j'],
    ],
    ['and comes back in part stays held', ['ab', 'abcdefgh', 'abcdefgh'], {}, ['', 'held 2', '-i -j']],
    ['slowly is held when it is too much', ['abcdef', 'abcd', 'abcd'], {}, ['', 'held 4', '-g -h -i -j held 2']],
    [
      'by any is held with holdAbove: 0',
      ['bcdefghij', 'bcdefghij', 'bcdefghij'],
      { holdAbove: 0 },
      ['', 'held 1', '-a'],
    ],
    ['keeps what it gains', ['abz', 'abz'], {}, ['+z', 'held 8']],
  ])('%s', (_, walks, changed, told) => {
    expect(judged(walks, changed)).toEqual(told);
  });

  test('by its own account has more rows than came: what is missing may be among them', () => {
    const found = findings(new Set(all), 'bcdefghij');
    const missing = new Map([['a', { walks: 1, since: 0, isHeld: false }]]);
    expect(judgeRemovals(found, missing, { rules, now: 1_000 })).toMatchObject({
      differences: [{ key: 'a' }],
      held: 0,
    });
    expect(judgeRemovals(found, missing, { rules, now: 1_000, isShort: true })).toMatchObject({
      differences: [],
      held: 1,
    });
    const believed = { rules: { ...rules, acceptRemovals: true }, now: 1_000, isShort: true };
    expect(judgeRemovals(found, missing, believed)).toMatchObject({ differences: [{ key: 'a' }], held: 0 });
  });

  test('is held for as long as it takes, however many walks agree', () => {
    expect(judged(['', '', '', '', ''], {}, [0, 10, 20, 1_999, 2_000])).toEqual([
      '',
      'held 10',
      'held 10',
      'held 10',
      '-a -b -c -d -e -f -g -h -i -j',
    ]);
  });

  test('is not held for a year because the clock was a year ahead', () => {
    const year = 365 * 86_400_000;
    expect(judged(['', '', '', '', ''], {}, [year, 1_000, 2_000, 3_000, 4_000])).toEqual([
      '',
      'held 10',
      'held 10',
      '-a -b -c -d -e -f -g -h -i -j',
      '',
    ]);
  });

  test('is not believed by a clock that jumps ahead alone', () => {
    expect(judged(['', '', ''], {}, [0, 1e12, 1e12])).toEqual(['', 'held 10', '-a -b -c -d -e -f -g -h -i -j']);
  });
});
