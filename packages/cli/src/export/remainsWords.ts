import type { TargetKind } from '../target/target.js';
import { formatCount, formatNumber } from '../terminal/formatNumber.js';

/** What people are told of that which an export leaves, by what it went to. */
export interface RemainsWords {
  /** So many rows are committed. */
  readonly kept: (rows: number) => string;
  /** All of them are, and only this is left to do. */
  readonly all: (rows: number) => string;
  readonly last: string;
  /** No row is committed. */
  readonly nothing: string;
}

export const fileWords: RemainsWords = {
  kept: (rows) => `${formatNumber(rows)} of the rows ${rows === 1 ? 'is' : 'are'} kept`,
  all: (rows) => `All ${formatCount(rows, 'row')} are written`,
  last: 'putting the file in place',
  nothing: 'Nothing is kept, since no row was committed yet.',
};

/** What an endpoint got beyond the last commit is in the spool, and is not sent again. */
export const endpointWords: RemainsWords = {
  kept: (rows) =>
    rows === 0
      ? 'No row is lost'
      : `At least ${formatCount(rows, 'row')} ${rows === 1 ? 'is' : 'are'} delivered, and none is lost`,
  all: (rows) => `All ${formatCount(rows, 'row')} are delivered`,
  last: 'clearing up',
  nothing: 'Nothing was sent yet.',
};

/** What becomes of rows in a sink of a plugin's is for its plugin to say: they are there. */
const sinkWords: RemainsWords = {
  ...fileWords,
  all: (rows) => `All ${formatCount(rows, 'row')} are there`,
  last: 'closing the target',
};

export const wordsOf: Readonly<Record<TargetKind, RemainsWords>> = {
  file: fileWords,
  stdout: fileWords,
  endpoint: endpointWords,
  sink: sinkWords,
};
