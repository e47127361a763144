/** How a source finds the rows that are new or changed since an earlier walk. */
export interface Increment {
  /** Negative if value `a` is before `b`, 0 if they are equal. */
  compare(a: string, b: string): number;
  /** A given value as rows have it, e.g. of a date the seconds since 1970; `undefined` if it is none. */
  read(value: string): string | undefined;
  /** What a value must be, for errors. */
  readonly wanted: string;
  /** The value from which the walk after a complete one starts. `began`: wall time in ms. */
  mark(latest: string, began: number): string;
  /** The right value for a mark of windows that took all local times for UTC. Default: it is right. */
  mend?(mark: string): string;
  /**
   * Whether a mark is never later than the beginning of its walk, as for times. Only then several partitions can have
   * one: otherwise that of a partition would hide later rows of another. Default `false`.
   */
  readonly isBounded?: boolean;
  /** Whether requests have the value from which a walk starts. Otherwise rows before it are left out. Default `true`. */
  readonly isSent?: boolean;
}

/** A part of a listing, by the values of its rows. */
export interface SinceWindow {
  /** The value from which rows are wanted. */
  readonly from: string;
  /** The value before which they are. */
  readonly to: string;
  /** Rows beyond `to` are wanted as well, if the API lists them: it is the last window. */
  readonly isOpen?: true | undefined;
}

/** A window of a walk. Those of one parent share a mark. */
export interface WalkedWindow extends SinceWindow {
  /** The partition of the parent's last window, which is walked when all others have ended. */
  readonly last: number;
  /** When the walk was begun, as a value: all rows before it are in its windows, whether there are any. */
  readonly until: string;
}

/** Walks only rows from a value on. */
export interface Since {
  /** Default: all rows. */
  readonly from?: string | undefined;
  /** The end of a window. Default: none. */
  readonly to?: string | undefined;
  readonly isOpen?: true | undefined;
  /** Whether an earlier walk emitted this row already, by its hash. */
  readonly isKnown?: (row: string) => boolean;
  /** The value from which that walk left off, if it emitted a row with the value itself. */
  readonly knownAt?: string | undefined;
  /**
   * For a source that discovers its partitions: the value of one of them, by the parent's keys and the partition's
   * values. Called once in a walk for each partition that it begins or continues. Default: the same for all.
   */
  readonly ofParent?: (parent: readonly string[], partition: number, window?: WalkedWindow) => Since;
  /** Where the windows of a parent begin. Default: at `from`. */
  readonly beginOf?: (parent: readonly string[]) => string | undefined;
}

/** What a page says about its rows' values. */
export interface PageIncrement {
  /** When the API responded, by its own clock (wall time in ms). */
  readonly at: number;
  /** The latest value of a row, emitted or known. */
  readonly latest?: string;
  /** The emitted rows: hash and value of each. */
  readonly rows: readonly (readonly [row: string, value: string])[];
}

interface SaysIncrement {
  readonly increment?: PageIncrement | undefined;
}

/** Whether a page without rows lists some that are known: these may fill many pages. */
export function isProgress({ increment }: SaysIncrement): boolean {
  return increment?.latest !== undefined;
}

/** What checkpoints may have of a page's rows: the mark is one of their values. One text, as no secret has a line break. */
export function storedText({ increment }: SaysIncrement): string | undefined {
  if (!increment) return undefined;
  const { latest = '', rows } = increment;
  return [latest, ...rows.map(([, value]) => value)].join('\n');
}
