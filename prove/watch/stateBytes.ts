// The bytes that a watch stores per row besides the row itself: `node stateBytes.ts ROWS`.
import { watch } from '@sluice/core';
import type { EvmStream } from '../../packages/streams/src/index.js';
import { heap } from './heap.js';
import { StreamPages } from './streamPages.js';

/** In bytes. */
export interface StateBytes {
  /** Of a row, parsed and in a list. */
  readonly row: number;
  /** Of a row in a watch, minus those. */
  readonly beyond: number;
}

const size = Number(process.argv[2]);
const pages = await StreamPages.of(size);
const source = pages.source();

// A first run that does not count, so that compiled code and caches exist before.
await watchedHeap();
const empty = heap();
const alone = (await listedHeap()) - empty;
const watched = (await watchedHeap()) - empty;
console.log(JSON.stringify({ row: alone / size, beyond: (watched - alone) / size } satisfies StateBytes));

async function listedHeap(): Promise<number> {
  const rows: EvmStream[] = [];
  for await (const page of source.pages()) for (const row of page.items) rows.push(row);
  const used = heap();
  if (rows.length !== size) throw new Error('The rows are not there any more.');
  return used;
}

/** Between the third poll and the fourth, with the rows of the latest walk. */
async function watchedHeap(): Promise<number> {
  const polls = watch(source, { every: 1 }).pages()[Symbol.asyncIterator]();
  for (let poll = 1; poll <= 3; poll += 1) await polls.next();
  const used = heap();
  await polls.return();
  return used;
}
