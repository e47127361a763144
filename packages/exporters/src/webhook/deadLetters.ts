import { ConfigError } from '@sluice/core';
import type { SinkContext, StateLog } from '@sluice/core/kit';
import type { FileStateOptions } from '@sluice/core/node';
import type { DeadLetter } from './deadLetter.js';
import { DeadLetterFile, type FiledPosition } from './deadLetterFile.js';
import { DeadLetterLog, lettersName, type LoggedPosition } from './deadLetterLog.js';

/** Where dead letters are stored: in a file of this path, or in a log of the export's state (`true`). */
export type DeadLetterPlace = string | true;

/** For messages. @example shownPlace(true) // 'the state' */
export function shownPlace(place: DeadLetterPlace | undefined): string {
  return place === true ? 'the state' : (place ?? '');
}

/** How much of the dead letters of an export is committed. Plain JSON, for a checkpoint. */
export type LettersPosition = FiledPosition | LoggedPosition;

/** A letter of the export that opens the letters. */
export interface OwnLetter {
  readonly id: string;
  /** `null` also if it was replayed: then it blocks no later records. */
  readonly key: string | null;
  /** The endpoint never refused it. */
  readonly isParked: boolean;
}

/** The dead letters of an export. */
export interface DeadLetters {
  /** Those of earlier runs of this export. */
  readonly own: readonly OwnLetter[];
  /** After the last durable letter; a commit needs it even before the first letter. */
  readonly position: LettersPosition;
  /** Durable when it resolves. Letters are in the order of calls. After an error, each later call rejects, too. */
  append(letter: DeadLetter): Promise<void>;
  /** Waits for pending writes. */
  close(): Promise<void>;
}

/** What an export knows of its letters when it opens them. */
export interface CommittedLetters<Position> {
  /** The position committed by an earlier run of the same export. Absent: the export has written no letters there. */
  readonly position?: Position | undefined;
  /** The ids of the records that this run sends again. */
  readonly resent: Pick<ReadonlySet<string>, 'has'>;
}

/** @throws what `DeadLetterFile.open` and `DeadLetterLog.open` do */
export function openDeadLetters(
  place: DeadLetterPlace,
  { log, signal }: Pick<SinkContext<never>, 'log' | 'signal'>,
  { position, resent }: CommittedLetters<LettersPosition>,
  lock: FileStateOptions,
): Promise<DeadLetters> {
  const filed = position && 'run' in position ? position : undefined;
  const logged = position && 'from' in position ? position : undefined;
  return place === true
    ? DeadLetterLog.open(requireLog(log), { position: logged, resent })
    : DeadLetterFile.open(place, { signal, ...lock, position: filed, resent });
}

/** @throws ConfigError if the export has no state. */
export function requireLog(log: SinkContext<never>['log']): StateLog {
  if (log) return log(lettersName);
  throw new ConfigError(
    (option = 'deadLetter') =>
      `${option} is the state of the export, and it has none: give it a state, or name a file.`,
    { option: 'deadLetter' },
  );
}
