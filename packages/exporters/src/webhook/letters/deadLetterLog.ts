import { CheckpointError } from '@sluice/core';
import { isCount, isRecord, type StateLog } from '@sluice/core/kit';
import { decodeLetter, type DeadLetter } from './deadLetter.js';
import type { CommittedLetters, ExportLetters, OwnLetter } from './exportLetters.js';

/**
 * How much of the letters of a state is committed: the first letter of this export, and the number after its last one.
 * Letters have numbers from 0, of which none is used twice. Plain JSON.
 */
export type LoggedPosition = Readonly<Record<'from' | 'end', number>>;

/** A letter of a state. */
export interface LoggedLetter {
  readonly nth: number;
  readonly letter: DeadLetter;
}

/** A record of the log: a letter, one that is gone, or, as the first one, the number of the next letter. */
type LetterRecord =
  { readonly letter: DeadLetter } | { readonly gone: number; readonly isReplayed: boolean } | { readonly next: number };

/** What a log says of its letters besides them. */
export interface LetterNumbers {
  /** The endpoint has accepted them. */
  readonly replayed: ReadonlySet<number>;
  /** Their records were sent again, so they are written again if need be. */
  readonly dropped: ReadonlySet<number>;
  /** The number after the last letter. */
  readonly next: number;
}

/** The name of the log in a state. */
export const lettersName = 'letters';

/** Reads which letters there are, and each with its number. @throws CheckpointError if a record is not one of letters. */
export async function surveyLetters(
  log: StateLog,
  onLetter: (nth: number, letter: DeadLetter) => void = () => undefined,
): Promise<LetterNumbers> {
  const replayed = new Set<number>();
  const dropped = new Set<number>();
  let next = 0;
  for await (const record of log.read()) {
    const decoded = decodeRecord(record);
    if ('next' in decoded) ({ next } = decoded);
    else if ('gone' in decoded) (decoded.isReplayed ? replayed : dropped).add(decoded.gone);
    else {
      onLetter(next, decoded.letter);
      next += 1;
    }
  }
  return { replayed, dropped, next };
}

/** The letters from a number on, in order, also those that are gone. */
export async function* lettersFrom(log: StateLog, from: number): AsyncGenerator<LoggedLetter, void, undefined> {
  let nth = 0;
  for await (const record of log.read()) {
    const decoded = decodeRecord(record);
    if ('next' in decoded) nth = decoded.next;
    if (!('letter' in decoded)) continue;
    if (nth >= from) yield { nth, letter: decoded.letter };
    nth += 1;
  }
}

/** Marks a letter as replayed. Durable when it resolves. */
export function markReplayed(log: StateLog, nth: number): Promise<void> {
  return log.append({ gone: nth, isReplayed: true } satisfies LetterRecord);
}

/** Removes all letters, and keeps the number of the next one: a committed position stays behind it. */
export function clearLetters(log: StateLog, { next }: LetterNumbers): Promise<void> {
  return log.replace([{ next } satisfies LetterRecord]);
}

/**
 * The dead letters in the state of an export, which holds its lock. On resume, an export drops its letters behind its
 * committed position whose records it sends again.
 */
export class DeadLetterLog implements ExportLetters<LoggedPosition> {
  readonly own: readonly OwnLetter[];
  readonly #log: StateLog;
  #position: LoggedPosition;
  /** The latest append: they are made one after another. */
  #last: Promise<void> = Promise.resolve();

  private constructor(log: StateLog, own: readonly OwnLetter[], position: LoggedPosition) {
    this.#log = log;
    this.own = own;
    this.#position = position;
  }

  /** @throws CheckpointError if the log can't be read. */
  static async open(log: StateLog, { position, resent }: CommittedLetters<LoggedPosition>): Promise<DeadLetterLog> {
    try {
      const found: (OwnLetter & { readonly nth: number })[] = [];
      const { replayed, dropped, next } = await surveyLetters(log, (nth, { id, key, attempts }) => {
        if (position && nth >= position.from) found.push({ nth, id, key, isParked: attempts === 0 });
      });
      const own: OwnLetter[] = [];
      for (const letter of found) {
        const { nth, id } = letter;
        if (replayed.has(nth) || dropped.has(nth)) continue;
        if (position && nth >= position.end && resent.has(id))
          await log.append({ gone: nth, isReplayed: false } satisfies LetterRecord);
        else own.push(letter);
      }
      return new DeadLetterLog(log, own, { from: position?.from ?? next, end: next });
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  get position(): LoggedPosition {
    return this.#position;
  }

  append(letter: DeadLetter): Promise<void> {
    const appended = this.#last.then(async () => {
      await this.#log.append({ letter } satisfies LetterRecord);
      this.#position = { ...this.#position, end: this.#position.end + 1 };
    });
    this.#last = appended;
    // Each later call fails with its error, too.
    appended.catch(() => undefined);
    return appended;
  }

  async close(): Promise<void> {
    await this.#last.catch(() => undefined);
    await this.#log.close();
  }
}

function decodeRecord(record: unknown): LetterRecord {
  if (isRecord(record)) {
    const { letter, gone, isReplayed, next } = record;
    const decoded = decodeLetter(letter);
    if (decoded) return { letter: decoded };
    if (isCount(gone) && typeof isReplayed === 'boolean') return { gone, isReplayed };
    if (isCount(next)) return { next };
  }
  throw new CheckpointError(
    'The dead letters in the state were written by another version of Sluice, or are damaged: nothing was changed.',
  );
}
