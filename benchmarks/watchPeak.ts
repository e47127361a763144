// The memory of a fresh watch that is exported into a file: `node watchPeak.ts ROWS`, in a process of its own.
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createSource, exportTo, watch } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { jsonl } from '@sluice/exporters/jsonl';

/** In bytes. */
export interface WatchPeak {
  /** Largest RSS of the whole watch. */
  readonly peak: number;
  /** Largest RSS of later polls, from the third on. */
  readonly later: number;
}

const rows = Number(process.argv[2]);
const pageSize = 1_000;
let walk = 0;
let later = 0;

const source = createSource<{ readonly id: string }>({
  name: 'rows',
  identity: null,
  schema: { columns: ['id', 'status', 'owner', 'note'], key: ({ id }) => id },
  async fetch({ at }) {
    const from = at && 'cursor' in at ? Number(at.cursor) : 0;
    if (from === 0) walk += 1;
    // The first poll is two walks.
    if (walk > 3) later = Math.max(later, process.memoryUsage.rss());
    await new Promise(setImmediate);
    const page: { id: string }[] = JSON.parse(
      `[${Array.from({ length: pageSize }, (_, nth) => rowAt(from + nth)).join()}]`,
    );
    return { rows: page, next: from + pageSize < rows ? { cursor: String(from + pageSize) } : 'end' };
  },
});

/** One row in a hundred changes with each walk. */
function rowAt(nth: number): string {
  const status = (nth + walk) % 100 === 0 ? 'paused' : 'active';
  const id = `row ${nth}`;
  return JSON.stringify({ id, status, owner: `0x${id.padStart(40, 'a')}`, note: `the note of ${id}, `.repeat(8) });
}

const folder = mkdtempSync(join(process.cwd(), 'bench-'));
try {
  const state = fileState(join(folder, 'state'));
  const watched = watch(source, { every: 1, polls: 4, state });
  await exportTo(watched, jsonl({ path: join(folder, 'changes.jsonl') }), { state }).run();
  const peak = process.resourceUsage().maxRSS * 1024;
  process.send?.({ peak, later } satisfies WatchPeak);
} finally {
  rmSync(folder, { recursive: true });
}
