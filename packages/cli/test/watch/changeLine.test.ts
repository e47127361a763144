import type { NftHolding } from '@sluice/aptos';
import type { Change } from '@sluice/core';
import { describe, expect, test } from 'vitest';
import { colorsFor } from '../../src/terminal/colors.js';
import { formatTime } from '../../src/terminal/format.js';
import { displayWidth } from '../../src/terminal/width.js';
import { changeLines, changeText } from '../../src/watch/changeText.js';
import { holdingView, streamView } from '../../src/watch/rowView.js';

const colors = colorsFor(false, {});
const seen = { id: 'i', key: 'k', generation: 2, observedAt: '2026-03-01T14:05:09.000Z' } as const;
const nft: NftHolding = {
  name: 'Blue Cat #7',
  collection_name: 'Cats',
  amount: '1',
  property_version: '0',
  owner_address: `0x12ab${'0'.repeat(56)}cd34`,
};

/** Without the time, which depends on the place. */
function lineOf<T extends object>(change: Change<T>, look: Parameters<typeof changeLines<T>>[1]): string | undefined {
  return changeLines([change], look, { colors })[0]?.slice('2026-03-01 14:05:09  '.length);
}

const name = 'Blue Cat #7               ';

test.each<[Change<NftHolding>, string]>([
  [{ ...seen, type: 'added', before: null, after: nft, fields: [] }, `${name}added  x 1  Cats  0x12ab…cd34`],
  [{ ...seen, type: 'removed', before: nft, after: null, fields: [] }, `${name}removed  x 1  Cats  0x12ab…cd34`],
  [
    { ...seen, type: 'changed', before: nft, after: { ...nft, amount: '3' }, fields: ['amount'] },
    `${name}x 1 -> 3  Cats  0x12ab…cd34`,
  ],
  [
    { ...seen, type: 'changed', before: nft, after: { ...nft, property_version: '1' }, fields: ['property_version'] },
    `${name}changed  Cats  0x12ab…cd34  property_version 0 -> 1`,
  ],
])('a holding: %o', (change, line) => {
  expect(lineOf(change, holdingView(colors))).toBe(line);
});

test('a stream without a tag goes by its id, and one without a status says so', () => {
  const change = { ...seen, type: 'added', before: null, after: { id: 7, statusMessage: null }, fields: [] } as const;
  expect(lineOf(change, streamView(colors))).toBe(`7${' '.repeat(25)}added  no status`);
});

test('a field inside of another is shown with what it was, unless that is long', () => {
  const before = { id: 'a', tag: 't', advancedOptions: { topic0: 'x', includeNativeTxs: false } };
  const after = { id: 'a', tag: 't', advancedOptions: { topic0: 'y'.repeat(99), includeNativeTxs: true } };
  const fields = ['advancedOptions.includeNativeTxs', 'advancedOptions.topic0'];
  expect(lineOf({ ...seen, type: 'changed', before, after, fields }, streamView(colors))).toBe(
    `t${' '.repeat(25)}changed  advancedOptions.includeNativeTxs false -> true  advancedOptions.topic0`,
  );
});

test('many statuses are summed up in a few words', () => {
  const changes = ['a', 'b', 'b', 'c', 'd', 'e', 'f', 'g'].map(
    (status, id) => ({ ...seen, type: 'initial', before: null, after: { id, status }, fields: [] }) as const,
  );
  const [line = '', ...others] = changeLines(changes, streamView(colors), { colors });
  expect(others).toEqual([]);
  expect(line).toContain('  8 streams at the start: 2 b, 1 a, 1 c, 1 d, 1 e, 1 f, …  (--format jsonl lists them)');
  // A hint that does not fit is left out, and not cut.
  const [narrow = ''] = changeLines(changes, streamView(colors), { colors, columns: 100 });
  expect(narrow).toMatch(/1 f, …$/);
});

test('the line of each page of a first poll counts the rows of all pages so far', () => {
  const initial = (id: number, status: string) =>
    ({ ...seen, type: 'initial', before: null, after: { id, status }, fields: [] }) as const;
  const { encode } = changeText(streamView(colors), { colors }).encoder(undefined);
  expect(encode([initial(1, 'a'), initial(2, 'b')])).toMatch(/  2 streams at the start: 1 a, 1 b  \(/);
  expect(encode([initial(3, 'b')])).toMatch(/  3 streams at the start: 2 b, 1 a  \(/);
});

test('a line is cut to the width that it is given, colours left out of it', () => {
  const painted = colorsFor(true, {});
  const after = { id: 1, tag: '猫'.repeat(60), status: 'error', statusMessage: 'm'.repeat(99) };
  const change = {
    ...seen,
    type: 'changed',
    before: { ...after, status: 'active' },
    after,
    fields: ['status'],
  } as const;
  const [line = ''] = changeLines([change], streamView(painted), { colors: painted, columns: 100, indent: 2 });
  // eslint-disable-next-line no-control-regex -- the colours
  const shown = line.replace(/\u001b\[\d+m/g, '');
  expect(displayWidth(shown)).toBeLessThanOrEqual(100);
  expect(shown).toMatch(/^ {2}\S+ \S+ {2}猫+… {2,}active -> error {2}m+…$/);
});

describe('a narrow terminal', () => {
  const stream = (status: string) => ({
    id: 'a',
    tag: 'bridge-swap-of-the-second-kind',
    status,
    statusMessage: 'The webhook answered 503.',
  });
  const change: Change<ReturnType<typeof stream>> = {
    ...seen,
    type: 'changed',
    before: stream('active'),
    after: stream('terminated'),
    fields: ['status', 'statusMessage'],
  };

  test.each([
    [120, '2026-03-01 14:05:09  bridge-swap-of-the-second-kind  active -> terminated  The webhook answered 503.'],
    [80, '2026-03-01 14:05:09  bridge-swap-of-the-second-kind  active -> terminated  The …'],
    [60, '2026-03-01 14:05:09  bridge-swap-of-t…  active -> terminated'],
    [40, '14:05:09  bridge-…  active -> terminated'],
  ])('%i columns show the new status of a change', (columns, line) => {
    const [shown = '', ...others] = changeLines([change], streamView(colors), { colors, columns });
    const wrapped = changeLines([change], streamView(colors), { colors, columns, isWrapped: true });
    const local = formatTime(new Date(seen.observedAt));
    expect(others).toEqual([]);
    expect(shown.replace(local, '2026-03-01 14:05:09').replace(local.slice(-8), '14:05:09')).toBe(line);
    expect(displayWidth(shown)).toBeLessThanOrEqual(columns);
    // Nothing is lost where the terminal wraps the line.
    expect(wrapped[0]?.slice(0, columns)).toContain('active -> terminated');
    expect(wrapped[0]).toMatch(/The webhook answered 503\.$/);
  });
});
