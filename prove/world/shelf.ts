import { Refusal } from '../../packages/sandbox/src/refusal.js';

/** A row that has a listing of its own, and when it is listed itself. */
export interface Parent {
  readonly id: number;
  /** Of its listing. */
  readonly rows: number;
  /** Those of its rows that are not always there, or not always the same. */
  readonly changing?: readonly ChangingRow[];
  /** When its listing begins to be answered with 404, for good, in ms. */
  readonly goneAt?: number;
  /** When it is added and removed, in ms. Absent: it is there from the beginning, or to the end. */
  readonly from?: number;
  readonly until?: number;
}

export interface ChangingRow {
  readonly n: number;
  /** When it is added and removed, in ms. Absent: it is there from the beginning, or to the end. */
  readonly from?: number;
  readonly until?: number;
  /** When its text changes, in ms. */
  readonly changedAt?: number;
}

/** How a walk of rows finds its end, if not by the next page that the API names. */
export type RowsEnd = 'short-page' | 'no-rows' | 'repeated-page' | 'one-page';

/** How parents and rows are listed. */
export interface ShelfModel {
  /** Each room has so many parents, and only its own number for each. Absent: there are no rooms. */
  readonly roomSize?: number | undefined;
  readonly end?: RowsEnd | undefined;
}

export interface Child {
  readonly n: number;
  readonly text: string;
}

/**
 * Parents in the order of their ids, and the rows of each. A page of rows is of so many places: those that are not there
 * now leave it short, or empty. Whoever knows a parent can list its rows when it is removed.
 */
export class Shelf {
  #parents: readonly Parent[] = [];
  #model: ShelfModel = {};
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  hold(parents: readonly Parent[], model: ShelfModel): void {
    this.#model = model;
    this.#parents = parents.toSorted((a, b) => a.id - b.id);
  }

  /** What is found at a path. */
  at(path: string): ((query: URLSearchParams) => () => unknown) | undefined {
    const { roomSize = Infinity } = this.#model;
    if (path === '/shelf/parents') return (query) => () => this.#list(query, this.#parents);
    if (path === '/shelf/rooms') return (query) => () => this.#listRooms(query, roomSize);
    const [, room] = /^\/shelf\/rooms\/(\d+)\/parents$/.exec(path) ?? [];
    const ofRoom = this.#parents.filter(({ id }) => roomOf(id, roomSize) === Number(room));
    if (room !== undefined) return (query) => () => this.#list(query, ofRoom);
    const [, id] = /^\/shelf\/parents\/(\d+)\/rows$/.exec(path) ?? [];
    const parent = this.#parents.find((each) => each.id === Number(id));
    if (parent?.goneAt !== undefined && parent.goneAt <= this.#now()) throw new Refusal(404, `${id} is gone`);
    return parent && ((query) => () => pageOfChildren(parent, query, this.#now(), this.#model.end));
  }

  /** A page of the parents behind one. Some come twice: on a page, or on two. */
  #list(query: URLSearchParams, parents: readonly Parent[]): unknown {
    const { roomSize = Infinity } = this.#model;
    const { items, next } = pageBehind(query, this.#present(parents));
    return { items: items.map((id) => ({ id, nth: ((id - 1) % roomSize) + 1 })), ...next };
  }

  /** A page of the rooms behind one that have a parent now. */
  #listRooms(query: URLSearchParams, roomSize: number): unknown {
    const { items, next } = pageBehind(query, [
      ...new Set(this.#present(this.#parents).map((id) => roomOf(id, roomSize))),
    ]);
    return { items: items.map((id) => ({ id })), ...next };
  }

  #present(parents: readonly Parent[]): readonly number[] {
    const now = this.#now();
    return parents.filter(({ from = 0, until = Infinity }) => from <= now && now < until).map(({ id }) => id);
  }
}

/** The room that a parent is in. */
export function roomOf(id: number, roomSize: number): number {
  return Math.ceil(id / roomSize);
}

function pageBehind(query: URLSearchParams, ids: readonly number[]) {
  const after = Number(query.get('cursor') ?? 0);
  const size = Number(query.get('n'));
  const behind = ids.filter((id) => id > after);
  const page = behind.slice(0, size);
  const again = [...ids.filter((id) => id === after), ...page.slice(0, 1)].filter((id) => id % 3 === 0);
  return { items: [...again, ...page], next: behind.length > size && { next: String(page.at(-1)) } };
}

/** The rows of a parent that never change. */
export function stableChildrenOf({ id, rows, changing = [] }: Parent): readonly Child[] {
  return Array.from({ length: rows }, (_, n) => childOf(id, n)).filter(({ n }) => !changing.some((row) => row.n === n));
}

function childOf(id: number, n: number, isChanged = false): Child {
  return { n, text: `row ${n} of "${id}"${isChanged ? ', changed' : ''}` };
}

function pageOfChildren(
  { id, rows, changing = [] }: Parent,
  query: URLSearchParams,
  now: number,
  how: RowsEnd | undefined,
): unknown {
  const size = Number(query.get('n'));
  const last = how === 'repeated-page' ? Math.max(1, Math.ceil(rows / size)) : Infinity;
  const number = Math.min(Number(query.get('page') ?? 1), last);
  const from = Number(query.get('cursor') ?? (number - 1) * size);
  const end = from + size;
  const items = Array.from({ length: Math.max(0, Math.min(end, rows) - from) }, (_, nth) => from + nth).flatMap((n) => {
    const row = changing.find((each) => each.n === n);
    if (!row) return [childOf(id, n)];
    const { from: added = 0, until = Infinity, changedAt = Infinity } = row;
    return added <= now && now < until ? [childOf(id, n, changedAt <= now)] : [];
  });
  const hasNext = how === 'no-rows' || (how === undefined && end < rows);
  return { items, total: rows, ...(hasNext && { next: String(end) }) };
}
