import { expect, test } from 'vitest';
import { CheckpointError, createSource, exportTo, memoryState, type Json, type Source } from '../../../src/index.js';
import { recordingSink } from '../sink/recordingSink.js';

/** Two pages, of which the second one fails at first. */
function source(identity: Json, isBroken: () => boolean): Source<number> {
  return createSource<number>({
    name: 'test.numbers',
    identity,
    schema: { columns: [] },
    fetch: ({ at }) => {
      if (at === undefined) return Promise.resolve({ rows: [1], next: { cursor: '2' } });
      if (isBroken()) throw new Error('The line is cut.');
      return Promise.resolve({ rows: [2], next: 'end' });
    },
  });
}

test('E6 the order in which a plan names its parameters does not matter, what they are does', async () => {
  const sink = recordingSink<number>();
  const state = memoryState();
  let isBroken = true;
  const run = (identity: Json): Promise<unknown> =>
    exportTo(
      source(identity, () => isBroken),
      sink,
      { state, commitEvery: 1 },
    ).run();
  await expect(run({ size: 10, owners: ['a', 'b'], more: { x: 1, y: 2 } })).rejects.toThrow('The line is cut.');
  isBroken = false;
  await expect(run({ size: 10, owners: ['b', 'a'], more: { x: 1, y: 2 } })).rejects.toThrow(CheckpointError);
  expect(sink.rows).toEqual([1]);
  expect(await run({ more: { y: 2, x: 1 }, owners: ['a', 'b'], size: 10 })).toMatchObject({
    isDone: true,
    resumedRows: 1,
  });
  expect(sink.rows).toEqual([1, 2]);
});
