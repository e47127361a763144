import {
  appendFileSync,
  cpSync,
  lstatSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { filter, map, type OperatorFunction } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { CheckpointError, exportTo, watch, type Change } from '../../../src/index.js';
import type { RowFormat } from '../../../src/kit.js';
import { fileSink, fileState, nodeFileSystem, type FileSystem } from '../../../src/node/index.js';
import { temporaryFolder } from '../../../../../test/kit/temporaryFolder.js';
import { changeLines } from './changeLines.js';
import { Listing, rowsOf, type Row } from './listing.js';
import { SkippingClock } from './skippingClock.js';

/** A file without ids, in which a row may have several lines, behind a header. */
const sections: RowFormat<Change<Row>> = {
  name: 'sections',
  identity: null,
  encoder: () => ({
    header: 'key and status\n',
    encode: (changes) => changes.map(({ key, after }) => `${key}\n  ${String(after?.status)}\n`).join(''),
  }),
};

const texts: RowFormat<string> = {
  name: 'texts',
  identity: null,
  encoder: () => ({ header: '', encode: (rows) => rows.map((row) => `${row}\n`).join('') }),
};

interface Watched {
  readonly path: string;
  readonly listing: Listing;
  readonly fileSystem?: FileSystem;
}

/** Polls once, into a file. */
type RunWatch = (watched: Watched) => Promise<unknown>;

function watchInto<R>(format: RowFormat<R>, operator: OperatorFunction<Change<Row>, R>): RunWatch {
  return ({ path, listing, fileSystem }) => {
    const state = fileState(`${path}.sluice`);
    const changes = watch(listing.source(), { every: 1_000, clock: new SkippingClock(), polls: 1, state });
    const rows = changes.pipePages(operator, { version: '1' });
    return exportTo(rows, fileSink(format, { path, fileSystem }), { state }).run();
  };
}

function watchPlainly(format: RowFormat<Change<Row>>): RunWatch {
  return ({ path, listing, fileSystem }) => {
    const state = fileState(`${path}.sluice`);
    const changes = watch(listing.source(), { every: 1_000, clock: new SkippingClock(), polls: 1, state });
    return exportTo(changes, fileSink(format, { path, fileSystem }), { state }).run();
  };
}

const runs: Readonly<Record<string, RunWatch>> = {
  'of JSON Lines': watchPlainly(changeLines),
  'with a header, several lines a row, and no ids': watchPlainly(sections),
  'behind an operator that leaves changes out': watchInto(
    changeLines,
    filter(({ key }) => key !== 'b'),
  ),
  'behind an operator that makes other rows': watchInto(
    texts,
    map(({ key, type, generation }) => `${key} ${type} ${String(generation)}`),
  ),
};

/** The machine's file system, where something happens after each write to a file. */
function afterWrites(path: string, deed: () => void): FileSystem {
  return {
    ...nodeFileSystem,
    open: async (name, mode) => {
      const file = await nodeFileSystem.open(name, mode);
      if (name !== path) return file;
      const write: typeof file.write = async (bytes, position) => {
        const written = await file.write(bytes, position);
        deed();
        return written;
      };
      return { ...file, write };
    },
  };
}

function replaceFolder(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  // A run that works has a socket in its state, which is not to be copied.
  cpSync(from, to, { recursive: true, filter: (path) => !lstatSync(path).isSocket() });
}

function filesIn(folder: string): Readonly<Record<string, string>> {
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'latin1')]));
}

