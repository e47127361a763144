import type { LettersPlace } from './deadLetterFile.js';
import type { Outgoing } from './outgoing.js';

/** A page's records, as they are in the spool. */
export interface SpooledPage {
  /** When they came, ISO 8601. */
  readonly at: string;
  /** The number of the first one; the others follow without gaps. */
  readonly first: number;
  readonly records: readonly Outgoing[];
}

/** How far a target has come: what a commit, and each page in the spool, says. Plain JSON. */
export interface WebhookPlace {
  /** All records before this number are settled: taken, or among the dead letters. */
  readonly next: number;
  /** Dead letters that this export wrote. */
  readonly dead: number;
  /** Up to where the file of the dead letters is valid; `null` as long as nothing was written to it. */
  readonly letters: LettersPlace | null;
}
