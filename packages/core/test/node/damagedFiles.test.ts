// @module-tag slow
import {
  appendFileSync,
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  CheckpointError,
  exportTo,
  memoryState,
  SinkError,
  type ExportOptions,
  type ExportReport,
  type StateStore,
} from '../../src/index.js';
import { fileSink, fileState, nodeFileSystem, type FileTarget } from '../../src/node/index.js';
import { fileOf, partitionsOf, type OnFetch } from './partitionRows.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { textFormat } from './textRows.js';

const partitions = [
  [3, 3, 3, 3],
  [2, 2, 2, 2, 2],
];
const whole = fileOf(partitions);

interface Run extends ExportOptions, Partial<Pick<FileTarget, 'gzip' | 'fileSystem'>> {
  readonly onFetch?: OnFetch;
}

function run(path: string, { onFetch, gzip, fileSystem, ...options }: Run = {}): Promise<ExportReport> {
  const sink = fileSink(textFormat, { path, ...(gzip && { gzip }), ...(fileSystem && { fileSystem }) });
  const state = fileState(`${path}.sluice`);
  return exportTo(partitionsOf(partitions, onFetch), sink, { state, commitEvery: 1, ...options }).run();
}

async function failed(running: Promise<unknown>): Promise<Error> {
  const error: unknown = await running.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof Error) return error;
  throw new Error('It did not fail.');
}

/** Four bytes of its middle, in place: size and name stay. */
function overwrite(path: string): void {
  const file = openSync(path, 'r+');
  writeSync(file, 'XXXX', Math.floor(statSync(path).size / 2));
  closeSync(file);
}

function replace(path: string): void {
  writeFileSync(`${path}.other`, 'x'.repeat(statSync(path).size));
  renameSync(`${path}.other`, path);
}

const attacks = {
  'cut to nothing': (path: string) => truncateSync(path, 0),
  'cut in its middle': (path: string) => truncateSync(path, Math.floor(statSync(path).size / 2)),
  overwritten: overwrite,
};

/** Does something to a file at the last page but one of the first part, when some commits have been. */
function lateIn(attack: (path: string) => void, path: string): OnFetch {
  let isDone = false;
  return (partition, page) => {
    if (partition !== 0 || page !== 3 || isDone) return;
    isDone = true;
    attack(path);
  };
}

/** State that does something once the checkpoint says that all is sealed. */
function atTheSeal(state: StateStore, attack: () => void): StateStore {
  return {
    ...(state.folder !== undefined && { folder: state.folder }),
    lock: (signal, use) => state.lock(signal, use),
    load: (name) => state.load(name),
    save: async (name, record) => {
      await state.save(name, record);
      if ('isSealed' in record && !('finishedAt' in record)) attack();
    },
    remove: (name) => state.remove(name),
    log: (name) => state.log(name),
  };
}