describe.each(Object.entries(runs))('C6 a file of changes %s', (_, run) => {
  test(
    'that is newer than its state is refused and unchanged, and a new one goes on when it is moved away',
    { tags: ['slow'] },
    async () => {
      const path = join(temporaryFolder(), 'changes');
      const listing = new Listing(rowsOf('a', 'b'));
      await run({ path, listing });
      cpSync(`${path}.sluice`, `${path}.backup`, { recursive: true });
      for (const status of ['1', '2', '3']) {
        listing.set('a', status);
        await run({ path, listing });
      }
      const newer = readFileSync(path, 'utf8');
      replaceFolder(`${path}.backup`, `${path}.sluice`);
      listing.set('a', '4');
      const { fetches } = listing;
      await expect(run({ path, listing })).rejects.toMatchObject({
        code: 'checkpoint',
        message: expect.stringMatching(/changes is newer than its state, .* move the file away/),
        advice: [],
      });
      expect(readFileSync(path, 'utf8')).toBe(newer);
      expect(filesIn(`${path}.sluice`)).toEqual(filesIn(`${path}.backup`));
      expect(listing.fetches).toBe(fetches);
      renameSync(path, `${path}.1`);
      await run({ path, listing });
      expect(readFileSync(path, 'utf8')).toMatch(/ {2}4|changed/);
    },
  );

  test('has the lines of a killed run once', async () => {
    const path = join(temporaryFolder(), 'changes');
    const listing = new Listing(rowsOf('a', 'b', 'c'));
    await run({ path, listing });
    listing.set('a', '1');
    listing.set('c', '1');
    const fileSystem = afterWrites(path, () => replaceFolder(`${path}.sluice`, `${path}.killed`));
    await run({ path, listing, fileSystem });
    const whole = readFileSync(path, 'utf8');
    replaceFolder(`${path}.killed`, `${path}.sluice`);
    appendFileSync(path, 'an incomplete line');
    await run({ path, listing });
    expect(readFileSync(path, 'utf8')).toBe(whole);
  });

  test('whose state was copied during the first poll is not replaced', async () => {
    const path = join(temporaryFolder(), 'changes');
    const listing = new Listing(rowsOf('a', 'b'));
    listing.onFetch = () => {
      if (existsSync(`${path}.sluice`) && !existsSync(`${path}.backup`))
        replaceFolder(`${path}.sluice`, `${path}.backup`);
    };
    await run({ path, listing });
    const newer = readFileSync(path, 'utf8');
    replaceFolder(`${path}.backup`, `${path}.sluice`);
    await expect(run({ path, listing })).rejects.toThrow(CheckpointError);
    expect(readFileSync(path, 'utf8')).toBe(newer);
  });

  test('whose name leads to a folder is refused without the advice to start over', { tags: ['slow'] }, async () => {
    const path = join(temporaryFolder(), 'changes');
    const listing = new Listing(rowsOf('a', 'b'));
    await run({ path, listing });
    renameSync(path, `${path}.1`);
    mkdirSync(path);
    await expect(run({ path, listing })).rejects.toMatchObject({
      code: 'checkpoint',
      message: expect.stringContaining('is not a regular file any more: move it away.'),
      advice: [],
    });
  });

  test('is unchanged if only a part of its state is older', { tags: ['slow'] }, async () => {
    for (const part of ['checkpoint', 'watch.log']) {
      const path = join(temporaryFolder(), 'changes');
      const listing = new Listing(rowsOf('a', 'b'));
      await run({ path, listing });
      cpSync(`${path}.sluice`, `${path}.backup`, { recursive: true });
      listing.set('a', '1');
      await run({ path, listing });
      const newer = readFileSync(path, 'utf8');
      cpSync(join(`${path}.backup`, part), join(`${path}.sluice`, part));
      await expect(run({ path, listing })).rejects.toThrow(CheckpointError);
      expect(readFileSync(path, 'utf8')).toBe(newer);
    }
  });
});

test(
  'C6 a file of a snapshot with several pages has the lines of a killed run once, whichever page it was at',
  { tags: ['slow'] },
  async () => {
    const rows = rowsOf(...Array.from({ length: 20_001 }, (_, at) => String(at)));
    const watchLarge = watchPlainly(changeLines);
    for (const page of [1, 3]) {
      const path = join(temporaryFolder(), 'changes');
      const listing = new Listing(rows, rows.length);
      let pages = 0;
      let size = 0;
      const fileSystem: FileSystem = {
        ...nodeFileSystem,
        // After each page the name of the file is checked: its rows are written, and not committed.
        identity: (name) => {
          if (name === path && statSync(path).size > size) {
            ({ size } = statSync(path));
            if ((pages += 1) === page) replaceFolder(`${path}.sluice`, `${path}.killed`);
          }
          return nodeFileSystem.identity(name);
        },
      };
      await watchLarge({ path, listing, fileSystem });
      expect(pages).toBeGreaterThanOrEqual(3);
      const whole = readFileSync(path, 'utf8');
      replaceFolder(`${path}.killed`, `${path}.sluice`);
      await watchLarge({ path, listing });
      expect(readFileSync(path, 'utf8') === whole).toBe(true);
      replaceFolder(`${path}.killed`, `${path}.sluice`);
      appendFileSync(path, '{}\n');
      await expect(watchLarge({ path, listing })).rejects.toThrow('does not know the last 1 of its lines');
    }
  },
);
