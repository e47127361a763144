import type { Phrase } from '../terminal/phrases.js';

/** How the rows of a watched listing are shown to people. */
export interface RowLook<T> {
  /** What a row is called: one, and many. */
  readonly noun: readonly [one: string, many: string];
  /** What people know a row by. */
  readonly name: (row: T) => string;
  /** What else there is to say of a row that came or went. */
  readonly about: (row: T) => readonly Phrase[];
  /** What became of a row, where its kind has words of its own for that; the fields that these words don't cover come behind. */
  readonly became: (
    before: T,
    after: T,
  ) => { readonly phrases: readonly Phrase[]; readonly covered: readonly string[] };
  /** Many rows in a few words. */
  readonly inShort: (rows: readonly T[]) => string;
}
