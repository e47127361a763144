import {
  appendFileSync,
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { exportTo, memoryState, watch, type Change, type Page } from '../../../src/index.js';
import type { PageSource, RowFormat } from '../../../src/kit.js';
import { fileSink, fileState, nodeFileSystem, type FileSystem, type WritableFile } from '../../../src/node/index.js';
import { simulatedDisk, type SimulatedDisk } from '../../node/simulatedDisk.js';
import { disksBeforeCalls } from '../../node/simulatedDisk/disksBeforeCalls.js';
import { newStates } from '../../node/simulatedDisk/newStates.js';
import { temporaryFolder } from '../../../../../test/kit/temporaryFolder.js';
import { textFormat } from '../../node/textRows.js';
import { changeLines, changesIn } from './changeLines.js';
import { FoldedChanges } from './foldedChanges.js';
import { Listing, rowsOf, type Row } from './listing.js';
import { exportChangesOn } from './simulatedWatch.js';
import { SkippingClock } from './skippingClock.js';

/** What logrotate does: `copytruncate`, `nocreate`, `create`. */
const rotations = {
  'copied and cut to nothing': (path: string, to: string) => {
    copyFileSync(path, to);
    truncateSync(path, 0);
  },
  renamed: (path: string, to: string) => renameSync(path, to),
  'renamed and made anew': (path: string, to: string) => {
    renameSync(path, to);
    writeFileSync(path, '');
  },
};

/** A status that changes at each walk behind the first two, which are one poll. */
function movingListing(): Listing {
  const listing = new Listing(rowsOf('a', 'b', 'c'));
  listing.onFetch = ({ walk, page }) => {
    if (page === 0 && walk > 2) listing.set('a', `status ${String(walk)}`);
  };
  return listing;
}

interface Watched {
  readonly listing: Listing;
  readonly polls: number;
  readonly fileSystem?: FileSystem;
}

function watchInto(path: string, { listing, polls, fileSystem }: Watched): Promise<unknown> {
  const state = fileState(`${path}.sluice`);
  const changes = watch(listing.source(), { every: 1_000, clock: new SkippingClock(), polls, state });
  const sink = fileSink(changeLines, { path, ...(fileSystem && { fileSystem }) });
  return exportTo(changes, sink, { state }).run();
}

/** All changes that were written, those in rotated files first. Each fits to the one before it, so that none is missing or comes twice. */
function storyIn(path: string): Change<Row>[] {
  const files = ['.3', '.2', '.1', ''].map((end) => path + end).filter((each) => existsSync(each));
  const changes = files.flatMap((each) => changesIn(readFileSync(each, 'utf8')));
  expect(new Set(changes.map(({ id }) => id)).size).toBe(changes.length);
  new FoldedChanges<Row>().take(changes);
  return changes;
}

/** The machine's file system, where something happens before the n-th write to one of these files, or after it. */
function disturbed(
  isMeant: (path: string) => boolean,
  nth: number,
  when: 'before' | 'after',
  deed: () => void,
): FileSystem {
  let writes = 0;
  return {
    ...nodeFileSystem,
    open: async (name, mode): Promise<WritableFile> => {
      const file = await nodeFileSystem.open(name, mode);
      if (!isMeant(name)) return file;
      return {
        ...file,
        write: async (bytes, position) => {
          const isNow = (writes += 1) === nth;
          if (isNow && when === 'before') deed();
          const written = await file.write(bytes, position);
          if (isNow && when === 'after') deed();
          return written;
        },
      };
    },
  };
}

describe.each(Object.entries(rotations))('C6 a file of changes that is %s', (_, rotate) => {
  test('between two polls is begun anew under its name, and each change is in one of both', async () => {
    const path = join(temporaryFolder(), 'changes.jsonl');
    const listing = movingListing();
    const move = listing.onFetch;
    listing.onFetch = (fetch) => {
      if (fetch.page === 0 && fetch.walk === 5) rotate(path, `${path}.1`);
      if (fetch.page === 0 && fetch.walk === 7) {
        renameSync(`${path}.1`, `${path}.2`);
        rotate(path, `${path}.1`);
      }
      return move(fetch);
    };
    await watchInto(path, { listing, polls: 8 });
    expect(storyIn(path)).toHaveLength(3 + 7);
    expect(changesIn(readFileSync(path, 'utf8'))).toHaveLength(3);
    expect(changesIn(readFileSync(`${path}.2`, 'utf8'))).toHaveLength(5);
  });

  test('while the watch is not running goes on in a new one', { tags: ['slow'] }, async () => {
    const path = join(temporaryFolder(), 'changes.jsonl');
    const listing = movingListing();
    await watchInto(path, { listing, polls: 3 });
    rotate(path, `${path}.1`);
    await watchInto(path, { listing, polls: 3 });
    expect(changesIn(readFileSync(`${path}.1`, 'utf8'))).toHaveLength(3 + 2);
    expect(storyIn(path)).toHaveLength(3 + 5);
    // Without a change meanwhile, too.
    rotate(path, `${path}.2`);
    renameSync(`${path}.1`, `${path}.3`);
    listing.onFetch = () => undefined;
    await watchInto(path, { listing, polls: 1 });
    expect(storyIn(path)).toHaveLength(3 + 5);
  });

  test.each(['before', 'after'] as const)(
    '%s rows are written to it that are not committed, which go into the new one',
    { tags: ['slow'] },
    async (when) => {
      for (const nth of [1, 2, 4]) {
        const path = join(temporaryFolder(), 'changes.jsonl');
        const fileSystem = disturbed(
          (name) => name === path,
          nth,
          when,
          () => rotate(path, `${path}.1`),
        );
        await watchInto(path, { listing: movingListing(), polls: 5, fileSystem });
        // A copy is its owner's: what it took of rows that were not committed, is in both.
        if (_ === 'copied and cut to nothing') rmSync(`${path}.1`);
        else expect(storyIn(path)).toHaveLength(3 + 4);
        const told = changesIn(readFileSync(path, 'utf8'));
        expect(told).toHaveLength(nth === 1 ? 7 : 6 - nth);
      }
    },
  );

  test('and whose watch was killed with rows that were not committed, has all of them in the new one', async () => {
    const path = join(temporaryFolder(), 'changes.jsonl');
    const listing = movingListing();
    await watchInto(path, { listing, polls: 2 });
    const killed = disturbed(
      (name) => name === path,
      1,
      'after',
      () => {
        throw new Error('killed');
      },
    );
    await expect(watchInto(path, { listing, polls: 2, fileSystem: killed })).rejects.toThrow(/written/);
    rotate(path, `${path}.1`);
    await watchInto(path, { listing, polls: 1 });
    const changes = changesIn(readFileSync(path, 'utf8'));
    expect(changes).toHaveLength(2);
    new FoldedChanges<Row>().take([...changesIn(readFileSync(`${path}.1`, 'utf8')).slice(0, 4), ...changes]);
  });
});

describe('E6 a file of changes that is changed in another way', () => {
  const edits: Record<string, (path: string) => void> = {
    'overwritten in place': (path) => writeFileSync(path, readFileSync(path, 'utf8').replace('"initial"', '"INITIAL"')),
    'cut in its middle': (path) => truncateSync(path, 40),
    'appended to': (path) => appendFileSync(path, 'mine\n'),
    'replaced by another': (path) => {
      writeFileSync(`${path}.other`, 'x'.repeat(500));
      renameSync(`${path}.other`, path);
    },
  };
  test.each(Object.entries(edits))(
    '%s, is an error while the watch runs, and no change is lost',
    { tags: ['slow'] },
    async (_, edit) => {
      const path = join(temporaryFolder(), 'changes.jsonl');
      const listing = movingListing();
      const move = listing.onFetch;
      let before = '';
      listing.onFetch = (fetch) => {
        if (fetch.page === 0 && fetch.walk === 5 && before === '') {
          before = readFileSync(path, 'utf8');
          edit(path);
        }
        return move(fetch);
      };
      await expect(watchInto(path, { listing, polls: 6 })).rejects.toThrow(
        /Move (it|that one) away, then run it again/,
      );
      renameSync(path, `${path}.edited`);
      await watchInto(path, { listing, polls: 1 });
      new FoldedChanges<Row>().take([...changesIn(before), ...changesIn(readFileSync(path, 'utf8'))]);
    },
  );

  test.each(['overwritten in place', 'cut in its middle', 'replaced by another'])(
    '%s, is an error when the watch starts, and nothing is touched',
    async (name) => {
      const path = join(temporaryFolder(), 'changes.jsonl');
      const listing = movingListing();
      await watchInto(path, { listing, polls: 3 });
      edits[name]?.(path);
      const left = readFileSync(path, 'utf8');
      await expect(watchInto(path, { listing, polls: 1 })).rejects.toThrow(/Move it away, then run it again/);
      expect(readFileSync(path, 'utf8')).toBe(left);
    },
  );

  test('only touched, goes on', async () => {
    const path = join(temporaryFolder(), 'changes.jsonl');
    const listing = movingListing();
    const move = listing.onFetch;
    listing.onFetch = (fetch) => {
      if (fetch.page === 0 && fetch.walk === 5) writeFileSync(path, readFileSync(path));
      return move(fetch);
    };
    await watchInto(path, { listing, polls: 6 });
    expect(storyIn(path)).toHaveLength(3 + 5);
  });
});

test('each file of an endless export begins with its header', async () => {
  const path = join(temporaryFolder(), 'rows.txt');
  const source: PageSource<string> = {
    info: { name: 'endless', identity: null, partitions: 1, isEndless: true },
    async *pages(): AsyncGenerator<Page<string>> {
      for (let index = 0; index < 4; index += 1) {
        if (index === 2) renameSync(path, `${path}.1`);
        const position = { before: 0, begun: {}, rows: index, pages: index };
        yield await Promise.resolve({
          items: [`row ${String(index)}`],
          position,
          index,
          partition: 0,
          endsPartition: false,
          commit: true as const,
        });
      }
    },
  };
  const format: RowFormat<string> = textFormat;
  await exportTo(source, fileSink(format, { path }), { state: memoryState() }).run();
  expect(readFileSync(`${path}.1`, 'utf8')).toBe('rows\nrow 0\nrow 1\n');
  expect(readFileSync(path, 'utf8')).toBe('rows\nrow 2\nrow 3\n');
});

describe('C6 a watch that is killed at any call, or has its power cut, while it begins its file anew', () => {
  const path = '/data/changes';

  /** A disk with a file of changes that was rotated, and the listing that was watched. */
  async function rotatedDisk(
    rotate: (disk: SimulatedDisk) => Promise<void>,
  ): Promise<readonly [disk: SimulatedDisk, listing: Listing]> {
    const disk = simulatedDisk();
    disk.putFolder('/data');
    const listing = movingListing();
    await exportChangesOn(disk, listing, 3);
    await rotate(disk);
    await disk.syncFolder('/data');
    return [disk, listing];
  }

  test.each<[string, (disk: SimulatedDisk) => Promise<void>]>([
    ['renamed', (disk) => disk.rename(path, `${path}.1`)],
    [
      'copied and cut to nothing',
      async (disk) => {
        disk.put(`${path}.1`, disk.text(path) ?? '');
        const file = await disk.open(path, 'existing');
        await file.truncate(0);
        await file.close();
      },
    ],
  ])('tells each change once in both files (%s)', { tags: ['slow'] }, async (_, rotate) => {
    const isNew = newStates();
    const [first, listing] = await rotatedDisk(rotate);
    const old = first.text(`${path}.1`) ?? '';
    const told = changesIn(old);
    const listings: Pick<Listing, 'rows' | 'walks'>[] = [];
    const noteListing = (): void => {
      const { rows, walks } = listing;
      listings.push({ rows, walks });
    };
    const disks = await disksBeforeCalls(first, (disk) => exportChangesOn(disk, listing, 3), noteListing);
    for (const [nth, disk] of disks.entries()) {
      for (const mode of ['killed', 'dropped', 'all', { seed: nth }] as const) {
        const { rows: listed, walks } = listings[nth]!;
        const left = disk.restart(mode);
        if (!isNew(left, listed)) continue;
        const now = left.text(path) ?? '';
        if (now !== '' && (old.startsWith(now) || now.startsWith(old))) {
          // The power took back what its owner had cut off. Nothing that was committed since is in it.
          expect(left.text('/data/state/checkpoint')).not.toContain('"place":{"bytes":0,');
          continue;
        }
        const next = movingListing();
        next.rows = listed;
        next.walks = walks;
        await exportChangesOn(left, next, 2);
        next.onFetch = () => undefined;
        await exportChangesOn(left, next, 2);
        const changes = [...told, ...changesIn(left.text(path))];
        expect(new Set(changes.map(({ id }) => id)).size).toBe(changes.length);
        const { rows } = new FoldedChanges<Row>().take(changes);
        expect(rows).toEqual(new Map(next.rows.map((each) => [each.id, each])));
      }
    }
  });
});
