// @module-tag slow
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fileState, nodeFileSystem, type FileSystem } from '../../../src/node/index.js';
import { temporaryFolder } from '../../../../../test/kit/temporaryFolder.js';
import { FoldedChanges } from './foldedChanges.js';
import { Listing, row, rowsOf, type Row } from './listing.js';
import { watchPolls } from './watchPolls.js';

const size = 2_500;
const changedPerPoll = 25;

/** The machine's file system, which counts what is written and how often the log is replaced. */
function counting(): { readonly fileSystem: FileSystem; bytes: number; replaced: number } {
  const counted = {
    bytes: 0,
    replaced: 0,
    fileSystem: {
      ...nodeFileSystem,
      async open(path, mode) {
        const file = await nodeFileSystem.open(path, mode);
        return {
          ...file,
          write: async (bytes, position) => {
            const written = await file.write(bytes, position);
            if (path.endsWith('.log')) counted.bytes += written;
            return written;
          },
        };
      },
      rename: (from, to) => {
        if (to.endsWith('.log')) counted.replaced += 1;
        return nodeFileSystem.rename(from, to);
      },
    } satisfies FileSystem,
  };
  return counted;
}

/** A large listing of which a hundredth changes before each poll but the first. */
function changing(): Listing {
  const ids = Array.from({ length: size }, (_, at) => `row ${String(at).padStart(5, '0')}`);
  const listing = new Listing(rowsOf(...ids), 1_000);
  let at = 0;
  listing.onFetch = ({ walk, page }) => {
    if (page > 0 || walk <= 2) return;
    const rows = [...listing.rows];
    for (let nth = 0; nth < changedPerPoll; nth += 1, at = (at + 1) % size)
      rows[at] = row(rows[at]!.id, `changed in ${String(walk).padStart(4, '0')}`);
    listing.rows = rows;
  };
  return listing;
}

const rowBytes = JSON.stringify(['row 00000', row('row 00000', 'changed in 0000')]).length;

describe('C11 the log of a listing with 2,500 rows, of which 25 change a poll', () => {
  test('grows by what changed, and is compacted when that outweighs the rows', async () => {
    const disk = counting();
    const folder = join(temporaryFolder(), 'state');
    const listing = changing();
    const state = fileState(folder, { fileSystem: disk.fileSystem });
    const folded = new FoldedChanges<Row>().take((await watchPolls(listing, 1, { state })).changes);
    const first = disk.bytes;
    expect(first).toBeGreaterThan(size * 40);
    disk.bytes = 0;
    folded.take((await watchPolls(listing, 20, { state })).changes);
    // Twice as much as the rows alone: names, checksums, what was committed.
    expect(disk.bytes).toBeLessThan(20 * changedPerPoll * rowBytes * 2);
    expect(disk.replaced).toBe(1);
    disk.bytes = 0;
    folded.take((await watchPolls(listing, 380, { state })).changes);
    expect(disk.replaced).toBe(1 + 3);
    // Each compaction writes the rows again, after as many were written as changes.
    expect(disk.bytes).toBeLessThan(2 * 400 * changedPerPoll * rowBytes * 1.5);
    expect(statSync(join(folder, 'watch.log')).size).toBeLessThan(4 * first);
    expect((await watchPolls(listing, 1, { state: fileState(folder) })).changes).toHaveLength(changedPerPoll);
    expect([...folded.rows.values()]).toHaveLength(size);
  });

  test('is compacted also when each run does a single poll, and nothing is lost', async () => {
    const disk = counting();
    const folder = join(temporaryFolder(), 'state');
    const listing = changing();
    const folded = new FoldedChanges<Row>();
    for (let run = 0; run < 160; run += 1) {
      const state = fileState(folder, { fileSystem: disk.fileSystem });
      folded.take((await watchPolls(listing, 1, { state })).changes);
    }
    expect(disk.replaced).toBe(1 + 1);
    expect([...folded.rows.values()]).toEqual(listing.rows);
  });

  test('is not written where nothing changed', async () => {
    const disk = counting();
    const listing = new Listing(rowsOf('a', 'b'));
    const state = fileState(join(temporaryFolder(), 'state'), { fileSystem: disk.fileSystem });
    await watchPolls(listing, 1, { state });
    disk.bytes = 0;
    await watchPolls(listing, 50, { state });
    expect([disk.bytes, disk.replaced]).toEqual([0, 1]);
  });

  test('does not grow for ever where a row is missed every other time, though nothing is told', async () => {
    const disk = counting();
    const folder = join(temporaryFolder(), 'state');
    const listing = new Listing(rowsOf('a', 'b', 'c'));
    listing.seenAs = (rows, { walk }) => rows.slice(walk % 2);
    const state = fileState(folder, { fileSystem: disk.fileSystem });
    const { told } = await watchPolls(listing, 2_500, { state });
    expect(told.flat().sort()).toEqual(['initial a', 'initial b', 'initial c']);
    expect(disk.replaced).toBeGreaterThan(1);
    expect(statSync(join(folder, 'watch.log')).size).toBeLessThan(200_000);
  });

  test('C2 keeps how often a row was missed, also when it is compacted meanwhile', async () => {
    const disk = counting();
    const folder = join(temporaryFolder(), 'state');
    const listing = new Listing(rowsOf('a', 'b', 'c'));
    const options = { state: fileState(folder, { fileSystem: disk.fileSystem }), confirmations: 600 };
    await watchPolls(listing, 1, options);
    listing.remove('c');
    await watchPolls(listing, 550, options);
    expect(disk.replaced).toBe(2);
    const { told } = await watchPolls(listing, 60, options);
    expect(told.findIndex((each) => each.includes('removed c')) + 1).toBe(600 - 550);
  });
});
