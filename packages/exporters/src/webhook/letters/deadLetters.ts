import { ConfigError } from '@sluice/core';
import type { SinkContext, StateLog } from '@sluice/core/kit';
import type { FileStateOptions } from '@sluice/core/node';
import { DeadLetterFile, type FiledPosition } from './deadLetterFile.js';
import type { CommittedLetters, ExportLetters } from './exportLetters.js';
import { DeadLetterLog, lettersName, type LoggedPosition } from './deadLetterLog.js';

/** Where dead letters are stored: in a file of this path, or in a log of the export's state (`true`). */
export type DeadLetterPlace = string | true;

/** For messages. @example shownPlace(true) // 'the state' */
export function shownPlace(place: DeadLetterPlace | undefined): string {
  return place === true ? 'the state' : (place ?? '');
}

/** How much of the dead letters of an export is committed. Plain JSON, for a checkpoint. */
export type LettersPosition = FiledPosition | LoggedPosition;

/** @throws what `DeadLetterFile.open` and `DeadLetterLog.open` do */
export function openDeadLetters(
  place: DeadLetterPlace,
  { log, signal }: Pick<SinkContext<never>, 'log' | 'signal'>,
  { position, resent }: CommittedLetters<LettersPosition>,
  lock: FileStateOptions,
): Promise<ExportLetters<LettersPosition>> {
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
