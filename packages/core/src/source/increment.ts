/** How a source finds the rows that are new or changed since an earlier walk. */
export interface Increment {
  /** Negative if value `a` is before `b`, 0 if they are equal. */
  compare(a: string, b: string): number;
  /** The value as the source sends it; `undefined` if it is none. */
  read(value: string): string | undefined;
  /** What a value must be, for errors. */
  readonly wanted: string;
  /** The value from which the walk after a complete one starts. `began`: wall time in ms. */
  mark(latest: string, began: number): string;
}

/** Walks only rows from a value on. */
export interface Since {
  /** Default: all rows. */
  readonly from?: string;
  /** Whether an earlier walk emitted this row already, by its hash. */
  readonly isKnown?: (row: string) => boolean;
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
