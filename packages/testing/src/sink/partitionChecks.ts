import type { SinkPage } from '@sluice/core/kit';
import { check, checkNoneLost, checkPlainJson, checkRows, show } from '../check.js';
import { canonicalJson } from '../plainJson.js';
import { Skipped, type Checks } from '../suite.js';
import { DrivenSink } from './drivenSink.js';
import type { PageShape, Targets } from './targets.js';

/** Three concurrent partitions: one ends with an empty page, and the first one ends last. */
const shapes: readonly PageShape[] = [
  { partition: 0, rows: 2 },
  { partition: 1, rows: 1 },
  { partition: 2, rows: 3, endsPartition: true },
  { partition: 1, rows: 2 },
  { partition: 1, rows: 0, endsPartition: true },
  { partition: 0, rows: 1, endsPartition: true },
];

/** Four: a finished one is between two that are not, and one follows behind them. */
const shapesOfFour: readonly PageShape[] = [
  { partition: 1, rows: 2, endsPartition: true },
  { partition: 0, rows: 2 },
  { partition: 3, rows: 1 },
  { partition: 2, rows: 3 },
  { partition: 3, rows: 1, endsPartition: true },
  { partition: 2, rows: 1, endsPartition: true },
  { partition: 0, rows: 1, endsPartition: true },
];

/** Partitions that are walked concurrently. A sink may store them in any order. */
export const partitionChecks: Checks<Targets> = {
  'has the rows of partitions that arrive in parallel, each partition in order': async (targets) => {
    const target = await targets.create();
    const pages = targets.partitionPages(shapes);
    await target.writeAll(pages);
    await checkPartitions(target, pages, 'After partitions that arrived in parallel');
  },

  'resumes after a crash in the middle of partitions that arrive in parallel': async (targets) => {
    for (let commits = 0; commits < shapes.length; commits += 1) {
      const target = await targets.create();
      const pages = targets.partitionPages(shapes);
      const writer = await target.open();
      await writer.writeAndCommit(...pages.slice(0, commits));
      await writer.write(...pages.slice(commits, commits + 1));
      await target.crash();
      await target.resumeAndFinish(writer.committed, pages);
      const when = `After partitions that arrived in parallel, and a crash at page ${commits}`;
      await checkPartitions(target, pages, when);
    }
  },

  'removes the rows of one partition, and of no other': async (targets) => {
    for (const [all, partition] of [[shapes, 0] as const, [shapes, 1] as const, [shapesOfFour, 2] as const]) {
      const target = await targets.create();
      const { withoutPartition } = target.sink;
      if (!withoutPartition) throw new Skipped('`withoutPartition` of the sink');
      const pages = targets.partitionPages(all);
      const begun = pages.slice(0, 4);
      const rest = pages.slice(4);
      const writer = await target.open();
      await writer.writeAndCommit(...begun);
      const { sinkPosition, pages: count } = writer.committed;
      if (sinkPosition === undefined || count < begun.length)
        throw new Skipped('a sink that can commit after any page');
      const without = withoutPartition(sinkPosition, partition);
      checkPlainJson(without, 'The position that withoutPartition returns');
      await writer.abort(true);
      const again = await target.open({ resumeAt: { sinkPosition: structuredClone(without), isSealed: false } });
      await again.write(...begun.filter((page) => page.partition === partition), ...rest);
      await again.finish();
      await checkPartitions(target, pages, `Partition ${partition} removed, and walked again`);
    }
  },
};

async function checkPartitions(target: DrivenSink, pages: readonly SinkPage<unknown>[], when: string): Promise<void> {
  const rows = await target.rows();
  const expected = target.readBack(pages);
  checkNoneLost(rows, { expected, written: expected }, when);
  if (!target.isExact) return;
  check(rows.length === expected.length, `${when}: ${rows.length} rows instead of ${expected.length}: ${show(rows)}.`);
  for (const partition of new Set(pages.map((page) => page.partition))) {
    const wanted = target.readBack(pages.filter((page) => page.partition === partition));
    const known = new Set(wanted.map(canonicalJson));
    const found = rows.filter((row) => known.has(canonicalJson(row)));
    checkRows(found, wanted, `${when}, partition ${partition}`);
  }
}
