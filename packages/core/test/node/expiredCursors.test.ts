import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { filter } from 'rxjs';
import { describe, expect, test } from 'vitest';
import {
  ConfigError,
  exportTo,
  HttpError,
  memoryState,
  PaginationError,
  type ExportOptions,
  type ExportReport,
  type Source,
  type StateStore,
} from '../../src/index.js';
import { fileSink, fileState } from '../../src/node/index.js';
import { recordingSink } from '../rows/sink/recordingSink.js';
import { fileOf, partitionsOf, type OnFetch } from './partitionRows.js';
import { namesBeside } from './namesBeside.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { textFormat } from './textRows.js';

const partitions = [
  [3, 1, 2],
  [2, 2, 2, 2, 2, 2],
  [1, 1],
  [4, 4, 4, 4],
];
const expired = new HttpError('The cursor is gone.', { status: 410, excerpt: '' });

/** Refuses a page as often as told, and counts how often each is answered. */
class Refusals {
  readonly answered = new Map<string, number>();
  readonly #left: Map<string, number>;

  constructor(refused: Readonly<Record<string, number>>) {
    this.#left = new Map(Object.entries(refused));
  }

  readonly onFetch: OnFetch = (partition, page) => {
    const name = `${partition}/${page}`;
    const left = this.#left.get(name) ?? 0;
    this.#left.set(name, left - 1);
    if (left > 0) throw expired;
    this.answered.set(name, (this.answered.get(name) ?? 0) + 1);
  };

  /** Pages that were answered more than once, by part. */
  get again(): Record<string, number> {
    const again: Record<string, number> = {};
    for (const [name, count] of this.answered) {
      const partition = name.split('/')[0]!;
      if (count > 1) again[partition] = (again[partition] ?? 0) + 1;
    }
    return again;
  }
}

function run(source: Source<string>, path: string, options: ExportOptions = {}): Promise<ExportReport> {
  return exportTo(source, fileSink(textFormat, { path }), {
    state: fileState(`${path}.sluice`),
    commitEvery: 1,
    ...options,
  }).run();
}

