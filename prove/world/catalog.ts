import type { Service } from './service.js';
import { epoch } from './platform.js';

/** Where a catalog is found. */
export const catalogAddress = 'https://catalog.world/api/';

export interface CatalogRow {
  readonly id: number;
  readonly label: string;
  readonly text: string;
}

/** What happens to the rows before a night. `nth` counts the rows of all shelves. */
export type CatalogChange =
  | { readonly what: 'add'; readonly shelf: number }
  | { readonly what: 'remove' | 'edit'; readonly nth: number }
  /** To another shelf: the row is listed at every moment. */
  | { readonly what: 'move'; readonly nth: number; readonly shelf: number };

/** How the pages of a shelf are wrong, for a whole night. */
export type ListingFault = { readonly shelf: number } & (
  | { readonly what: 'is empty' }
  /** A page has so many rows of the first page in place of its own. */
  | { readonly what: 'repeats'; readonly page: number; readonly rows: number }
  /** A page begins with so many rows of the one before, and then has its own: there are more rows than are counted. */
  | { readonly what: 'overlaps'; readonly page: number; readonly rows: number }
  | { readonly what: 'leaves out'; readonly nth: number; readonly rows: number }
  /** From a page on, the total is wrong by so many. */
  | { readonly what: 'miscounts'; readonly page: number; readonly by: number }
);

export interface Night {
  readonly changes: readonly CatalogChange[];
  readonly faults: readonly ListingFault[];
  /** So many requests are answered, and then none for {@link outageOfNight}. Absent: all are. */
  readonly failsAfter?: number;
}

export interface CatalogModel {
  /** How many rows each shelf has. */
  readonly shelves: readonly number[];
  /** So many rows have labels of their own, and others those again. Absent: each row has its own. */
  readonly labels?: number;
  /** How a response names the next page. */
  readonly paging: 'cursor' | 'link' | 'page' | 'page count' | 'offset';
  /** What totals count: the rows of a shelf, or those that are listed, which leave out what a fault hides. */
  readonly counts: 'rows' | 'listed' | 'nothing';
}

/** The listing of a shelf in one night, whole. */
export interface Shelved {
  /** The rows of the shelf. */
  readonly rows: readonly CatalogRow[];
  /** What its pages have, one after the other. */
  readonly listed: readonly CatalogRow[];
  /** The totals that its pages state. */
  readonly totals: readonly number[];
}

/** Ms for which a night's outage lasts: longer than anything is retried. */
const outageOfNight = 1_800_000;

/** Rows on shelves, each of which is listed by itself. In a night nothing moves; pages may be wrong, and the same way each time. */
export class Catalog {
  readonly #model: CatalogModel;
  readonly #pageSize: number;
  readonly #now: () => number;
  #rows: readonly (CatalogRow & { readonly shelf: number })[];
  #faults: readonly ListingFault[] = [];
  #added = 0;
  #answersLeft = Infinity;
  #downUntil = -Infinity;
  #isQuiet = false;
  /** Pages that were sent. */
  pages = 0;

  constructor(model: CatalogModel, pageSize: number, now: () => number) {
    this.#model = model;
    this.#pageSize = pageSize;
    this.#now = now;
    this.#rows = model.shelves.flatMap((count, shelf) => Array.from({ length: count }, () => this.#newRow(shelf)));
  }

  /** What happens before a night, and how its pages are wrong. */
  begin({ changes, faults, failsAfter = Infinity }: Night): void {
    for (const change of changes) this.#change(change);
    this.#faults = faults;
    this.#answersLeft = failsAfter;
  }

  /** Nothing disturbs a night from now on. */
  quieten(): void {
    this.#isQuiet = true;
  }

  get shelves(): readonly Shelved[] {
    return this.#model.shelves.map((_, shelf) => this.#shelved(shelf));
  }

