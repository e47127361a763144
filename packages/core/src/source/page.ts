import type { Position } from '../position.js';

/** What one response carried: the unit of flow, of backpressure and of commit. */
export interface Page<T> {
  /** The rows, in the API's order; may be none. */
  readonly items: readonly T[];
  /** Where the walk stands once this page's rows, and all given out before, are dealt with. Plain JSON. */
  readonly position: Position;
  /** Counts the pages of a walk from 0. */
  readonly index: number;
  /** Which part of the plan it belongs to, from 0, and whether that partition ends with it. */
  readonly partition: number;
  readonly endsPartition: boolean;
  /** Rows that the source has in all, where the API says so. Absent behind `pipePages`, which may make more or fewer of them. */
  readonly total?: number;
  /** Rows in the API's listing, where the API says so, whatever `pipePages` makes of them. */
  readonly listed?: number;
  /** Asks an export to commit right after this page. */
  readonly commit?: true;
  /** How the poll went that this page is of, where it is one of a watch. */
  readonly health?: PageHealth;
}

/** How a poll of a watch went. */
export interface PageHealth {
  /** `failed`: the walk did not come to its end, so it says nothing. The watch goes on. */
  readonly outcome: 'polled' | 'failed' | 'replayed';
  /** Rows in the accepted snapshot. */
  readonly rows: number;
  readonly generation: number;
  /** The first snapshot is complete. Said once in the life of a watch. */
  readonly isSynced?: true;
  /** The poll before had failed. */
  readonly isRecovered?: true;
  /** Removals that are held back, since the listing shrank suspiciously. */
  readonly held?: number;
  /** Keys that one walk has listed more than once, with different rows. The last one counts, and may be another one each time. */
  readonly repeated?: number;
  /** Failed polls in a row, and why the last one failed. */
  readonly failures?: number;
  readonly error?: unknown;
}

/** What a page says besides its place. */
type PageFields<T> = Omit<Page<T>, 'position'>;

/**
 * A page whose position is worked out when somebody asks: few are written down.
 *
 * A class, since a getter in an object's literal gives each object a shape of its own; those live as long as old objects do, and each would
 * keep its page's rows.
 */
class LazyPage<T> implements Page<T> {
  readonly items: readonly T[];
  readonly index: number;
  readonly partition: number;
  readonly endsPartition: boolean;
  readonly #position: () => Position;

  constructor({ items, index, partition, endsPartition, ...others }: PageFields<T>, position: () => Position) {
    this.items = items;
    this.index = index;
    this.partition = partition;
    this.endsPartition = endsPartition;
    this.#position = position;
    Object.assign(this, others);
  }

  get position(): Position {
    return this.#position();
  }
}

export function pageOf<T>(fields: PageFields<T>, position: () => Position): Page<T> {
  return new LazyPage(fields, position);
}

/** The same page with other items, as many as may be: its place in the walk is not changed by what is done to its rows. */
export function withItems<T, R>(page: Page<T>, items: readonly R[]): Page<R> {
  const { index, partition, endsPartition, listed, commit, health } = page;
  const others = { ...(listed !== undefined && { listed }), ...(commit && { commit }), ...(health && { health }) };
  return new LazyPage({ items, index, partition, endsPartition, ...others }, () => page.position);
}
