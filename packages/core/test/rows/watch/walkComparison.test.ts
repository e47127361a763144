import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fieldsBetween } from '../../../src/rows/watch/comparisonOptions.js';
import { SnapshotRows } from '../../../src/rows/watch/snapshotRows.js';
import { WalkComparison, type Findings } from '../../../src/rows/watch/walkComparison.js';
import { row, rowsOf, type Row } from './listing.js';

const fields = fieldsBetween<Row>({});

function accepted(rows: readonly Row[]): SnapshotRows<Row> {
  const snapshot = new SnapshotRows<Row>();
  for (const each of rows) snapshot.set(each.id, each);
  return snapshot;
}

function walked(snapshot: SnapshotRows<Row>, rows: readonly Row[]): Findings<Row> {
  const walk = new WalkComparison(snapshot, fields);
  for (const each of rows) walk.add(each.id, each);
  return walk.end();
}

/** In short, e.g. `~a`, `+b`, `-c`. */
function inShort({ changed, added, gone }: Findings<Row>): string {
  const keys = [
    ...changed.map(({ key }) => `~${key}`),
    ...added.map(({ key }) => `+${key}`),
    ...gone.map(([key]) => `-${key}`),
  ];
  return keys.join(' ');
}

describe('a walk is compared with the accepted rows', () => {
  test.each<[string, string, readonly Row[], string]>([
    ['that it equals', 'abc', rowsOf('a', 'b', 'c'), ''],
    ['in another order', 'abcd', rowsOf('d', 'b', 'a', 'c'), ''],
    ['of which one changed', 'abc', [row('a'), row('b', 'error'), row('c')], '~b'],
    ['of which one is gone', 'abc', rowsOf('a', 'c'), '-b'],
    ['to which one came, in the middle', 'ac', rowsOf('a', 'b', 'c'), '+b'],
    ['to which one came, in front', 'ab', rowsOf('c', 'a', 'b'), '+c'],
    ['of which all are gone', 'abc', [], '-a -b -c'],
    ['of which there are none', '', rowsOf('a', 'b'), '+a +b'],
    [
      'all at once, each in the walk’s order',
      'abcd',
      [row('e'), row('d', 'x'), row('b', 'x'), row('a')],
      '~d ~b +e -c',
    ],
    ['twice in one of them, at last changed', 'ab', [row('a'), row('b'), row('a', 'error')], '~a'],
    ['twice in one of them, at last as it was', 'ab', [row('a', 'error'), row('b'), row('a')], ''],
    ['twice in one that came', 'a', [row('b', 'x'), row('a'), row('b')], '+b'],
  ])('%s', (_, keys, rows, found) => {
    const snapshot = accepted(rowsOf(...keys));
    expect(inShort(walked(snapshot, rows))).toBe(found);
    // It has left nothing behind: the next one finds the same, and what was accepted is there as it was.
    expect(inShort(walked(snapshot, rows))).toBe(found);
    expect([...snapshot]).toEqual(rowsOf(...keys).map((each) => [each.id, each]));
    expect(inShort(walked(snapshot, rowsOf(...keys)))).toBe('');
  });

  test('a row that came back is compared with what it is now, though the row before it points to the one that went', () => {
    const snapshot = accepted(rowsOf('a', 'b', 'c'));
    snapshot.delete('b');
    snapshot.set('b', row('b', 'error'));
    expect(inShort(walked(snapshot, [row('a'), row('b', 'error'), row('c')]))).toBe('');
  });

  test('of a row that is listed twice, the last one counts', () => {
    const { changed, added } = walked(accepted(rowsOf('a')), [
      row('a', 'x'),
      row('b', 'x'),
      row('a', 'y'),
      row('b', 'y'),
    ]);
    expect([...changed, ...added].map(({ after }) => after?.status)).toEqual(['y', 'y']);
  });

  test.each<[string, readonly Row[], number]>([
    ['as they are', [row('a'), row('c'), row('a'), row('c')], 0],
    ['with other values', [row('a'), row('a', 'x')], 1],
    ['with other values, at last as it was', [row('a', 'x'), row('a')], 1],
    ['with the same other values', [row('a', 'x'), row('a', 'x')], 0],
    ['with others each time', [row('a', 'x'), row('a', 'y'), row('a', 'z')], 1],
    ['where it came', [row('c', 'x'), row('c', 'y'), row('c', 'y')], 1],
    ['several of them', [row('a', 'x'), row('b', 'x'), row('c', 'x'), row('a'), row('b'), row('c')], 3],
  ])('keys that it lists more than once are counted: %s', (_, rows, repeated) => {
    const snapshot = accepted(rowsOf('a', 'b'));
    expect(walked(snapshot, rows).repeated).toBe(repeated);
    expect(walked(snapshot, rowsOf('a', 'b')).repeated).toBe(0);
  });

  test('C1 one that was dropped half-way leaves nothing behind', () => {
    const snapshot = accepted(rowsOf('a', 'b', 'c'));
    const dropped = new WalkComparison(snapshot, fields);
    for (const each of [row('c', 'error'), row('a'), row('d')]) dropped.add(each.id, each);
    expect(inShort(walked(snapshot, rowsOf('a', 'b')))).toBe('-c');
    expect(inShort(walked(snapshot, rowsOf('a', 'b', 'c')))).toBe('');
  });

  test('as two maps would be, whatever came, moved and went between walks', { tags: ['slow'] }, () => {
    const walk = fc.record({
      rows: fc.array(fc.tuple(fc.constantFrom(...'abcdefgh'), fc.constantFrom('active', 'error')), { maxLength: 10 }),
      /** What is dropped half-way says nothing. */
      dropsAt: fc.option(fc.nat({ max: 10 })),
    });
    fc.assert(
      fc.property(fc.array(walk, { maxLength: 12 }), (walks) => {
        const snapshot = accepted([]);
        const model = new Map<string, Row>();
        for (const { rows, dropsAt } of walks) {
          const comparison = new WalkComparison(snapshot, fields);
          for (const [id, status] of rows.slice(0, dropsAt ?? rows.length)) comparison.add(id, row(id, status));
          if (dropsAt !== null) continue;
          const found = comparison.end();
          const seen = new Map(rows.map(([id, status]) => [id, row(id, status)]));
          const changed = [...seen.values()].filter(({ id, status }) => (model.get(id)?.status ?? status) !== status);
          expect(new Map(found.changed.map(({ key, after }) => [key, after]))).toEqual(
            new Map(changed.map((each) => [each.id, each])),
          );
          expect(found.added.map(({ after }) => after)).toEqual([...seen.values()].filter(({ id }) => !model.has(id)));
          expect(found.gone).toEqual([...model].filter(([id]) => !seen.has(id)));
          expect(found.accepted).toBe(model.size);
          for (const { key, after } of [...found.changed, ...found.added])
            if (after) {
              snapshot.set(key, after);
              model.set(key, after);
            }
          for (const [key] of found.gone) {
            snapshot.delete(key);
            model.delete(key);
          }
          expect([...snapshot]).toEqual([...model]);
          expect(snapshot.size).toBe(model.size);
        }
      }),
      { numRuns: 500 },
    );
  });
});

test('accepted rows are found by their keys, whatever was removed meanwhile', () => {
  const snapshot = accepted(rowsOf('a', 'b', 'c'));
  snapshot.delete('b');
  snapshot.delete('none');
  expect([snapshot.get('a'), snapshot.get('b'), snapshot.size]).toEqual([row('a'), undefined, 2]);
  expect(inShort(walked(snapshot, rowsOf('a', 'b', 'c')))).toBe('+b');
  snapshot.set('b', row('b', 'error'));
  snapshot.set('b', row('b', 'paused'));
  expect(inShort(walked(snapshot, rowsOf('a', 'b', 'c')))).toBe('~b');
});

test('C11 the rows of a walk that come as in the walk before are found without a look-up', () => {
  const snapshot = accepted(rowsOf('a', 'b', 'c', 'd'));
  walked(snapshot, rowsOf('d', 'b', 'a', 'c'));
  const order: string[] = [];
  for (let at = snapshot.start.next; at; at = at.next) order.push(at.key);
  expect(order).toEqual(['d', 'b', 'a', 'c']);
});
