import { CheckpointError, SinkError, type Json, type Sink } from '@sluice/core';
import type { SinkContext, SinkWriter } from '@sluice/core/kit';
import type { SinkFixture } from '../src/index.js';

/** A row as the table keeps it. */
export interface Entry {
  readonly partition: number;
  readonly row: unknown;
}

/** A table of a database, in memory. What was committed survives a crash. */
export class Table {
  committed: readonly Entry[] = [];

  get rows(): unknown[] {
    return this.committed.map(({ row }) => structuredClone(row));
  }
}

/** How far the table was filled, and parts whose rows don't count. */
interface TablePlace {
  readonly rows: number;
  readonly without?: readonly number[];
}

/** A sink that does all that a sink may do, in one transaction after the other. */
export function tableSink(table: Table): Sink<unknown> {
  return {
    name: 'table',
    identity: { columns: ['part', 'row'] },
    target: 'memory',
    delivery: 'exactly-once',
    withoutPartition: (sinkPosition, partition) => {
      const { rows, without = [] } = placeOf(sinkPosition);
      return { rows, without: [...without, partition] };
    },
    check: async (context) => checkTable(table, context),
    open: async (context) => {
      checkTable(table, context);
      const { resumeAt, restart } = context;
      if (restart) table.committed = [];
      if (resumeAt) {
        const { rows, without = [] } = placeOf(resumeAt.sinkPosition);
        table.committed = table.committed.slice(0, rows).filter(({ partition }) => !without.includes(partition));
      }
      return tableWriter(table, context);
    },
  };
}

/** An empty table and a sink on it. */
export function tableFixture(): SinkFixture<unknown> {
  const table = new Table();
  return { sink: () => tableSink(table), rows: () => table.rows };
}

function checkTable(table: Table, { resumeAt, restart, isEndless }: SinkContext<unknown>): void {
  if (resumeAt && placeOf(resumeAt.sinkPosition).rows > table.committed.length)
    throw new CheckpointError('The table has lost rows. Start over with restart: nothing was changed.');
  if (!resumeAt && !restart && !isEndless && table.committed.length > 0)
    throw new SinkError('The table has rows already. Name another one: nothing was changed.');
}

function tableWriter(table: Table, { resumeAt }: SinkContext<unknown>): SinkWriter<unknown> {
  let pending: Entry[] = [];
  const commit = async (): Promise<Json> => {
    table.committed = [...table.committed, ...pending];
    pending = [];
    return { rows: table.committed.length };
  };
  const report = { target: 'memory' };
  return {
    ...(!resumeAt && { start: { rows: table.committed.length } }),
    write: async ({ items, partition }) => {
      pending.push(...items.map((row) => ({ partition, row: structuredClone(row) })));
    },
    flush: commit,
    seal: commit,
    close: async () => report,
    suspend: async () => report,
    abort: async (_reason, { isResumable }) => {
      pending = [];
      if (!isResumable) table.committed = [];
    },
  };
}

function placeOf(sinkPosition: Json): TablePlace {
  return sinkPosition as unknown as TablePlace;
}
