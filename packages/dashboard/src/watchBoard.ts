import type { ChangeEvent } from '@sluice/core';
import { fit, shorten } from './fit.js';
import { changeKinds, type BoardView, type ChangeView, type RowView } from './snapshot.js';

/** Rows with a history, those that changed last. */
const maxRows = 100;
const maxChanges = 1_000;
/** Statuses that a row's strip shows. */
const maxStrip = 12;
/** Distinct statuses; more count as the last one. */
const maxNames = 24;
const otherName = '(other)';
const maxKey = 80;
const maxStatus = 40;

const gone = -2;
const none = -1;

interface Row {
  readonly key: string;
  readonly strip: (readonly [at: number, status: number])[];
}

/** Follows the rows of a watch: how many have which status, and what changed last. Its size is bounded. */
export class Board {
  readonly #since: number;
  readonly #names: string[] = [];
  readonly #counts: number[] = [];
  #without = 0;
  readonly #kinds = changeKinds.map(() => 0);
  #total = 0;
  /** The one that changed last comes last. */
  readonly #rows = new Map<string, Row>();
  /** The newest comes last. */
  readonly #changes: ChangeView[] = [];

  constructor(since: number) {
    this.#since = since;
  }

  add({ key: whole, kind, before, after, observedAt }: ChangeEvent): void {
    const key = shorten(whole, maxKey);
    const at = Math.max(0, Math.round((Date.parse(observedAt) - this.#since) / 1_000)) || 0;
    const old = this.#indexOf(before);
    const next = this.#indexOf(after);
    const isNew = kind === 'initial' || kind === 'added' || kind === 'known';
    const nth = changeKinds.indexOf(kind);
    this.#kinds[nth] = (this.#kinds[nth] ?? 0) + 1;
    if (!isNew) this.#count(old, -1);
    if (kind !== 'removed') this.#count(next, 1);
    this.#total += isNew ? 1 : kind === 'removed' ? -1 : 0;
    this.#follow(whole, key, at, kind === 'removed' ? gone : next, kind === 'initial' || kind === 'known');
    if (kind === 'known') return;
    this.#changes.push([at, key, nth, isNew ? none : old, kind === 'removed' ? none : next]);
    // Not with each change: to move a thousand of them costs more than to keep a few too many.
    if (this.#changes.length > 2 * maxChanges) this.#changes.splice(0, this.#changes.length - maxChanges);
  }

  /** All but the changes. @param maxBytes of JSON for the rows */
  view(maxBytes: number): BoardView {
    const rows = [...this.#rows.values()].reverse();
    return {
      since: this.#since,
      names: [...this.#names],
      counts: [...this.#counts, this.#without],
      kinds: [...this.#kinds],
      total: this.#total,
      rows: fit(
        rows.map(({ key, strip }): RowView => [key, ...strip]),
        maxBytes,
      ),
      changes: [],
    };
  }

  /** The last changes, the newest first. */
  changes(maxBytes: number): ChangeView[] {
    return fit(this.#changes.slice(-maxChanges).reverse(), maxBytes);
  }

  #indexOf(status: string | null): number {
    if (status === null) return none;
    const name = shorten(status, maxStatus);
    const known = this.#names.indexOf(name);
    if (known !== -1) return known;
    const isLast = this.#names.length >= maxNames - 1;
    if (isLast && this.#names.at(-1) === otherName) return this.#names.length - 1;
    this.#names.push(isLast ? otherName : name);
    this.#counts.push(0);
    return this.#names.length - 1;
  }

  #count(status: number, by: number): void {
    if (status === none) this.#without += by;
    else this.#counts[status] = (this.#counts[status] ?? 0) + by;
  }

  #follow(whole: string, key: string, at: number, status: number, isFirst: boolean): void {
    const row = this.#rows.get(whole);
    // A first listing may have more rows than are shown. What changes later takes their place.
    if (!row && isFirst && this.#rows.size >= maxRows) return;
    const strip = [...(row?.strip ?? []), [at, status] as const].slice(-maxStrip);
    this.#rows.delete(whole);
    this.#rows.set(whole, { key, strip });
    for (const oldest of this.#rows.keys()) {
      if (this.#rows.size <= maxRows) break;
      this.#rows.delete(oldest);
    }
  }
}
