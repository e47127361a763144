import { exportTo, watch, type ExportReport, type WatchOptions } from '@sluice/core';
import { SkippingClock } from '../../core/test/rows/watch/skippingClock.js';
import type { Mirror } from '../src/sqlite.js';
import type { TestDatabase, TextRow } from './databases.js';
import { changingSource, type Item } from './items.js';

/** A listing in memory, by id. */
export class Items {
  rows: readonly Item[];

  constructor(rows: readonly Item[]) {
    this.rows = rows;
  }

  set(...changed: readonly Item[]): void {
    const ids = new Set(changed.map(({ id }) => id));
    this.rows = [...this.rows.filter(({ id }) => !ids.has(id)), ...changed];
  }

  remove(...ids: readonly number[]): void {
    this.rows = this.rows.filter(({ id }) => !ids.includes(id));
  }
}

export interface WatchOf extends Partial<Omit<WatchOptions<Item>, 'state'>> {
  readonly restart?: boolean;
  readonly signal?: AbortSignal;
  /** Called before each page is given. */
  readonly onPage?: () => void | Promise<void>;
}

/** Watches a listing for some polls, one by default, and mirrors it. A row is removed when one walk lacks it. */
export function mirrored(
  listing: { readonly rows: readonly Item[] },
  mirror: Mirror<Item>,
  { restart = false, signal, onPage, ...options }: WatchOf = {},
): Promise<ExportReport> {
  const source = changingSource(() => listing.rows, onPage);
  const watched = watch(source, {
    every: 1_000,
    clock: new SkippingClock(),
    polls: 1,
    confirmations: 1,
    acceptRemovals: true,
    holdAbove: 1,
    state: mirror.state,
    ...options,
  });
  return exportTo(watched, mirror, { restart }).run(signal ? { signal } : {});
}

/** The time that a table has, in ms. */
export function msOf(time: string | null | undefined): number {
  return Date.parse((time ?? '').replace(' ', 'T').replace(/[+-]\d\d$/, '$&:00'));
}

/** The rows of a table, in short and in order: `1 item 1`. */
export async function inTable(database: TestDatabase, columns = 'id, name'): Promise<string[]> {
  return shown(await database.query(`SELECT ${columns} FROM items`)).sort();
}

function shown(rows: readonly TextRow[]): string[] {
  return rows.map((row) => Object.values(row).join(' '));
}
