import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createSource,
  exportTo,
  memoryState,
  systemClock,
  type ExportOptions,
  type ExportReport,
  type Sink,
  type Source,
  type StateStore,
} from '@sluice/core';
import { startReceiver } from '@sluice/sandbox';
import { describe, expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { csv } from '../src/csv.js';
import { jsonl } from '../src/jsonl.js';
import { parquet } from '../src/parquet.js';
import { webhook } from '../src/webhook.js';
import { readParquet } from './readParquet.js';

interface Row {
  readonly id: number;
  readonly night: number;
}

const hour = 3_600_000;

/** Three partitions of two pages each, whose rows say in which hour they were read. */
function listing(hours: number, { killedAt = Infinity, pages = 0, returnedFor = NaN } = {}): Source<Row> {
  return createSource<Row>({
    name: 'items',
    identity: null,
    partitions: 3,
    ...(!Number.isNaN(returnedFor) && { endpoint: { returnedFor: () => Promise.resolve(returnedFor) } }),
    schema: { columns: ['id', 'night'], types: { id: 'integer', night: 'integer' }, key: ({ id }) => id },
    fetch({ at, partition }) {
      pages += 1;
      if (pages >= killedAt) return Promise.reject(new Error('killed'));
      const id = partition * 2 + (at ? 1 : 0);
      return Promise.resolve({ rows: [{ id, night: hours }], next: at ? ('end' as const) : { cursor: 'second' } });
    },
  });
}

interface Night extends ExportOptions {
  readonly hours: number;
  readonly killedAt?: number;
  /** Ms since its budget has returned. */
  readonly returnedFor?: number;
  readonly warnings?: string[];
}

/** Runs an export at an hour. */
function run(
  sink: Sink<Row>,
  state: StateStore,
  { hours, killedAt, returnedFor, warnings, ...options }: Night,
): Promise<ExportReport> {
  return exportTo(
    listing(hours, { ...(killedAt && { killedAt }), ...(returnedFor !== undefined && { returnedFor }) }),
    sink,
    {
      state,
      commitEvery: 1,
      clock: { ...systemClock, now: () => Date.UTC(2030, 0, 1) + hours * hour },
      onWarning: (message) => warnings?.push(message),
      ...options,
    },
  ).run();
}

const nightsIn = (lines: string): string =>
  lines
    .replaceAll(/^.*?(\d+)\D*$/gm, '$1')
    .trimEnd()
    .replaceAll('\n', ' ');

/** What a file says of the night in which each row was read. */
const files = {
  csv: { sink: csv<Row>, read: (path: string) => nightsIn(readFileSync(path, 'utf8').replace('id,night\r\n', '')) },
  jsonl: { sink: jsonl<Row>, read: (path: string) => nightsIn(readFileSync(path, 'utf8')) },
} as const;

describe.each(Object.entries(files))('a run into %s that was interrupted', (_, { sink, read }) => {
  test.each([
    [12, 4, '0 0 0 12 12 12'],
    [13, 1, '13 13 13 13 13 13'],
  ])('D2 is resumed or begun anew after %i hours', async (hours, concurrency, nights) => {
    const folder = temporaryFolder();
    const path = join(folder, 'rows');
    const state = memoryState();
    const warnings: string[] = [];
    writeFileSync(path, 'the file of the night before');
    const target = sink({ path, ifExists: 'overwrite' });
    await expect(run(target, state, { hours: 0, killedAt: 4 })).rejects.toThrow('killed');
    expect(readFileSync(path, 'utf8')).toBe('the file of the night before');
    await run(target, state, { hours, warnings, concurrency });
    expect(read(path)).toBe(nights);
    expect(warnings).toEqual([
      expect.stringMatching(hours > 12 ? /is too old to resume after\. Its 3 rows are exp/ : /goes on with 3 rows/),
    ]);
    expect(readdirSync(folder)).toEqual(['rows']);
  });

  test.each([
    [-hour, '0 0 0 24 24 24'],
    [hour, '0 0 0 24 24 24'],
    [13 * hour, '24 24 24 24 24 24'],
  ])('D2 that its budget held up is as old as the budget has returned: %i ms', async (returnedFor, nights) => {
    const path = join(temporaryFolder(), 'rows');
    const state = memoryState();
    const target = sink({ path, ifExists: 'overwrite' });
    await expect(run(target, state, { hours: 0, killedAt: 4 })).rejects.toThrow('killed');
    await run(target, state, { hours: 24, returnedFor });
    expect(read(path)).toBe(nights);
  });

  test('D2 is begun anew with what waits for other partitions, and where rows are appended', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'rows');
    const state = memoryState();
    const target = sink({ path, ifExists: 'append' });
    await run(target, state, { hours: 0 });
    const other = memoryState();
    await expect(run(target, other, { hours: 1, killedAt: 6, concurrency: 3 })).rejects.toThrow('killed');
    expect(existsSync(`${path}.part`)).toBe(true);
    const { resumedRows } = await run(target, other, { hours: 25, concurrency: 3 });
    expect(resumedRows).toBe(0);
    expect(read(path)).toBe('0 0 0 0 0 0 25 25 25 25 25 25');
    expect(readdirSync(folder)).toEqual(['rows']);
  });

  test('D2 is resumed at any age with Infinity, and never with 0', async () => {
    for (const [resumeWithin, nights] of [
      [Infinity, '0 0 0 99 99 99'],
      [0, '99 99 99 99 99 99'],
    ] as const) {
      const path = join(temporaryFolder(), 'rows');
      const state = memoryState();
      const target = sink({ path });
      await expect(run(target, state, { hours: 0, killedAt: 4 })).rejects.toThrow('killed');
      const { oldRows } = await run(target, state, { hours: 99, resumeWithin });
      expect(oldRows).toEqual(
        resumeWithin === 0 ? undefined : { rows: 3, since: '2030-01-01T00:00:00.000Z', removesNone: true },
      );
      expect(read(path)).toBe(nights);
    }
  });

  test('E6 is refused with other settings at any age, and nothing is changed', async () => {
    const folder = temporaryFolder();
    const state = memoryState();
    const target = sink({ path: join(folder, 'rows') });
    await expect(run(target, state, { hours: 0, killedAt: 4 })).rejects.toThrow('killed');
    const before = readFileSync(join(folder, 'rows.part'));
    const other = sink({ path: join(folder, 'rows'), columns: ['id'] });
    await expect(run(other, state, { hours: 48 })).rejects.toThrow('different settings');
    expect(readFileSync(join(folder, 'rows.part'))).toEqual(before);
  });

  test('D2 keeps being old when it is interrupted again, and is calm if that was just now', async () => {
    const path = join(temporaryFolder(), 'rows');
    const state = memoryState();
    const target = sink({ path });
    await expect(run(target, state, { hours: 0, killedAt: 3 })).rejects.toThrow('killed');
    await expect(run(target, state, { hours: 0.01, killedAt: 2 })).rejects.toThrow('killed');
    const warnings: string[] = [];
    await expect(run(target, state, { hours: 8, killedAt: 2, warnings })).rejects.toThrow('killed');
    expect(warnings).toEqual([]);
    const { oldRows } = await run(target, state, { hours: 8.01 });
    expect(oldRows).toEqual({ rows: 4, since: '2030-01-01T00:00:00.000Z' });
  });
});

test('D2 a Parquet file is begun anew, too', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'rows.parquet');
  const state = memoryState();
  const target = parquet<Row>({ path, ifExists: 'overwrite' });
  await expect(run(target, state, { hours: 0, killedAt: 4 })).rejects.toThrow('killed');
  await run(target, state, { hours: 24 });
  const rows = await readParquet(path);
  expect(rows.map((row) => Number(row['night']))).toEqual([24, 24, 24, 24, 24, 24]);
  expect(readdirSync(folder)).toEqual(['rows.parquet']);
});

test('W1 a forward is resumed at any age, as what was received can not be taken back, and says how old it is', async () => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const state = memoryState();
  const warnings: string[] = [];
  const hook = webhook<Row>({ url: receiver.url, secret: false, allowAddresses: ['127.0.0.1'] });
  await expect(run(hook, state, { hours: 0, killedAt: 4 })).rejects.toThrow('killed');
  expect(await run(hook, state, { hours: 99, warnings })).toMatchObject({ resumedRows: 3, oldRows: { rows: 3 } });
  expect(receiver.counts.accepted).toBe(6);
  expect(warnings).toEqual([expect.stringMatching(/goes on with 3 rows that an interrupted run has read since 2030/)]);
});
