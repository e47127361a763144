import type { Page } from '../source/page.js';
import type { Checkpoint } from './checkpoint.js';

/** What an export has moved; rows and pages count those of an interrupted run before it too. */
export interface ExportCounts {
  readonly rows: number;
  readonly pages: number;
  /** Rows kept from an interrupted run. */
  readonly resumedRows: number;
  /** Rows that are kept if this run is interrupted now: those of the last commit. */
  readonly committedRows: number;
  /** Rows in the whole listing, where the API says so. */
  readonly total?: number;
}

type KeptCounts = Pick<Checkpoint, 'rows' | 'pages' | 'begun'>;

/** Counts what goes into a sink, by partition where the partition is not finished. */
export class ExportTally {
  #rows = 0;
  #pages = 0;
  #resumedRows = 0;
  #committedRows = 0;
  #total: number | undefined;
  readonly #begun = new Map<string, { readonly rows: number; readonly pages: number }>();

  /** Goes on from what a checkpoint of an earlier run says is in the sink. */
  resume(kept: KeptCounts): void {
    this.#resumedRows = kept.rows;
    this.goBack(kept);
  }

  /** Goes back to what a checkpoint of this run says. */
  goBack({ rows, pages, begun }: KeptCounts): void {
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

  /** What was added so far is kept now. */
  commit(): void {
    this.#committedRows = this.#rows;
  }

  /** What a checkpoint says of all that was added so far. */
  get kept(): KeptCounts {
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
