import type { SluiceError, StateStore } from '@sluice/core';
import { checkOptions, checkCount } from '@sluice/core/kit';
import type { FileStateOptions } from '@sluice/core/node';
import type { DeadLetter } from './deadLetter.js';
import { FileLetters } from './fileLetters.js';
import type { LettersToReplay, PendingLetter } from './lettersToReplay.js';
import { StateLetters } from './stateLetters.js';
import { endpointNames, prepareEndpoint, type EndpointOptions, type Send } from '../endpoint.js';
import { KeyedQueue } from '../keyedQueue.js';

/** Options of {@link replay}. */
export interface WebhookReplayOptions extends EndpointOptions, ReplayOptions {}

/** How dead letters are sent again. The options of a file are for letters in one. */
export interface ReplayOptions extends FileStateOptions {
  /** Maximum number of concurrent requests. Default 1. Letters with the same key are always sent in order. */
  readonly deliveries?: number | undefined;
  /** Cancels the replay: it rejects with `signal.reason`, and the next replay resumes. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each letter. */
  readonly onProgress?: ((counts: ReplayCounts) => void) | undefined;
  /** Called with each letter that is refused again. */
  readonly onRefused?: ((letter: DeadLetter, error: SluiceError) => void) | undefined;
}

/** The progress or result of a replay. */
export interface ReplayCounts {
  /** Letters that the endpoint accepted in this replay. */
  readonly replayed: number;
  /** Letters that it refused again. */
  readonly stillDead: number;
  /** Letters not accepted yet, refused ones included. 0 at the end: the file was removed. */
  readonly left: number;
}

/**
 * Sends dead letters again, with their ids and text and new signatures, perhaps to another URL.
 *
 * A letter that is refused again stays where it is and blocks later letters with its key. When none is left, the file
 * is removed. After a cancelled or killed replay, the same call resumes. An export or a watch that writes letters there
 * holds them until it ends: one of this process is waited for.
 *
 * @param letters the path of their file, or the state that has them (`deadLetter: true`)
 * @example const { left } = await replay('dead.jsonl', { url, secret });
 *
 * @throws the errors of `webhook` for its options and for its endpoint; CheckpointError at a line that is not a letter,
 * before anything is sent, and at the end if the last line is cut off; LockError if an export or another replay uses the letters; SinkError if there are none.
 */
export async function replay(letters: string | StateStore, options: WebhookReplayOptions): Promise<ReplayCounts> {
  checkOptions('replay()', options, {
    ...endpointNames,
    newId: true,
    breakLock: true,
    trustFileSystem: true,
    onWarning: true,
    fileSystem: true,
    claims: true,
    deliveries: true,
    signal: true,
    onProgress: true,
    onRefused: true,
  });
  const { sender, send } = prepareEndpoint(options).open();
  try {
    return await replayDeadLetters(letters, send, options);
  } finally {
    await sender.close();
  }
}

/**
 * Sends letters again, in order.
 *
 * An accepted letter is durably recorded before the next one with its key is sent; the letters are not changed. After a
 * cancelled or killed replay the same call resumes, and sends at most the running letters twice.
 */
export async function replayDeadLetters(
  letters: string | StateStore,
  send: Send,
  options: ReplayOptions = {},
): Promise<ReplayCounts> {
  const { deliveries = 1, signal = new AbortController().signal } = options;
  checkCount('deliveries', deliveries);
  signal.throwIfAborted();
  const opened =
    typeof letters === 'string'
      ? await FileLetters.open(letters, options, signal)
      : await StateLetters.open(letters, signal);
  try {
    return await new Replay(opened, { ...options, send, deliveries, signal }).run();
  } finally {
    await opened.close();
  }
}

interface Settings extends Pick<ReplayOptions, 'onProgress' | 'onRefused'> {
  readonly send: Send;
  readonly deliveries: number;
  readonly signal: AbortSignal;
}

/** One replay. */
class Replay {
  readonly #letters: LettersToReplay;
  readonly #settings: Settings;
  /** Keys of letters that were refused again. */
  readonly #blockedKeys = new Set<string>();
  readonly #queue: KeyedQueue;
  #counts: ReplayCounts = { replayed: 0, stillDead: 0, left: 0 };

  constructor(letters: LettersToReplay, settings: Settings) {
    this.#letters = letters;
    this.#settings = settings;
    this.#queue = new KeyedQueue(settings.deliveries);
  }

  async run(): Promise<ReplayCounts> {
    const { signal } = this.#settings;
    this.#count({ left: this.#letters.count });
    const onAbort = (): void => this.#queue.stop(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      if (signal.aborted) onAbort();
      for await (const pending of this.#letters.pending()) {
        for (const each of pending) this.#queue.add(this.#queueKeys(each), () => this.#replay(each));
        await this.#queue.idle();
        this.#queue.signal.throwIfAborted();
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
    this.#counts = { ...this.#counts, left: await this.#letters.clear() };
    return this.#counts;
  }

  /** Letters that share a queue key keep their order; with a single delivery at a time all do. */
  #queueKeys({ key }: PendingLetter): ReadonlySet<string> {
    if (this.#settings.deliveries === 1) return new Set(['']);
    return new Set(key === null ? [] : [key]);
  }

  async #replay(each: PendingLetter): Promise<void> {
    const { key } = each;
    if (key !== null && this.#blockedKeys.has(key)) return;
    // An identical letter may have been sent already.
    if (!each.isAccepted()) {
      const letter = await each.read();
      const { id, record } = letter;
      const { refusal } = await this.#settings.send({ id, body: JSON.stringify(record) }, this.#queue.signal);
      if (refusal) {
        if (key !== null) this.#blockedKeys.add(key);
        this.#settings.onRefused?.(letter, refusal);
        this.#count({ stillDead: 1 });
        return;
      }
      await each.accept();
    }
    this.#count({ replayed: 1, left: -1 });
  }

  #count({ replayed = 0, stillDead = 0, left = 0 }: Partial<ReplayCounts>): void {
    const counts = this.#counts;
    this.#counts = {
      replayed: counts.replayed + replayed,
      stillDead: counts.stillDead + stillDead,
      left: counts.left + left,
    };
    if (replayed + stillDead > 0) this.#settings.onProgress?.(this.#counts);
  }
}
