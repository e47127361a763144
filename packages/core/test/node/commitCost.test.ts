import { join } from 'node:path';
import { expect, test } from 'vitest';
import { exportTo } from '../../src/index.js';
import { fileSink, fileState } from '../../src/node/index.js';
import { FakeClock } from '../fakeClock.js';
import { faultyFileSystem, type DiskCall } from './faultyFileSystem.js';
import { partitionsOf } from './partitionRows.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { textFormat } from './textRows.js';

/** How often an export of so many pages makes the disk wait: for bytes, and for names. */
async function syncsOf(pages: number, commitEvery?: number): Promise<{ bytes: number; names: number }> {
  const path = join(temporaryFolder(), 'rows.txt');
  const calls: DiskCall[] = [];
  const fileSystem = faultyFileSystem((call) => void calls.push(call));
  const source = partitionsOf([Array.from({ length: pages }, () => 1)]);
  const state = fileState(`${path}.sluice`, { fileSystem });
  await exportTo(source, fileSink(textFormat, { path, fileSystem }), {
    state,
    clock: new FakeClock(),
    ...(commitEvery !== undefined && { commitEvery }),
  }).run();
  return {
    bytes: calls.filter((call) => call === 'sync').length,
    names: calls.filter((call) => call === 'syncFolder').length,
  };
}

test(
  'E4 a commit costs two syncs of bytes and one of names, each 200 pages where no second passes',
  { tags: ['slow'] },
  async () => {
    const none = await syncsOf(10);
    // The first checkpoint; at the end the rows, the sealed checkpoint, and the one that says that it is finished.
    expect(none.bytes).toBe(4);
    // The state's folder, the first checkpoint; at the end .part, the sealed checkpoint, the new name, the old one, the finished one.
    expect(none.names).toBe(7);
    for (const [pages, commits] of [
      [200, 1],
      [399, 1],
      [1000, 5],
    ] as const) {
      expect(await syncsOf(pages)).toEqual({ bytes: none.bytes + 2 * commits, names: none.names + commits });
    }
    expect(await syncsOf(30, 10)).toEqual({ bytes: none.bytes + 6, names: none.names + 3 });
  },
);
