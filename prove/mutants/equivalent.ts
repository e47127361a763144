/** A mutant that no test can tell from the source, since it does the same. */
export interface Equivalent {
  /** As it is printed: `http/pauseGate.ts`. */
  readonly file: string;
  /** Its line, without the space around it. */
  readonly line: string;
  /** As it is printed: `> -> >=`. */
  readonly change: string;
  readonly because: string;
}

/** They are found by their text, wherever in the file it stands. One that is found no more is told: it is stale. */
export const equivalents: readonly Equivalent[] = [];
