import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  exportTo,
  memoryState,
  type ExportOptions,
  type ExportReport,
  type SourceDefinition,
} from '../../src/index.js';
import { fileSink, fileState, nodeFileSystem, type FileTarget } from '../../src/node/index.js';
import { FakeClock } from '../fakeClock.js';
import { recordingSink } from '../rows/sink/recordingSink.js';
import { fileOf, partitionsOf } from './partitionRows.js';
import { simulatedDisk, type SimulatedDisk } from './simulatedDisk.js';
import { runOn, target, textOn, type Scenario } from './simulatedExport.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { systemError } from './faultyFileSystem.js';
import { textFormat } from './textRows.js';

const partitions = [[3, 3], [2]];
const whole = fileOf(partitions);

interface Run extends ExportOptions {
  readonly target?: Partial<FileTarget>;
  readonly source?: Partial<SourceDefinition<string>>;
}

/** Runs it, and counts the pages that were asked for. */
async function run(path: string, { target, source, ...options }: Run = {}): Promise<ExportReport & { asked: number }> {
  let asked = 0;
  const from = partitionsOf(partitions, () => void (asked += 1), source);
  const sink = fileSink(textFormat, { path, ...target });
  const report = await exportTo(from, sink, { state: fileState(`${path}.sluice`), ...options }).run();
  return { ...report, asked };
}

describe('E1 an export that finished, and is run again', () => {
  test('is done at once, asks for nothing, and says when it finished', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    const clock = new FakeClock();
    const first = await run(path, { clock });
    expect(first.finishedAt).toBeUndefined();
    const again = await run(path, { concurrency: 2, commitEvery: 1 });
    expect(again).toEqual({
      rows: 8,
      pages: 3,
      resumedRows: 8,
      committedRows: 8,
      isDone: true,
      asked: 0,
      target: path,
      bytes: whole.length,
      finishedAt: new Date(clock.now()).toISOString(),
    });
    expect(readFileSync(path, 'utf8')).toBe(whole);
  });

  test.each<[string, Run, (path: string) => void]>([
    ['with restart', { restart: true, target: { ifExists: 'overwrite' } }, () => undefined],
    ['over the old file', { target: { ifExists: 'overwrite' } }, () => undefined],
    ['without its file', {}, (path) => rmSync(path)],
    ['as another plan, without its file', { source: { identity: 'other' } }, (path) => rmSync(path)],
  ])('%s begins from the start', async (_, how, change) => {
    const path = join(temporaryFolder(), 'rows.txt');
    await run(path);
    change(path);
    expect(await run(path, how)).toMatchObject({ rows: 8, resumedRows: 0, asked: 3 });
    expect((await run(path, { ...how, restart: false, target: {} })).finishedAt).toBeDefined();
  });

  test.each<[string, Run, (path: string) => void]>([
    ['with its file changed', {}, (path) => writeFileSync(path, readFileSync(path, 'utf8').replace('row 1', 'row 7'))],
    ['with something appended to its file', {}, (path) => appendFileSync(path, 'mine')],
    ['as another plan', { source: { identity: 'other' } }, () => undefined],
    [
      'with the key of another project',
      { source: { endpoint: { keyFingerprint: (salt) => Promise.resolve(`other ${salt}`) } } },
      () => undefined,
    ],
  ])('%s is refused as before, and nothing is changed', async (_, how, change) => {
    const path = join(temporaryFolder(), 'rows.txt');
    const withKey = { endpoint: { keyFingerprint: (salt: string) => Promise.resolve(`one ${salt}`) } };
    await run(path, { source: withKey });
    change(path);
    const before = readFileSync(path, 'utf8');
    await expect(run(path, { source: withKey, ...how })).rejects.toThrow(/exists already, and was not touched/);
    expect(readFileSync(path, 'utf8')).toBe(before);
  });

  test('knows its file with state in memory too', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    const state = memoryState();
    await run(path, { state });
    expect(await run(path, { state })).toMatchObject({ asked: 0, rows: 8 });
  });

  test('into a sink that can not tell is run again', async () => {
    const state = memoryState();
    const sink = recordingSink<string>();
    for (let times = 1; times <= 2; times += 1) {
      const report = await exportTo(partitionsOf(partitions), sink, { state }).run();
      expect(report.finishedAt).toBeUndefined();
      expect(sink.rows).toHaveLength(8);
    }
    expect(await state.load('checkpoint')).toBeUndefined();
  });

  test('E9 is done all the same where the disk has no room for its record', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    let isSealed = false;
    const fileSystem = {
      ...nodeFileSystem,
      open: (name: string, mode: Parameters<typeof nodeFileSystem.open>[1]) =>
        isSealed && mode === 'private' ? Promise.reject(systemError('ENOSPC')) : nodeFileSystem.open(name, mode),
      link: async (from: string, to: string) => {
        await nodeFileSystem.link(from, to);
        isSealed = true;
      },
    };
    const state = fileState(`${path}.sluice`, { fileSystem });
    await run(path, { state, target: { fileSystem } });
    expect(readFileSync(path, 'utf8')).toBe(whole);
    // Whoever was killed before it could say so has not to be told that the file exists already.
    isSealed = false;
    expect(await run(path, { state: fileState(`${path}.sluice`) })).not.toHaveProperty('finishedAt');
    expect(readFileSync(path, 'utf8')).toBe(whole);
    expect(await run(path, { state: fileState(`${path}.sluice`) })).toHaveProperty('finishedAt');
  });
});

test.each<[string, Scenario]>([
  ['a concurrency of 1', { partitions: [[2, 2]] }],
  ['a concurrency of 2, compressed', { partitions: [[2], [2, 2]], concurrency: 2, gzip: { pagesPerMember: 2 } }],
])(
  'E1 killed at any call of its end, it ends after one rerun with the same bytes, and stays done (%s)',
  { tags: ['slow'] },
  async (_, scenario) => {
    const dry = simulatedDisk();
    dry.putFolder('/data');
    await runOn(dry, scenario);
    const whole = fileOf(scenario.partitions);
    // From the last page's write on.
    const from = dry.calls.findLast(({ name, path }) => name === 'write' && path === `${target}.part`)?.n ?? 0;
    expect(dry.calls.length - from).toBeGreaterThan(20);
    for (const { n } of dry.calls.slice(from)) {
      for (const cut of ['before', 'after'] as const) {
        const disk = simulatedDisk((call) => (call.n === n ? { cut } : undefined));
        disk.putFolder('/data');
        await runOn(disk, scenario).catch(() => undefined);
        const left: SimulatedDisk = disk.restart('killed');
        await runOn(left, scenario);
        expect(textOn(left)).toBe(whole);
        const again = await runOn(left.restart('killed'), scenario, () => {
          throw new Error('It asked for a page.');
        });
        expect(again.finishedAt).toBeDefined();
      }
    }
  },
);
