import { createSource, type Json, type Source, type SourceDefinition } from '@sluice/core';
import { simulatedDisk, type SimulatedDisk } from '../../../core/test/node/simulatedDisk.js';
import { runPartition, segments, sourceOfRun } from '../../src/index.js';
import type { OpenSource, ProgressHints, Run, RunPlan, StoredRow } from '../../src/run/run.js';
import { MemoryHints } from './memoryHints.js';

/** Rows of each page, of each partition, of each piece of a plan. */
export type Table = readonly (readonly (readonly (readonly object[])[])[])[];

/** Two pieces with three partitions, one of them without rows, and one with an empty page. */
export const smallTable: Table = [
  [[[{ id: '0.0' }, { id: '0.1' }], [{ id: '0.2' }]], [[]]],
  [[[{ id: '2.0' }], [], [{ id: '2.1' }, { id: '2.2' }], [{ id: '2.3' }]]],
];

export const folder = '/shared/run';

interface Piece {
  readonly piece: number;
}

/** A plan of rows in memory. */
export class TableRun {
  /** Called before each page is answered. */
  onFetch: (partition: number, page: number) => void | Promise<void> = () => undefined;
  /** What a page says besides its rows. */
  answer: (partition: number, page: number) => { readonly isIncomplete?: true; readonly total?: number } = () => ({});
  /** Changes the definition of the source. */
  definition: Partial<SourceDefinition<object>> = {};
  fetched = 0;
  readonly table: Table;

  constructor(table: Table = smallTable) {
    this.table = table;
  }

  get rows(): readonly object[] {
    return this.table.flat(3);
  }

  get partitions(): number {
    return this.table.flat().length;
  }

  readonly open: OpenSource = ({ piece }: Piece) => this.source(piece);

  source(piece: number): Source<object> {
    const partitions = this.table[piece] ?? [];
    return createSource<object>({
      name: 'test.rows',
      identity: { piece },
      schema: { columns: ['id'] },
      partitions: partitions.length,
      fetch: async ({ partition, at }) => {
        const page = at && 'cursor' in at ? Number(at.cursor) : 0;
        await this.onFetch(partition, page);
        this.fetched += 1;
        const pages = partitions[partition] ?? [];
        const rows = pages[page] ?? [];
        const received = rows.map((_, row) => [partition, page, row]);
        const next = page + 1 < pages.length ? { cursor: String(page + 1) } : 'end';
        return { rows, received, next, ...this.answer(partition, page) };
      },
      ...this.definition,
    });
  }

  get plan(): RunPlan {
    const params: Json[] = this.table.map((_, piece) => ({ piece }));
    return { name: 'rows', source: 'test.rows', open: this.open, params };
  }

  submit(disk: SimulatedDisk, hints: ProgressHints = new MemoryHints()): Promise<Run> {
    return segments(folder, { fileSystem: disk, hints }).submit(this.plan);
  }

  /** Submits it, and runs all that is not done. */
  async finish(disk: SimulatedDisk, hints?: ProgressHints): Promise<void> {
    const run = await this.submit(disk, hints);
    for await (const partition of run.pending()) await this.runPartition(run, partition);
  }

  runPartition(run: Run, partition: number, signal = new AbortController().signal) {
    return runPartition({ run, partition, signal, saveEvery: 0 });
  }
}

/** The rows of a run that is finished. */
export async function mergedRows(disk: SimulatedDisk): Promise<readonly StoredRow[]> {
  return (await sourceOfRun(folder, { fileSystem: disk })).toArray();
}

/** A disk with the folder above the run's. */
export function sharedDisk(...hook: Parameters<typeof simulatedDisk>): SimulatedDisk {
  const disk = simulatedDisk(...hook);
  disk.putFolder('/shared');
  return disk;
}
