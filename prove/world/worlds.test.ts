import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mutantList } from './mutantList.js';
import { mutated } from './mutated.js';
import { bundled } from '../../scripts/bundled.js';
import { casesOf } from '../../scripts/testEffort.js';
import { thrownBy } from '../../test/kit/thrownBy.js';
import { run } from '../../test/run.js';

const harness = bundled(new URL('../worlds.ts', import.meta.url));

function worlds(...options: readonly string[]): ReturnType<typeof run> {
  return run([harness, ...options], join(import.meta.dirname, '../..'), {});
}

test.each([
  [7, 'single'],
  [60, 'single'],
  [7, 'cluster'],
])('S2 the world of seed %i (%s) is the same twice, event by event', { tags: ['slow'] }, async (seed, kind) => {
  const [first, second] = await Promise.all([
    worlds('--only', kind, '--seed', String(seed), '--trace'),
    worlds('--only', kind, '--seed', String(seed), '--trace'),
  ]);
  expect(first.output).toMatch(/^Trace [0-9a-f]{16}\.$/m);
  expect(first).toEqual({ ...second, code: 0 });
});

test('S4 worlds that once broke a promise do not any more', { tags: ['slow'] }, async () => {
  const { code, output } = await worlds('--corpus');
  expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/Worlds of the corpus: [1-9]/) });
});

test('S5 the mutants for worlds quote code that their file has once', () => {
  const stale = mutantList.filter((mutant) => {
    const code = readFileSync(join(import.meta.dirname, '../..', mutant.file), 'utf8');
    return thrownBy(() => mutated(code, mutant)) !== undefined;
  });
  expect(stale.map(({ name }) => name)).toEqual([]);
});

test.each([
  ['other line breaks', 'a(\n  b,\n  c,\n);\n', 'a(b, c)', 'd;\n'],
  ['a comment between', 'a(b, /* the second */ c);', 'a(b, c)', 'd;'],
  ['a template with braces', 'x = `${{ a: `}` }} b`; y;', '`}`', 'x = `${{ a: d }} b`; y;'],
])('S5 a mutant is found in spite of %s', (_, code, from, mutant) => {
  expect(mutated(code, { name: 'a mutant', file: 'a.ts', from, to: 'd' })).toBe(mutant);
});

test.each([
  ['twice', 'a(b); a(b);'],
  ['not at all', 'a(c);'],
])('S5 a mutant whose code is there %s is refused', (_, code) => {
  const mutant = { name: 'a mutant', file: 'a.ts', from: 'a(b)', to: '' };
  expect(thrownBy(() => mutated(code, mutant))).toMatchObject({ message: expect.stringContaining('a mutant') });
});

test('S5 sinks and state stores pass their suites in worlds', { tags: ['slow'] }, async () => {
  const { code, output } = await worlds('--suites', String(casesOf(9)));
  expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/^[1-9]\d* checks.*: 0 wrong\.$/m) });
});

test('S5 new worlds break no promise', { tags: ['slow'] }, async () => {
  const { code, output } = await worlds('--minutes', '0.33');
  expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('no world broke a promise') });
});
