import {
  CheckpointError,
  ConfigError,
  PaginationError,
  SinkError,
  Source,
  type Page,
  type Position,
} from '@sluice/core';
import { checkOptions, findGap, joinTotals, type PullIterator } from '@sluice/core/kit';
import { withPath, readLines } from '@sluice/core/node';
import type { PartitionRecord } from './decodeRecords.js';
import { decodeRow } from './rowLine.js';
import type { StoredRow } from './run.js';
import { openFolder, type RunFolder } from './runFolder.js';
import { RunStore, type SegmentsOptions } from './runStore.js';
import { isPrefix, segmentPath } from './storedFile.js';

/**
 * The rows of a finished run in a folder, as a source: to merge them is to export it. All pages are as they were
 * fetched, in the order of the plan, so the target gets the bytes of an export by one machine.
 *
 * @throws ConfigError if partitions are missing; while it is walked, SinkError if rows are not those that were committed
 *
 * @example
 * await exportTo(await sourceOfRun('/mnt/out/holdings'), csv({ path: 'holdings.csv' }), { state }).run();
 */
export async function sourceOfRun(
  folder: string,
  options: Pick<SegmentsOptions, 'fileSystem'> = {},
): Promise<Source<StoredRow>> {
  checkOptions('sourceOfRun()', options, { fileSystem: true });
  const run = await openFolder(new RunStore(folder, options));
  await checkNothingMissing(run);
  const { header, plan } = run;
  const schema = header.columns ? { columns: header.columns, types: header.types } : undefined;
  const info = {
    name: header.source,
    identity: { run: header.id, plan: plan.hash },
    partitions: plan.partitions,
    schema,
  };
  return new Source<StoredRow>(info, ({ startAt, partition, requireTotal = false }) =>
    toPullIterator(walkRun(run, { startAt, only: partition, requireTotal })),
  );
}

async function checkNothingMissing(run: RunFolder): Promise<void> {
  let first: number | undefined;
  let missing = 0;
  for await (const partition of run.pending()) {
    first ??= partition;
    missing += 1;
  }
  if (first === undefined) return;
  throw new ConfigError(
    `${missing} of ${run.partitions} partitions of ${run.header.name} are missing, the first is ${first}. Submit it again, and let workers finish it.`,
    { missing, first },
  );
}

/** The pages of all partitions, or of one, each verified as a whole before its first page. */
async function* walkRun(
  run: RunFolder,
  { startAt, only, requireTotal }: { startAt: Position; only: number | undefined; requireTotal: boolean },
): AsyncGenerator<Page<StoredRow>, undefined> {
  let { rows, pages, totals, repeated = 0 } = startAt;
  const nameOf = (partition: number): string | undefined =>
    run.partitions === 1 ? undefined : `partition ${partition} of the run, counted from 0`;
  for (let partition = startAt.before; partition < (only === undefined ? run.partitions : only + 1); partition += 1) {
    const at = startAt.begun[partition];
    const record = await verifiedRecord(run, partition);
    const skipped = at ? pagesBefore(at, partition, record) : 0;
    const last = countPages(record);
    let page = skipped;
    let rowsBefore = at?.rows ?? 0;
    for await (const items of readPages(run, partition, record, page)) {
      page += 1;
      pages += 1;
      rows += items.length;
      rowsBefore += items.length;
      const endsPartition = page === last;
      if (endsPartition) {
        const more = record.position?.totals;
        if (more) totals = joinTotals(totals, more, nameOf(partition));
        repeated += record.position?.repeated ?? 0;
      }
      const begun = { next: { cursor: `${record.claim}/${page}` }, pages: page, rows: rowsBefore };
      const position: Position = {
        ...(endsPartition
          ? { before: partition + 1, begun: {} }
          : { before: partition, begun: { [partition]: begun } }),
        rows,
        pages,
        ...(totals && { totals }),
        ...(repeated > 0 && { repeated }),
        ...(only !== undefined && { partition: only }),
      };
      const isIncomplete = endsPartition && record.isIncomplete;
      yield {
        items,
        index: pages - 1,
        partition,
        endsPartition,
        position,
        ...(isIncomplete && { isIncomplete }),
      };
    }
  }
  const gap = findGap(totals);
  if (requireTotal && gap) throw otherTotal(run, gap);
}

