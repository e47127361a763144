import { expect, test } from 'vitest';
import { CheckpointError, exportTo, memoryState } from '../../../src/index.js';
import { isRecord } from '../../../src/values.js';
import { removePartition, decodeCheckpoint } from '../../../src/rows/export/checkpoint.js';
import { checkpointName } from '../../../src/rows/export/findCheckpoint.js';
import { startHoldings, type Row } from '../../sandboxSource.js';
import { recordingSink } from '../sink/recordingSink.js';

/** What an export leaves behind that failed in its fourth page. */
async function leftCheckpoint(): Promise<Record<string, unknown>> {
  const { list } = await startHoldings({ holdings: 500 });
  const sink = recordingSink<Row>();
  sink.beforeWrite = () => {
    if (sink.rows.length === 300) throw new Error('The disk is full.');
  };
  const state = memoryState();
  await expect(exportTo(list(), sink, { state, commitEvery: 1 }).run()).rejects.toThrow('The disk is full.');
  const record = await state.load(checkpointName);
  if (!isRecord(record)) throw new Error('Nothing was left behind.');
  return record;
}

const notText = [null, true, 1, ['x'], { x: 'x' }];
const notACount = [null, true, -1, 0.5, '1', [1], { x: 1 }];
const notARecord = [null, true, 1, 'x'];

test.each([
  ['v', [null, '1', 0, 2, [1]]],
  ['runId', notText],
  ['source', notText],
  ['planHash', notText],
  ['rows', notACount],
  ['pages', notACount],
  ['settings', [...notARecord, { limit: 1 }, { limit: '1', offset: null }]],
  ['begun', [...notARecord, { 0: null }, { 0: { rows: 1 } }, { 0: { rows: 1, pages: -1 } }]],
  ['position', [...notARecord, {}, { before: 0 }]],
])('a checkpoint whose %s is damaged, or missing, is refused and not gone on from', async (name, damages) => {
  const whole = await leftCheckpoint();
  expect(decodeCheckpoint(whole)).toEqual(whole);
  const { [name]: value, ...without } = whole;
  expect(value).toBeDefined();
  expect(() => decodeCheckpoint(without)).toThrow(CheckpointError);
  for (const damaged of damages)
    expect(() => decodeCheckpoint({ ...whole, [name]: damaged }), JSON.stringify(damaged)).toThrow(CheckpointError);
});

test.each([null, 'x', [], {}, 1])('%j is no checkpoint', (record) => {
  expect(() => decodeCheckpoint(record)).toThrow(CheckpointError);
});

test('a checkpoint of a newer version is refused with what to do, and not taken for damage', async () => {
  const whole = await leftCheckpoint();
  expect(() => decodeCheckpoint({ ...whole, v: 2 })).toThrow(/newer version of Sluice/);
  for (const v of [0, '2', null]) expect(() => decodeCheckpoint({ ...whole, v })).toThrow(/can't be read/);
});

test('E7 a part that is taken back takes its own rows and pages along, and a part without any takes none', async () => {
  const checkpoint = decodeCheckpoint(await leftCheckpoint());
  const begun = { 0: { rows: 120, pages: 2 }, 2: { rows: 180, pages: 1 } };
  const taken = (partition: number): unknown =>
    removePartition({ ...checkpoint, rows: 300, pages: 3, begun }, partition, 'place');
  expect(taken(0)).toMatchObject({ rows: 180, pages: 1, begun: { 2: begun[2] }, sinkPosition: 'place' });
  expect(taken(1)).toMatchObject({ rows: 300, pages: 3, begun, sinkPosition: 'place' });
});

test('a checkpoint may lack the number of partitions, which a walk may discover, but not have a damaged one', async () => {
  const { partitions, ...without } = await leftCheckpoint();
  expect(partitions).toBe(1);
  expect(decodeCheckpoint(without)).toEqual(without);
  for (const damaged of notACount)
    expect(() => decodeCheckpoint({ ...without, partitions: damaged })).toThrow(CheckpointError);
});
