import { LockError, type SluiceError } from '@sluice/core';
import type { DeadLetter } from './deadLetter.js';

/** A letter that is not accepted yet. */
export interface PendingLetter {
  readonly key: string | null;
  /** An identical letter was accepted meanwhile. */
  readonly isAccepted: () => boolean;
  readonly read: () => Promise<DeadLetter>;
  /** Durable when it resolves. */
  readonly accept: () => Promise<void>;
}

/** Letters that are locked. All were read once, so that nothing is sent of damaged ones. */
export interface LettersToReplay {
  /** Those that are not accepted yet. */
  readonly count: number;
  /** Those, in order, as many as fit into memory; the next ones are read when these are done with. */
  pending(): AsyncIterable<readonly PendingLetter[]>;
  /** Removes the letters if all are accepted, including those that were added meanwhile; returns how many are left. */
  clear(): Promise<number>;
  close(): Promise<void>;
}

/** @returns a LockError that says what else a user can do: a watch is never done. */
export function withRemedy({ summary, details, advice }: SluiceError): LockError {
  const what = 'An export or a watch that forwards holds its dead letters until it ends.';
  return new LockError(`${summary} ${what} Stop it, replay, and start it again: it resumes.`, details, advice);
}