/** Not the error of the export, which advises to start over: that would read the same rows again. */
function otherTotal(
  { header }: RunFolder,
  { partitions, total, listed, which }: NonNullable<ReturnType<typeof findGap>>,
): PaginationError {
  const where = partitions > 1 ? ` in ${partitions} partitions` : which === undefined ? '' : ` (${which})`;
  return new PaginationError(
    'rows-missing',
    `${header.name}: the API's total of rows is ${total}, but it listed ${listed}${where}. A merge reads what the run has fetched: submit it again, to another folder, to fetch all anew; or merge it all the same if the total counts something else.`,
    { details: { total, listed } },
  );
}

/** Where a walk is in a partition. */
type BegunPartition = Position['begun'][string];

/**
 * The pages of a partition before a position in it.
 *
 * @throws CheckpointError if they are of another claim: its pages, and the rows in them, may be other ones
 */
function pagesBefore({ next, pages }: BegunPartition, partition: number, { claim }: PartitionRecord): number {
  if ('cursor' in next && next.cursor === `${claim}/${pages}`) return pages;
  throw new CheckpointError(
    `Partition ${partition} was fetched again since this export read its first ${pages} pages. What follows them now may be other rows.`,
    { partition },
    [{ kind: 'restart' }],
  );
}

/** @throws ConfigError if a partition is not done; SinkError if its rows are not those that were committed */
async function verifiedRecord(run: RunFolder, partition: number): Promise<PartitionRecord> {
  const { store } = run;
  const record = await store.done(run.ownerOf(partition));
  if (!record) throw new ConfigError(`Partition ${partition} of ${run.header.name} is not done any more.`);
  for (const segment of record.segments) {
    const path = segmentPath(store.path, partition, segment.claim);
    if (await isPrefix(store.fileSystem, path, segment)) continue;
    throw new SinkError(
      `${path} does not begin with the ${segment.bytes} bytes that were committed: restore it, or remove the record of partition ${partition} in done and let workers fetch it again.`,
      { details: { path, partition } },
    );
  }
  return record;
}

/** The pages of a partition behind the first ones. */
async function* readPages(
  { store }: RunFolder,
  partition: number,
  { segments }: PartitionRecord,
  skipped: number,
): AsyncGenerator<readonly StoredRow[]> {
  let page = 0;
  for (const { claim, bytes, pages } of segments) {
    const path = segmentPath(store.path, partition, claim);
    // A segment without rows has no file.
    const file = bytes === 0 ? undefined : await withPath(store.fileSystem.open(path, 'readable'), path, 'opened');
    try {
      const lines = file && readLines(file, path, bytes);
      for (const rows of pages.flatMap(([size, times]) => Array<number>(times).fill(size))) {
        const items: StoredRow[] = [];
        page += 1;
        const isSkipped = page <= skipped;
        for (let row = 0; row < rows; row += 1) {
          const line = await lines?.next();
          if (!isSkipped) items.push(decodeRow(line?.value?.bytes.toString() ?? ''));
        }
        if (!isSkipped) yield items;
      }
    } finally {
      await file?.close().catch(() => undefined);
    }
  }
}

function countPages({ segments }: PartitionRecord): number {
  return segments.reduce((sum, { pages }) => pages.reduce((count, [, times]) => count + times, sum), 0);
}

/** A generator ends a pending step before it returns, which takes no longer than a read. */
function toPullIterator<T>(pages: AsyncGenerator<T, undefined>): PullIterator<T> {
  const iterator: PullIterator<T> = {
    next: () => pages.next(),
    return: () => pages.return(undefined),
    [Symbol.asyncIterator]: () => iterator,
    [Symbol.asyncDispose]: async () => {
      await pages.return(undefined);
    },
  };
  return iterator;
}
