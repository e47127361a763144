import { SinkError, SluiceError, type StateStore } from '@sluice/core';
import type { Release, StateLog } from '@sluice/core/kit';
import {
  clearLetters,
  lettersFrom,
  lettersName,
  markReplayed,
  surveyLetters,
  type LetterNumbers,
} from './deadLetterLog.js';
import { withRemedy, type LettersToReplay, type PendingLetter } from './lettersToReplay.js';

/** Characters of letters that are in memory at once. Each batch reads the log from its start, so it is a large one. */
const maxBatch = 16_000_000;

/** The letters of a state that are sent again, under its lock. */
export class StateLetters implements LettersToReplay {
  readonly #log: StateLog;
  readonly #release: Release;
  readonly #numbers: LetterNumbers;
  readonly count: number;
  /** The latest mark: they are made one after another. */
  #marked: Promise<void> = Promise.resolve();

  private constructor(log: StateLog, release: Release, numbers: LetterNumbers, count: number) {
    this.#log = log;
    this.#release = release;
    this.#numbers = numbers;
    this.count = count;
  }

  /** @throws LockError that says what else a user can do: a watch is never done. */
  static async open(state: StateStore, signal: AbortSignal): Promise<StateLetters> {
    const release = await state.lock(signal).catch((error: unknown) => {
      throw SluiceError.is(error, 'lock') ? withRemedy(error) : error;
    });
    const log = state.log(lettersName);
    try {
      let letters = 0;
      const numbers = await surveyLetters(log, () => (letters += 1));
      if (letters === 0)
        throw new SinkError('The state has no dead letters: none was written to it, or all have been replayed.');
      return new StateLetters(log, release, numbers, letters - numbers.replayed.size - numbers.dropped.size);
    } catch (error) {
      await log.close();
      await release();
      throw error;
    }
  }

  async *pending(): AsyncGenerator<readonly PendingLetter[], void, undefined> {
    const { replayed, dropped, next } = this.#numbers;
    // The log is not read while letters are marked in it.
    for (let from = 0; from < next;) {
      const batch: PendingLetter[] = [];
      let size = 0;
      let end = next;
      for await (const { nth, letter } of lettersFrom(this.#log, from)) {
        if (size >= maxBatch) {
          end = nth;
          break;
        }
        if (replayed.has(nth) || dropped.has(nth)) continue;
        size += JSON.stringify(letter).length;
        batch.push({
          key: letter.key,
          isAccepted: () => false,
          read: () => Promise.resolve(letter),
          accept: () => this.#accept(nth),
        });
      }
      yield batch;
      from = end;
    }
  }

  #accept(nth: number): Promise<void> {
    return (this.#marked = this.#marked.then(() => markReplayed(this.#log, nth)));
  }

  async clear(): Promise<number> {
    let letters = 0;
    const numbers = await surveyLetters(this.#log, () => (letters += 1));
    const left = letters - numbers.replayed.size - numbers.dropped.size;
    if (left === 0) await clearLetters(this.#log, numbers);
    return left;
  }

  async close(): Promise<void> {
    await this.#marked.catch(() => undefined);
    await this.#log.close();
    await this.#release();
  }
}
