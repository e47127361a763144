import { statusTone } from '@sluice/core/health';
import type { ChangeEvent } from '@sluice/core/kit';
import { DueRows } from './dueRows.js';
import { fit, shorten } from './fit.js';
import type { Gap } from './series.js';
import { changeKinds, type BoardView, type ChangeView, type PastRow, type RowView } from './snapshot.js';

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
  /** What it is called, and its key if that is something else. */
  readonly name: string;
  readonly key: string;
  readonly strip: (readonly [at: number, status: number])[];
}

/** Follows the rows of a watch: how many have which status, which are errors, and what changed last. Its size is bounded. */
export class Board {
  readonly #since: number;
  readonly #names: string[] = [];
  readonly #counts: number[] = [];
  #without = 0;
  readonly #kinds = changeKinds.map(() => 0);
  #total = 0;
  /** The one that changed last comes last. */
  readonly #rows = new Map<string, Row>();
  readonly due = new DueRows();
  /** The newest comes last. */
  readonly #changes: ChangeView[] = [];

  /** @param past what was known before it. */
  constructor(since: number, past: readonly PastRow[] = []) {
    this.#since = since;
    for (const { key, name, statuses } of past.slice(-maxRows)) {
      const strip = statuses.map(({ from, status }) => {
        return [this.#secondsAt(from), status === undefined ? gone : this.#indexOf(status)] as const;
      });
      this.#rows.set(key, { ...nameRow(key, name), strip: strip.slice(-maxStrip) });
    }
  }

  add({ key: whole, name: given, kind, before, after, observedAt }: ChangeEvent): void {
    const { name, key } = nameRow(whole, given);
    const at = this.#secondsAt(Date.parse(observedAt));
    const old = this.#indexOf(before);
    const next = this.#indexOf(after);
    const isNew = kind === 'initial' || kind === 'added' || kind === 'known';
    const nth = changeKinds.indexOf(kind);
    this.#kinds[nth] = (this.#kinds[nth] ?? 0) + 1;
    if (!isNew) this.#count(old, -1);
    if (kind !== 'removed') this.#count(next, 1);
    this.#total += isNew ? 1 : kind === 'removed' ? -1 : 0;
    const isFirst = kind === 'initial' || kind === 'known';
    this.#follow(whole, { name, key }, at, kind === 'removed' ? gone : next, isFirst);
    if (isFirst) return;
    this.#changes.push([at, name, nth, isNew ? none : old, kind === 'removed' ? none : next]);
    // Not with each change: to move a thousand of them costs more than to keep a few too many.
    if (this.#changes.length > 2 * maxChanges) this.#changes.splice(0, this.#changes.length - maxChanges);
  }

  /**
   * All but the changes.
   *
   * @param maxBytes of JSON for the rows, and for those that are due a quarter of it
   * @param gaps times in which nothing was known
   */
  view(maxBytes: number, gaps: readonly Gap[]): BoardView {
    const newest = [...this.#rows.values()].reverse();
    const rows = [...newest.filter((row) => this.#isBad(row)), ...newest.filter((row) => !this.#isBad(row))];
    return {
      since: this.#since,
      names: [...this.#names],
      counts: [...this.#counts, this.#without],
      kinds: [...this.#kinds],
      total: this.#total,
      due: this.due.view(maxBytes / 4),
      dueTotal: this.due.size,
      gaps: gaps.map(({ from, to }) => [this.#secondsAt(from), to === undefined ? null : this.#secondsAt(to)] as const),
      rows: fit(
        rows.map(({ name, key, strip }): RowView => [name, key, ...strip]),
        maxBytes,
      ),
      changes: [],
    };
  }

  /** The last changes, the newest first. */
  changes(maxBytes: number): ChangeView[] {
    return fit(this.#changes.slice(-maxChanges).reverse(), maxBytes);
  }

  #secondsAt(at: number): number {
    return Math.max(0, Math.round((at - this.#since) / 1_000)) || 0;
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

  #isBad({ strip }: Row): boolean {
    return statusTone(this.#names[strip.at(-1)?.[1] ?? none] ?? '') === 'bad';
  }

  #follow(whole: string, { name, key }: Omit<Row, 'strip'>, at: number, status: number, isFirst: boolean): void {
    const old = this.#rows.get(whole);
    // The start of a watch is not a change of a row that was known before.
    if (isFirst && old?.strip.at(-1)?.[1] === status) return;
    const row = { name, key, strip: [...(old?.strip ?? []), [at, status] as const].slice(-maxStrip) };
    // A first listing may have more rows than are shown. What changes later, or is an error, takes their place.
    if (!old && isFirst && this.#rows.size >= maxRows && !this.#isBad(row)) return;
    this.#rows.delete(whole);
    this.#rows.set(whole, row);
    if (this.#rows.size <= maxRows) return;
    this.#rows.delete(this.#leastOfInterest() ?? whole);
  }

  /** The oldest row that is no error, or the oldest of all. */
  #leastOfInterest(): string | undefined {
    for (const [whole, row] of this.#rows) if (!this.#isBad(row)) return whole;
    return this.#rows.keys().next().value;
  }
}

function nameRow(whole: string, given: string | undefined): Omit<Row, 'strip'> {
  return { name: shorten(given ?? whole, maxKey), key: given === undefined ? '' : shorten(whole, maxKey) };
}
