import { epoch } from './platform.js';

/** Ms by which a row may be seen later than its value says. */
export const tableOverlap = 10_000;

/** In which orders a table can be listed besides that of its changes: with offsets, or by pages. */
export const tableOrders = ['offsets', 'newest-first', 'any'] as const;

export type TableOrder = (typeof tableOrders)[number];

export interface Entry {
  readonly id: number;
  readonly text: string;
  readonly changed: string;
}

/** A change of a row. */
export interface TableChange {
  readonly at: number;
  readonly id: number;
  /** Ms after which requests see it, as that of a long transaction. */
  readonly late: number;
  /** The table, if there are several. */
  readonly table?: number;
}

interface Stored extends Entry {
  readonly at: number;
  readonly seen: number;
}

/** A table that its API lists in the order of the last changes. */
export class Table {
  readonly #rows = new Map<number, readonly Stored[]>();
  #changes = 0;

  change({ id, late }: Pick<TableChange, 'id' | 'late'>, now: number): void {
    this.#changes += 1;
    const at = Math.floor(now);
    const entry = { id, text: `change ${this.#changes}`, changed: writtenAt(epoch + at, this.#changes) };
    // The version before is listed until this one is seen.
    this.#rows.set(id, [...(this.#rows.get(id) ?? []), { ...entry, at, seen: at + late }]);
  }

  /** The rows, once all are seen. */
  get all(): Entry[] {
    return this.#seen(Infinity).map(({ id, text, changed }) => ({ id, text, changed }));
  }

  /** A page of the rows from a value on, or of a window, whose end may be inclusive; of all or of one kind. */
  list(query: URLSearchParams, now: number): { readonly items: Entry[] } {
    const since = Date.parse(query.get('since') ?? '1970-01-01T00:00:00Z');
    const to = Date.parse(query.get('to') ?? '9999-01-01T00:00:00Z') + (query.get('end') === 'inclusive' ? 1 : 0);
    const kind = query.get('kind');
    const sign = query.get('order') === 'newest-first' ? -1 : query.get('order') === 'any' ? 0 : 1;
    const listed = this.#seen(now)
      .filter(({ at, id }) => epoch + at >= since && epoch + at < to && (kind ?? kindOf(id)) === kindOf(id))
      .toSorted((a, b) => sign * (a.at - b.at) || a.id - b.id);
    const size = Number(query.get('n'));
    const start = Number(query.get('offset') ?? (Number(query.get('page') ?? 1) - 1) * size);
    return { items: listed.slice(start, start + size).map(({ id, text, changed }) => ({ id, text, changed })) };
  }

  #seen(now: number): Stored[] {
    return [...this.#rows.values()].flatMap((versions) => versions.findLast(({ seen }) => seen <= now) ?? []);
  }
}

/** One of the two kinds of rows. */
export function kindOf(id: number): string {
  return id % 2 === 0 ? 'even' : 'odd';
}

/** The same instant is not always written the same way. */
function writtenAt(ms: number, nth: number): string {
  const text = new Date(ms).toISOString();
  if (nth % 3 === 0) return text.replace('Z', '000+00:00');
  return nth % 3 === 1 ? text.replace(/\.?0*Z$/, 'Z') : text;
}