  readonly answer: Service = ({ url }) => {
    const date = new Date(epoch + this.#now()).toUTCString();
    if (this.#isDown()) return { status: 503, headers: { date }, body: '{}' };
    const query = url.searchParams;
    const { listed, totals } = this.#shelved(Number(url.pathname.split('/').at(-1)));
    const size = Number(query.get('n'));
    const nth = Number(query.get('page') ?? 1);
    const start = Number(query.get('cursor') ?? query.get('offset') ?? (nth - 1) * size);
    const end = start + size;
    const total = totals[Math.floor(start / this.#pageSize)] ?? totals.at(-1);
    this.pages += 1;
    return {
      status: 200,
      headers: { date },
      body: JSON.stringify({
        items: listed.slice(start, end),
        ...(total !== undefined && { total }),
        ...(end < listed.length && this.#next(url, end)),
        ...(this.#model.paging === 'page count' && { pages: Math.ceil(listed.length / size) }),
      }),
    };
  };

  #next(url: URL, end: number): object {
    if (this.#model.paging === 'cursor') return { next: String(end) };
    if (this.#model.paging !== 'link') return {};
    const next = new URL(url);
    next.searchParams.set('cursor', String(end));
    return { next: next.href };
  }

  #isDown(): boolean {
    this.#answersLeft -= 1;
    if (this.#answersLeft < 0) {
      this.#answersLeft = Infinity;
      this.#downUntil = this.#now() + outageOfNight;
    }
    return !this.#isQuiet && this.#now() < this.#downUntil;
  }

  #newRow(shelf: number): CatalogRow & { readonly shelf: number } {
    const id = (this.#added += 1);
    return { id, label: `label ${id % (this.#model.labels ?? Infinity)}`, text: `row ${id}`, shelf };
  }

  #change(change: CatalogChange): void {
    if (change.what === 'add') {
      this.#rows = [...this.#rows, this.#newRow(change.shelf)];
      return;
    }
    const at = change.nth % Math.max(1, this.#rows.length);
    const row = this.#rows[at];
    if (!row) return;
    const { shelf, text } = row;
    const changed = change.what === 'move' ? { shelf: change.shelf } : { shelf, text: `${text} edited` };
    this.#rows = this.#rows.toSpliced(at, 1, ...(change.what === 'remove' ? [] : [{ ...row, ...changed }]));
  }

  #shelved(shelf: number): Shelved {
    const rows: readonly CatalogRow[] = this.#rows
      .filter((row) => row.shelf === shelf)
      .toSorted((a, b) => a.id - b.id)
      .map(({ id, label, text }) => ({ id, label, text }));
    const faults = this.#faults.filter((fault) => fault.shelf === shelf);
    const listed = faults.reduce((all, fault) => listedWith(fault, all, this.#pageSize), rows);
    const { counts } = this.#model;
    if (counts === 'nothing') return { rows, listed, totals: [] };
    const count = counts === 'rows' ? rows.length : listed.length;
    const pages = Math.max(1, Math.ceil(listed.length / this.#pageSize));
    const totals = Array.from({ length: pages }, (_, page) => faults.reduce(miscountedOn(page), count));
    return { rows, listed, totals };
  }
}

function listedWith(fault: ListingFault, rows: readonly CatalogRow[], pageSize: number): readonly CatalogRow[] {
  switch (fault.what) {
    case 'is empty':
      return [];
    case 'repeats': {
      // Fewer than a page: a page that is the first one again is a loop, and a walk refuses it.
      const count = Math.min(fault.rows, pageSize - 1, Math.max(0, rows.length - fault.page * pageSize));
      return rows.toSpliced(fault.page * pageSize, count, ...rows.slice(0, count));
    }
    case 'overlaps': {
      const start = fault.page * pageSize;
      return start < rows.length
        ? rows.toSpliced(start, 0, ...rows.slice(Math.max(0, start - fault.rows), start))
        : rows;
    }
    case 'leaves out':
      return rows.toSpliced(fault.nth, fault.rows);
    case 'miscounts':
      return rows;
  }
}

function miscountedOn(page: number): (total: number, fault: ListingFault) => number {
  return (total, fault) => (fault.what === 'miscounts' && page >= fault.page ? Math.max(0, total + fault.by) : total);
}
