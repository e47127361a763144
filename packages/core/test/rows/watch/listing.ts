import { createSource, type Json, type Source } from '../../../src/index.js';

/** A row of a listing. */
export interface Row {
  readonly id: string;
  readonly status: string;
}

export const row = (id: string, status = 'active'): Row => ({ id, status });
export const rowsOf = (...ids: string[]): Row[] => ids.map((id) => row(id));

/** A place in the walks of a listing: the walk from 1, the page from 0. */
export interface Fetch {
  readonly walk: number;
  readonly page: number;
}

/** A server's listing in memory: each page is cut out of what the listing is at that moment, as most servers do. */
export class Listing {
  rows: readonly Row[];
  readonly pageSize: number;
  /** Told before each page; may change the listing, wait, or throw to refuse the page. */
  onFetch: (fetch: Fetch) => void | Promise<void> = () => undefined;
  /** What is sent instead of the listing's rows. */
  seenAs: (rows: readonly Row[], fetch: Fetch) => readonly Row[] = (rows) => rows;
  /** What is said to be the number of rows. */
  total: ((rows: readonly Row[]) => number) | undefined;
  walks = 0;
  fetches = 0;
  /** Requests under way. */
  open = 0;
  #page = 0;

  constructor(rows: readonly Row[], pageSize = 2) {
    this.rows = rows;
    this.pageSize = pageSize;
  }

  source(identity: Json = null): Source<Row> {
    return createSource<Row>({
      name: 'test.listing',
      identity,
      schema: { columns: ['id', 'status'], key: ({ id }) => id },
      fetch: async ({ at }) => {
        this.fetches += 1;
        this.open += 1;
        if (at === undefined) this.walks += 1;
        this.#page = at === undefined ? 0 : this.#page + 1;
        const fetch = { walk: this.walks, page: this.#page };
        try {
          await this.onFetch(fetch);
        } finally {
          this.open -= 1;
        }
        const from = at && 'cursor' in at ? Number(at.cursor) : 0;
        const rows = this.seenAs(this.rows, fetch);
        const to = from + this.pageSize;
        return {
          rows: rows.slice(from, to),
          next: to < rows.length ? { cursor: String(to) } : 'end',
          ...(this.total && { total: this.total(this.rows) }),
        };
      },
    });
  }

  set(id: string, status: string): void {
    this.rows = this.rows.map((each) => (each.id === id ? row(id, status) : each));
  }

  add(id: string, status?: string): void {
    this.rows = [...this.rows, row(id, status)];
  }

  remove(...ids: string[]): void {
    this.rows = this.rows.filter(({ id }) => !ids.includes(id));
  }
}
