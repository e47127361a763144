import { describe, expect, test } from 'vitest';
import { CheckpointError } from '../../../src/index.js';
import { decodeWatchRecord } from '../../../src/rows/watch/decodeWatchRecord.js';

const base = {
  base: 1,
  watch: 'of rows',
  history: 'one',
  generation: 3,
  observedAt: '2030-01-01T00:00:00.000Z',
  committed: 2,
  size: 0,
  missing: {},
};

const decoded = (record: unknown): unknown => decodeWatchRecord(record, () => undefined);

describe("C6 the first record of a watch's log", () => {
  test('is read as it was written', () => {
    const { base: v, ...fields } = base;
    expect(decoded(base)).toEqual({ kind: 'base', v, ...fields, missing: new Map() });
  });

  test.each([
    ['base', 0],
    ['base', '1'],
    ['watch', 7],
    ['history', null],
    ['generation', -1],
    ['generation', '3'],
    ['observedAt', 1_893_456_000_000],
    ['committed', 1.5],
    ['committed', undefined],
    ['size', -1],
    ['size', undefined],
  ])('is refused where %s is %j, and the rest is as it was', (field, value) => {
    expect(() => decoded({ ...base, [field]: value })).toThrow(CheckpointError);
    expect(() => decoded({ ...base, [field]: value })).not.toThrow(/newer version/);
  });

  test('is refused as one of a newer version, with what to do about it', () => {
    expect(() => decoded({ ...base, base: 2 })).toThrow(/newer version of Sluice/);
  });
});

describe('C6 a delta of a log', () => {
  const delta = { generation: 3, observedAt: '2030-01-01T00:00:00.000Z', missing: {}, differences: [] };

  test('is read as it was written', () => {
    expect(decoded(delta)).toEqual({ kind: 'delta', ...delta, missing: new Map() });
    expect(decoded({ ...delta, isIncomplete: true })).toMatchObject({ kind: 'delta', isIncomplete: true });
  });

  test.each([
    ['generation', -1],
    ['generation', '3'],
    ['observedAt', undefined],
    ['differences', {}],
  ])('is refused where %s is %j, and the rest is as it was', (field, value) => {
    expect(() => decoded({ ...delta, [field]: value })).toThrow(CheckpointError);
  });
});
