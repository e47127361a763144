// The growth of memory and log over many polls, each of which finds one row in a hundred changed: `node growth.ts ROWS
// POLLS`.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { watch } from '@sluice/core';
import { fileState, nodeFileSystem, type FileSystem } from '@sluice/core/node';
import { heap } from './heap.js';
import { StreamPages } from './streamPages.js';

/** All in bytes. */
export interface Growth {
  /** Used heap after every tenth of the polls, from half of them on. */
  readonly heaps: readonly number[];
  /** Per poll: bytes of the log without compactions; bytes of the changed rows; all bytes written. */
  readonly appended: number;
  readonly changed: number;
  readonly written: number;
  readonly compactions: number;
}

const [rows = 0, polls = 0] = process.argv.slice(2).map(Number);
const step = Math.max(1, Math.floor(polls / 20));
const folder = await mkdtemp(join(tmpdir(), 'sluice-watch-'));
const bytes = { appended: 0, changed: 0, replaced: 0 };
let compactions = 0;
try {
  const pages = await StreamPages.of(rows);
  let walks = 0;
  const source = pages.source(() => {
    walks += 1;
    // The first poll is two walks.
    if (walks > 2) bytes.changed += pages.change();
  });
  const state = fileState(join(folder, 'state'), { fileSystem: counting() });
  const heaps: number[] = [];
  for await (const page of watch(source, { every: 1, state, polls: polls + 1 }).pages()) {
    if (page.index === 0) Object.assign(bytes, { appended: 0, replaced: 0 });
    if (page.index === 0) compactions = 0;
    if (page.index >= polls / 2 && page.index % step === 0) heaps.push(heap());
  }
  console.log(
    JSON.stringify({
      heaps,
      appended: bytes.appended / polls,
      changed: bytes.changed / polls,
      written: (bytes.appended + bytes.replaced) / polls,
      compactions,
    } satisfies Growth),
  );
} finally {
  await rm(folder, { recursive: true });
}

/** The machine's file system, which counts the bytes written to the log, and how often it is replaced. */
function counting(): FileSystem {
  return {
    ...nodeFileSystem,
    open: async (path, mode) => {
      const file = await nodeFileSystem.open(path, mode);
      return {
        ...file,
        write: async (block, position) => {
          const written = await file.write(block, position);
          if (path.endsWith('new-watch.log')) bytes.replaced += written;
          else if (path.endsWith('watch.log')) bytes.appended += written;
          return written;
        },
      };
    },
    rename: async (from, to) => {
      if (to.endsWith('watch.log')) compactions += 1;
      await nodeFileSystem.rename(from, to);
    },
  };
}
