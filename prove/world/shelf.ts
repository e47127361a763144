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
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  hold(parents: readonly Parent[]): void {
    this.#parents = parents.toSorted((a, b) => a.id - b.id);
  }

  /** What is found at a path. */
  at(path: string): ((query: URLSearchParams) => () => unknown) | undefined {
    if (path === '/shelf/parents') return (query) => () => this.#list(query);
    const [, id] = /^\/shelf\/parents\/(\d+)\/rows$/.exec(path) ?? [];
    const parent = this.#parents.find((each) => each.id === Number(id));
    if (parent?.goneAt !== undefined && parent.goneAt <= this.#now()) throw new Refusal(404, `${id} is gone`);
    return parent && ((query) => () => pageOfChildren(parent, query, this.#now()));
  }

  /** A page of the parents behind one. Some come twice: on a page, or on two. */
  #list(query: URLSearchParams): unknown {
    const after = Number(query.get('cursor') ?? 0);
    const size = Number(query.get('n'));
    const now = this.#now();
    const present = this.#parents.filter(({ from = 0, until = Infinity }) => from <= now && now < until);
    const behind = present.filter(({ id }) => id > after);
    const page = behind.slice(0, size);
    const again = [...present.filter(({ id }) => id === after), ...page.slice(0, 1)].filter(({ id }) => id % 3 === 0);
    const last = behind.length > size ? page.at(-1) : undefined;
    return { items: [...again, ...page].map(({ id }) => ({ id })), ...(last && { next: String(last.id) }) };
  }
}

/** The rows of a parent that never change. */
export function stableChildrenOf({ id, rows, changing = [] }: Parent): readonly Child[] {
  return Array.from({ length: rows }, (_, n) => childOf(id, n)).filter(({ n }) => !changing.some((row) => row.n === n));
}

function childOf(id: number, n: number, isChanged = false): Child {
  return { n, text: `row ${n} of "${id}"${isChanged ? ', changed' : ''}` };
}

function pageOfChildren({ id, rows, changing = [] }: Parent, query: URLSearchParams, now: number): unknown {
  const from = Number(query.get('cursor') ?? 0);
  const end = from + Number(query.get('n'));
  const items = Array.from({ length: Math.min(end, rows) - from }, (_, nth) => from + nth).flatMap((n) => {
    const row = changing.find((each) => each.n === n);
    if (!row) return [childOf(id, n)];
    const { from: added = 0, until = Infinity, changedAt = Infinity } = row;
    return added <= now && now < until ? [childOf(id, n, changedAt <= now)] : [];
  });
  return { items, ...(end < rows && { next: String(end) }) };
}