function read(path: string): string {
  const bytes = readFileSync(path);
  return (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString();
}

describe.each<[string, Run]>([
  ['with a concurrency of 1', {}],
  ['with a concurrency of 2', { concurrency: 2 }],
  ['compressed', { gzip: { pagesPerMember: 1 } }],
  ['without commits', { commitEvery: 100 }],
  ['with state in memory', { state: memoryState() }],
])('E6 a .part that somebody changes while the export runs, %s', (_, how) => {
  describe.each(Object.entries(attacks))('%s', (_name, attack) => {
    // Without commits nothing is in the file yet when the pages come.
    test.each(how.commitEvery === 100 ? ['at the seal'] : ['at a page', 'at the seal'])(
      'is not published but kept, and the next run starts over (%s)',
      async (when) => {
        const path = join(temporaryFolder(), 'rows.txt');
        const { state = fileState(`${path}.sluice`), ...rest } = how;
        const attacked: Run =
          when === 'at a page'
            ? { ...rest, state, onFetch: lateIn(attack, `${path}.part`) }
            : { ...rest, state: atTheSeal(state, () => attack(`${path}.part`)) };
        const error = await failed(run(path, attacked));
        expect(error).toBeInstanceOf(SinkError);
        expect(error.message).toMatch(
          /rows\.txt\.part .*another process is changing it.* kept as .*rows\.txt\.part\.damaged\./,
        );
        expect(error.message).toMatch(/run it again: the export starts over\.$/);
        expect(existsSync(path)).toBe(false);
        expect(existsSync(`${path}.part`)).toBe(false);
        const kept = readFileSync(`${path}.part.damaged`);
        expect(await run(path, { ...rest, state })).toMatchObject({ rows: 22, resumedRows: 0 });
        expect(read(path)).toBe(whole);
        expect(readFileSync(`${path}.part.damaged`).equals(kept)).toBe(true);
      },
    );
  });
});

describe('E6 a .part that is changed while the export runs', () => {
  test('and after it was gone on with, is not published either, and a damaged one never replaces another', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    for (const nth of ['', '-2', '-3']) {
      await failed(
        run(path, {
          onFetch: (partition, page) => {
            if (partition === 0 && page === 2) throw new Error('interrupted');
          },
        }),
      );
      await failed(run(path, { onFetch: lateIn(overwrite, `${path}.part`) }));
      expect(readFileSync(`${path}.part.damaged${nth}`, 'utf8')).toContain('XXXX');
    }
    await run(path);
    expect(read(path)).toBe(whole);
  });

  test('and had something appended is cut back by the next run, since committed rows are intact', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    const error = await failed(
      run(path, { onFetch: lateIn((partition) => appendFileSync(partition, 'mine'), `${path}.part`) }),
    );
    expect(error.message).toMatch(/\d+ bytes, but \d+ were written.*run it again: committed rows are intact\.$/);
    const { resumedRows } = await run(path);
    expect(resumedRows).toBeGreaterThan(0);
    expect(read(path)).toBe(whole);
  });

  test('and had something appended at the seal is put in place by the next run, without what was appended', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    const state = atTheSeal(fileState(`${path}.sluice`), () => appendFileSync(`${path}.part`, 'mine'));
    expect((await failed(run(path, { state }))).message).toMatch(/another process is changing it/);
    expect(existsSync(path)).toBe(false);
    expect(await run(path)).toMatchObject({ rows: 22, resumedRows: 22 });
    expect(read(path)).toBe(whole);
  });

  test.each(['at a page', 'at the seal'])('and was removed (%s), is written again by the next run', async (when) => {
    const path = join(temporaryFolder(), 'rows.txt');
    const error = await failed(
      when === 'at a page'
        ? run(path, { onFetch: lateIn(rmSync, `${path}.part`) })
        : run(path, { state: atTheSeal(fileState(`${path}.sluice`), () => rmSync(`${path}.part`)) }),
    );
    expect(error.message).toMatch(/was removed while the export ran.*run it again: the export starts over\.$/);
    expect(await run(path)).toMatchObject({ rows: 22, resumedRows: 0 });
    expect(read(path)).toBe(whole);
  });

  test.each(['at a page', 'at the seal'])(
    'and was replaced by one of the same size (%s), leaves that to its owner, and says the way out',
    async (when) => {
      const path = join(temporaryFolder(), 'rows.txt');
      const error = await failed(
        when === 'at a page'
          ? run(path, { onFetch: lateIn(replace, `${path}.part`) })
          : run(path, { state: atTheSeal(fileState(`${path}.sluice`), () => replace(`${path}.part`)) }),
      );
      expect(error.message).toMatch(/was replaced while the export ran.*Start over with restart\.$/);
      expect(readFileSync(`${path}.part`, 'utf8')).toMatch(/^x+$/);
      expect(existsSync(path)).toBe(false);
      expect(await failed(run(path))).toBeInstanceOf(CheckpointError);
      expect(readFileSync(`${path}.part`, 'utf8')).toMatch(/^x+$/);
      await run(path, { restart: true });
      expect(read(path)).toBe(whole);
    },
  );

  test('a change between two looks at its end, which leaves a gap of the right size, is found too', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    let writes = 0;
    const fileSystem = {
      ...nodeFileSystem,
      open: async (name: string, mode: Parameters<typeof nodeFileSystem.open>[1]) => {
        const file = await nodeFileSystem.open(name, mode);
        if (!name.endsWith('.part')) return file;
        const write = (bytes: Uint8Array, position: number): Promise<number> => {
          if ((writes += 1) === 4) truncateSync(name, 0);
          return file.write(bytes, position);
        };
        return { ...file, write };
      },
    };
    const error = await failed(run(path, { fileSystem }));
    expect(error.message).toMatch(/does not contain what was written to it/);
    expect(readFileSync(`${path}.part.damaged`, 'utf8')).toMatch(/^\0+part/);
    await run(path);
    expect(read(path)).toBe(whole);
  });
});

describe.each(Object.entries(attacks))(
  'E6 rows that wait for others, and are %s while the export runs',
  (_, attack) => {
    test('do not get into the file, and are kept under another name', async () => {
      const path = join(temporaryFolder(), 'rows.txt');
      const segment = join(`${path}.sluice`, 'rows-1');
      let isDone = false;
      const attacked = run(path, {
        concurrency: 2,
        onFetch: async (partition, page) => {
          if (partition !== 0 || page !== 3 || isDone) return;
          isDone = true;
          // The second part is through by then, and all of it committed.
          while (
            !existsSync(segment) ||
            !readFileSync(segment, 'utf8').endsWith('row 1\n') ||
            !readFileSync(segment, 'utf8').includes('page 4')
          )
            await new Promise((resolve) => setImmediate(resolve));
          while (!readFileSync(join(`${path}.sluice`, 'checkpoint'), 'utf8').includes('"front":2'))
            await new Promise((resolve) => setImmediate(resolve));
          attack(segment);
        },
      });
      const error = await failed(attacked);
      expect(error.message).toMatch(
        /rows-1 .*another process is changing it.* kept as .*rows-1\.damaged\..*starts over\.$/,
      );
      expect(existsSync(path)).toBe(false);
      expect(await run(path, { concurrency: 2 })).toMatchObject({ rows: 22, resumedRows: 0 });
      expect(read(path)).toBe(whole);
      expect(readdirSync(`${path}.sluice`).sort()).toEqual(['checkpoint', 'rows-1.damaged']);
    });
  },
);
