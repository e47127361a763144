/** How a source finds the rows that are new or changed since an earlier walk. */
export interface Increment {
  /** Negative if value `a` is before `b`, 0 if they are equal. */
  compare(a: string, b: string): number;
  /** Converts a given value to the form in rows, e.g. a date to seconds since 1970; `undefined` if it is invalid. */
  read(value: string): string | undefined;
  /** Describes a valid value, for errors. */
  readonly wanted: string;
  /** The value at which the walk after a complete one starts. `began`: when the complete one began, wall time in ms. */
  mark(latest: string, began: number): string;
  /** Corrects a mark of windows that took all local times for UTC. Default: marks need no correction. */
  mend?(mark: string): string;
  /**
   * Whether a mark is never later than the beginning of its walk, as for times. Only then can several partitions share
   * a mark: otherwise the mark of one partition would hide later rows of another. Default `false`.
   */
  readonly isBounded?: boolean;
  /** Whether requests contain the value at which a walk starts. If not, the walk drops earlier rows. Default `true`. */
  readonly isSent?: boolean;
  /** Whether walks obey `Since.before`. If not, a walk that has it is refused. Default `false`. */
  readonly canEnd?: boolean;
}

/** A part of a listing, by the values of its rows. */
export interface SinceWindow {
  /** The window has rows from this value on. */
  readonly from: string;
  /** The window has rows before this value. */
  readonly to: string;
  /** The last window: it also has rows beyond `to`, if the API lists them. */
  readonly isOpen?: true | undefined;
}

/** A window of a walk. The windows of one parent share a mark. */
export interface WalkedWindow extends SinceWindow {
  /** The partition of the parent's last window, which is walked after all others have ended. */
  readonly last: number;
  /** The beginning of the walk, as a value. The windows cover all rows before it, whether or not there are any. */
  readonly until: string;
}

/** Walks only rows from a value on, or before one. */
export interface Since {
  /** The value at which the walk starts. Default: all rows. */
  readonly from?: string | undefined;
  /** Rows with this value or a later one are left out, whatever the windows. Default: none are. */
  readonly before?: string | undefined;
  /** The end of a window. Default: none. */
  readonly to?: string | undefined;
  readonly isOpen?: true | undefined;
  /** Whether an earlier walk has emitted the row with this hash. */
  readonly isKnown?: (row: string) => boolean;
  /** The value at which that walk left off, if it emitted a row with exactly this value. */
  readonly knownAt?: string | undefined;
  /**
   * For a source that discovers its partitions: returns the `Since` of one partition, by the parent's keys and the
   * partition's values. A walk calls it once for each partition that it begins or continues. Default: the same for all.
   */
  readonly ofParent?: (parent: readonly string[], partition: number, window?: WalkedWindow) => Since;
  /** The value at which the windows of a parent begin. Default: `from`. */
  readonly beginOf?: (parent: readonly string[]) => string | undefined;
}

/** The values of a page's rows, for the increment of the next walk. */
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

/** Whether a page that returns no rows listed known ones, which may fill many pages. */
export function isProgress({ increment }: SaysIncrement): boolean {
  return increment?.latest !== undefined;
}

/** The row values of a page that checkpoints may store (a mark is one), as one text: no secret has a line break. */
export function storedText({ increment }: SaysIncrement): string | undefined {
  if (!increment) return undefined;
  const { latest = '', rows } = increment;
  return [latest, ...rows.map(([, value]) => value)].join('\n');
}
