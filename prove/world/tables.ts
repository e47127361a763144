import { Refusal } from '../../packages/sandbox/src/refusal.js';
import { Table } from './table.js';

/** A table among others, and when it is listed. */
export interface ListedTable {
  readonly id: number;
  /** When it is added and removed, in ms. Absent: it is there from the beginning, or to the end. */
  readonly from?: number;
  readonly until?: number;
  /** From when to when its rows are answered with 404, in ms. */
  readonly refused?: readonly [from: number, to: number];
}

/** Tables in the order of their ids, each with a listing of its own, that their API lists. */
export class Tables {
  readonly #tables = new Map<number, ListedTable & { readonly table: Table }>();

  hold(tables: readonly ListedTable[]): void {
    for (const each of tables) this.#tables.set(each.id, { ...each, table: new Table() });
  }

  of(id: number): Table | undefined {
    return this.#tables.get(id)?.table;
  }

  /** What is found at a path. */
  at(path: string, now: number): ((query: URLSearchParams) => () => unknown) | undefined {
    if (path === '/tables/all') return (query) => () => this.#list(query, now);
    const [, id] = /^\/tables\/rows\/(\d+)$/.exec(path) ?? [];
    const found = this.#tables.get(Number(id));
    const [from = Infinity, to = Infinity] = found?.refused ?? [];
    if (from <= now && now < to) throw new Refusal(404, `${id} is not there now`);
    return found && ((query) => () => found.table.list(query, now));
  }

  /** A page of the tables behind one. */
  #list(query: URLSearchParams, now: number): unknown {
    const after = Number(query.get('cursor') ?? 0);
    const present = [...this.#tables.values()].filter(({ from = 0, until = Infinity }) => from <= now && now < until);
    const behind = present.map(({ id }) => id).filter((id) => id > after);
    const page = behind.slice(0, Number(query.get('n')));
    return {
      items: page.map((id) => ({ id })),
      ...(behind.length > page.length && { next: String(page.at(-1)) }),
    };
  }
}
