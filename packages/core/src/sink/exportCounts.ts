import type { Page } from '../source/page.js';
import type { Checkpoint } from './checkpoint.js';

/** What an export has moved. Rows and pages include those of earlier, interrupted runs. */
export interface ExportCounts {
  readonly rows: number;
  readonly pages: number;
  /** Rows kept from earlier, interrupted runs. */
  readonly resumedRows: number;
  /** Rows of the last commit: they are kept if this run is interrupted now. */
  readonly committedRows: number;
  /** Rows in the whole listing, if the API reports it. */
  readonly total?: number;
}

type CheckpointCounts = Pick<Checkpoint, 'rows' | 'pages' | 'begun'>;

/** Counts what goes into a sink, and separately for each unfinished partition. */
export class ExportTally {
  #rows = 0;
  #pages = 0;
  #resumedRows = 0;
  #committedRows = 0;
  #total: number | undefined;
  readonly #begun = new Map<string, { readonly rows: number; readonly pages: number }>();

  /** Starts from the counts of an earlier run's checkpoint. */
  resume(counts: CheckpointCounts): void {
    this.#resumedRows = counts.rows;
    this.rollBack(counts);
  }

  /** Returns to the counts of a checkpoint of this run. */
  rollBack({ rows, pages, begun }: CheckpointCounts): void {
    this.#rows = this.#committedRows = rows;
    this.#pages = pages;
    this.#resumedRows = Math.min(this.#resumedRows, rows);
    this.#begun.clear();
    for (const [partition, counts] of Object.entries(begun)) this.#begun.set(partition, counts);
  }

  add({ items, partition, endsPartition, total }: Page<unknown>): void {
    const { rows, pages } = this.#begun.get(String(partition)) ?? { rows: 0, pages: 0 };
    this.#rows += items.length;
    this.#pages += 1;
    this.#total = total ?? this.#total;
    if (endsPartition) this.#begun.delete(String(partition));
    else this.#begun.set(String(partition), { rows: rows + items.length, pages: pages + 1 });
  }

  commit(): void {
    this.#committedRows = this.#rows;
  }

  /** The counts of a checkpoint that commits now. */
  get committable(): CheckpointCounts {
    return { rows: this.#rows, pages: this.#pages, begun: Object.fromEntries(this.#begun) };
  }

  get counts(): ExportCounts {
    return {
      rows: this.#rows,
      pages: this.#pages,
      resumedRows: this.#resumedRows,
      committedRows: this.#committedRows,
      ...(this.#total !== undefined && { total: this.#total }),
    };
  }
}