const textIn = (path: string): string => {
  const bytes = readFileSync(path);
  return (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
};

describe('E7 a cursor that the API refuses', () => {
  test('is an error with the way out, and what came before stays', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    const refusals = new Refusals({ '1/3': 1 });
    const error: unknown = await run(partitionsOf(partitions, refusals.onFetch), path).catch(
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(PaginationError);
    expect(error).toMatchObject({
      code: 'cursor-refused',
      message: expect.stringMatching(/partition 2 of 4.*page 4 with 410.*onExpired: 'restart-partition'.*restart\.$/),
      position: { before: 1, begun: { '1': { next: { cursor: '3' } } } },
    });
    // The same again is the same error: nothing gets lost, and nothing is repeated for ever.
    const again = new Refusals({ '1/3': 1 });
    await expect(run(partitionsOf(partitions, again.onFetch), path)).rejects.toMatchObject({ code: 'cursor-refused' });
    expect([...again.answered.keys()]).toEqual([]);
    const report = await run(partitionsOf(partitions), path);
    expect(report).toMatchObject({ rows: 36, resumedRows: 12 });
    expect(textIn(path)).toBe(fileOf(partitions));
  });

  test.each([
    ['the first part', { '0/2': 1 }, { '0': 2 }, 1, 'rows.txt'],
    ['a part in the middle', { '1/5': 1 }, { '1': 5 }, 1, 'rows.txt'],
    ['the last part', { '3/3': 1 }, { '3': 3 }, 1, 'rows.txt.gz'],
    ['two parts', { '1/1': 1, '3/1': 1 }, { '1': 1, '3': 1 }, 1, 'rows.txt.gz'],
    ['one part three times', { '1/4': 3 }, { '1': 4 }, 1, 'rows.txt'],
    ['a part with others beside it', { '1/4': 1 }, { '1': 4 }, 4, 'rows.txt'],
    ['a part with others beside it, compressed', { '1/4': 1 }, { '1': 4 }, 4, 'rows.txt.gz'],
    ['the first part with others beside it', { '0/2': 2, '3/2': 1 }, { '0': 2, '3': 2 }, 3, 'rows.txt.gz'],
  ] as const)(
    'in %s: restart-partition takes back the rows of that part, and of no other',
    async (_, refused, takenBack, concurrency, name) => {
      const path = join(temporaryFolder(), name);
      const refusals = new Refusals(refused);
      const warnings: string[] = [];
      const options = {
        onExpired: 'restart-partition',
        concurrency,
        onWarning: (text: string) => warnings.push(text),
      } as const;
      const report = await run(partitionsOf(partitions, refusals.onFetch), path, options);
      expect(report).toMatchObject({ rows: 36, pages: 15, resumedRows: 0 });
      expect(textIn(path)).toBe(fileOf(partitions));
      expect(namesBeside(path)).toEqual([name]);
      expect(warnings).toHaveLength(Object.values(refused).reduce((sum, count) => sum + count, 0));
      expect(warnings[0]).toMatch(
        /refused the cursor of page \d+ with 410: it may have expired\. Its \d+ rows are removed, and the partition starts over\.$/,
      );
      for (const [partition, pages] of Object.entries(refusals.again)) {
        // What was under way or ahead when the walk stopped is asked for again, as after any interruption.
        const inFlight = concurrency + 1;
        expect(pages).toBeLessThanOrEqual((takenBack as Record<string, number>)[partition] ?? inFlight);
      }
      expect(refusals.again).toMatchObject(takenBack);
    },
  );

  test('at a resume, after a long pause: restart-partition goes on with the other parts as they were', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    const stop = new Refusals({ '1/4': 1 });
    await expect(run(partitionsOf(partitions, stop.onFetch), path)).rejects.toThrow(PaginationError);
    const refusals = new Refusals({ '1/4': 1 });
    const report = await run(partitionsOf(partitions, refusals.onFetch), path, { onExpired: 'restart-partition' });
    expect(report).toMatchObject({ rows: 36, resumedRows: 6 });
    expect(refusals.answered.has('0/0')).toBe(false);
    expect(textIn(path)).toBe(fileOf(partitions));
  });

  test('for ever: the part is walked anew three times, then the error comes, and the rows of the others stay', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    const refusals = new Refusals({ '1/4': 99 });
    await expect(
      run(partitionsOf(partitions, refusals.onFetch), path, { onExpired: 'restart-partition' }),
    ).rejects.toMatchObject({
      code: 'cursor-refused',
    });
    expect(refusals.answered.get('1/0')).toBe(4);
    expect(refusals.answered.get('0/0')).toBe(1);
    await run(partitionsOf(partitions), path);
    expect(textIn(path)).toBe(fileOf(partitions));
  });

  test('before the first commit: the part is walked anew, too', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    const refusals = new Refusals({ '0/1': 1 });
    await run(partitionsOf(partitions, refusals.onFetch), path, { onExpired: 'restart-partition', commitEvery: 32 });
    expect(textIn(path)).toBe(fileOf(partitions));
  });

  test('counts the rows that were written, not those that were walked', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    const refusals = new Refusals({ '1/4': 1 });
    const odd = partitionsOf(partitions, refusals.onFetch).pipePages(
      filter((_row, index) => index % 2 === 0),
      { version: '1' },
    );
    const report = await run(odd, path, { onExpired: 'restart-partition' });
    expect(report.rows).toBe(textIn(path).split('\n').length - 2);
  });

  test('keeps to maxRows', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    const refusals = new Refusals({ '1/4': 1 });
    const some = partitionsOf(partitions, refusals.onFetch, { maxRows: 19 });
    expect(await run(some, path, { onExpired: 'restart-partition' })).toMatchObject({ rows: 19 });
    expect(textIn(path)).toBe(fileOf(partitions).split('\n').slice(0, 20).join('\n') + '\n');
  });

  test('leaves nothing in the way if all rows were taken back and the run is killed as it clears away', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    const refusals = new Refusals({ '0/1': 100 });
    const store = fileState(`${path}.sluice`);
    const state: StateStore = {
      lock: (signal, use) => store.lock(signal, use),
      load: (name) => store.load(name),
      save: (name, record) => store.save(name, record),
      log: (name) => store.log(name),
      // The file is gone by now, and a killed process removes nothing.
      remove: () => Promise.reject(new Error('killed')),
    };
    const refused = run(partitionsOf([[2, 2]], refusals.onFetch), path, {
      state,
      onExpired: 'restart-partition',
      commitEvery: 32,
    });
    await expect(refused).rejects.toMatchObject({ code: 'cursor-refused' });
    expect(existsSync(`${path}.part`)).toBe(false);
    expect(await run(partitionsOf([[2, 2]]), path)).toMatchObject({ rows: 4 });
    expect(textIn(path)).toBe(fileOf([[2, 2]]));
  });

  test('needs state, and a sink that can take rows back', () => {
    const onExpired = 'restart-partition';
    const file = fileSink<string>(textFormat, { path: 'never-made' });
    expect(() => exportTo(partitionsOf(partitions), file, { onExpired })).toThrow(ConfigError);
    expect(() => exportTo(partitionsOf(partitions), recordingSink(), { onExpired, state: memoryState() })).toThrow(
      ConfigError,
    );
    expect(existsSync('never-made')).toBe(false);
  });
});
