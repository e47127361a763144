import { dirname, resolve } from 'node:path';
import { CheckpointError, LockError, SluiceError } from '@sluice/core';
import { checkOptions, checkCount, type Release } from '@sluice/core/kit';
import {
  withPath,
  fileState,
  nodeFileSystem,
  readBytes,
  type FileStateOptions,
  type FileSystem,
  type WritableFile,
} from '@sluice/core/node';
import { decodeDeadLetter, type DeadLetter } from './deadLetter.js';
import { checkDeadLetterFile } from './deadLetterFile.js';
import { deadLetterFolder, DeadLetterJournal } from './deadLetterJournal.js';
import { deadLettersIn, hashLine, noLetters, type LetterLine } from './letterLines.js';
import { endpointNames, prepareEndpoint, type EndpointOptions, type Send } from './endpoint.js';
import { KeyedQueue } from './keyedQueue.js';

/** Options of {@link replay}. */
export interface WebhookReplayOptions extends EndpointOptions, ReplayOptions {}

/** How the letters of a file are sent again. */
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
 * Sends the dead letters of a file again, with their ids and text and new signatures, perhaps to another URL.
 *
 * A letter that is refused again stays in the file and blocks later letters with its key. When none is left, the file
 * is removed. After a cancelled or killed replay, the same call resumes. An export or a watch that writes to the file
 * holds it until it ends: one of this process is waited for.
 *
 * @example const { left } = await replay('dead.jsonl', { url, secret });
 *
 * @throws the errors of `webhook` for its options and for its endpoint; CheckpointError at a line that is not a letter,
 * before anything is sent, and at the end if the last line is cut off; LockError if an export or another replay uses the file; SinkError if it is missing.
 */
export async function replay(path: string, options: WebhookReplayOptions): Promise<ReplayCounts> {
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
    return await replayDeadLetters(path, send, options);
  } finally {
    await sender.close();
  }
}

/**
 * Sends the letters of a file again, in order.
 *
 * An accepted letter is durably recorded in the journal before the next one with its key is sent; the file is not
 * changed. After a cancelled or killed replay the same call resumes, and sends at most the running letters twice.
 */
export async function replayDeadLetters(path: string, send: Send, options: ReplayOptions = {}): Promise<ReplayCounts> {
  const { deliveries = 1, signal = new AbortController().signal, fileSystem = nodeFileSystem } = options;
  const { newId, breakLock, trustFileSystem, onWarning, claims, clock } = options;
  checkCount('deliveries', deliveries);
  await checkDeadLetterFile(path, fileSystem);
  signal.throwIfAborted();
  const target = resolve(path);
  const folder = deadLetterFolder(target);
  const kindOf = (name: string): ReturnType<FileSystem['kind']> => withPath(fileSystem.kind(name), name, 'inspected');
  // A replay that is killed at its end can leave the folder without the file.
  if ((await kindOf(target)) === 'absent' && (await kindOf(folder)) === 'absent') throw noLetters(target);
  const lock = { newId, breakLock, trustFileSystem, onWarning, fileSystem, claims, clock };
  const release = await lockLetters(folder, lock, signal);
  try {
    const journal = await DeadLetterJournal.open(fileSystem, folder);
    try {
      if ((await kindOf(target)) !== 'absent')
        return await new Replay(target, { ...options, send, deliveries, fileSystem, signal }, journal).run();
      await journal.remove();
      return { replayed: 0, stillDead: 0, left: 0 };
    } finally {
      await journal.close();
    }
  } finally {
    await release();
  }
}

/** @throws LockError that says what else a user can do: a watch is never done. */
async function lockLetters(folder: string, options: FileStateOptions, signal: AbortSignal): Promise<Release> {
  try {
    return await fileState(folder, options).lock(signal);
  } catch (error) {
    if (!SluiceError.is(error, 'lock')) throw error;
    const { summary, details, advice } = error;
    const what = 'An export or a watch that forwards holds the file of its dead letters until it ends.';
    throw new LockError(`${summary} ${what} Stop it, replay, and start it again: it resumes.`, details, advice);
  }
}

interface Settings extends ReplayOptions {
  readonly send: Send;
  readonly deliveries: number;
  readonly fileSystem: FileSystem;
  readonly signal: AbortSignal;
}

const lineFeed = 10;

/** A letter that is left in the file: only its position is in memory. */
interface Pending extends Pick<LetterLine, 'line' | 'start' | 'digest'> {
  readonly key: string | null;
  readonly end: number;
}

/** One replay of a file, under its lock. */
class Replay {
  readonly #path: string;
  readonly #settings: Settings;
  readonly #journal: DeadLetterJournal;
  /** Keys of letters that were refused again. */
  readonly #blockedKeys = new Set<string>();
  readonly #queue: KeyedQueue;
  #counts: ReplayCounts = { replayed: 0, stillDead: 0, left: 0 };

  constructor(path: string, settings: Settings, journal: DeadLetterJournal) {
    this.#path = path;
    this.#settings = settings;
    this.#journal = journal;
    this.#queue = new KeyedQueue(settings.deliveries);
  }

  async run(): Promise<ReplayCounts> {
    const { fileSystem, signal } = this.#settings;
    const pending: Pending[] = [];
    // All letters are read before the first is sent, so that nothing is sent from a damaged file.
    for await (const { letter, digest, line, start, position } of deadLettersIn(fileSystem, this.#path))
      if (!this.#journal.has(digest)) pending.push({ key: letter.key, digest, line, start, end: position.bytes });
    this.#count({ left: pending.length });
    const file = await withPath(fileSystem.open(this.#path, 'readable'), this.#path, 'opened');
    const onAbort = (): void => this.#queue.stop(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      if (signal.aborted) onAbort();
      for (const each of pending) this.#queue.add(this.#queueKeys(each), () => this.#replay(file, each));
      await this.#queue.idle();
    } finally {
      signal.removeEventListener('abort', onAbort);
      await file.close().catch(() => undefined);
    }
    this.#queue.signal.throwIfAborted();
    await this.#clear();
    return this.#counts;
  }

  /** Letters that share a queue key keep their order; with a single delivery at a time all do. */
  #queueKeys({ key }: Pending): ReadonlySet<string> {
    if (this.#settings.deliveries === 1) return new Set(['']);
    return new Set(key === null ? [] : [key]);
  }

  async #replay(file: WritableFile, { key, digest, line, start, end }: Pending): Promise<void> {
    if (key !== null && this.#blockedKeys.has(key)) return;
    // An identical letter may have been sent already.
    if (!this.#journal.has(digest)) {
      const letter = await readAgain(file, this.#path, { digest, line, start, end });
      const { id, record } = letter;
      const { refusal } = await this.#settings.send({ id, body: JSON.stringify(record) }, this.#queue.signal);
      if (refusal) {
        if (key !== null) this.#blockedKeys.add(key);
        this.#settings.onRefused?.(letter, refusal);
        this.#count({ stillDead: 1 });
        return;
      }
      await this.#journal.add(digest);
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

  /** Removes the file if all letters are accepted, including letters that were added during the replay. */
  async #clear(): Promise<void> {
    const { fileSystem } = this.#settings;
    let left = 0;
    let torn: number | undefined;
    const letters = deadLettersIn(fileSystem, this.#path, (line) => (torn = line));
    for await (const { digest } of letters) if (!this.#journal.has(digest)) left += 1;
    this.#counts = { ...this.#counts, left };
    if (torn !== undefined) throw tornLetter(this.#path, torn);
    if (left > 0) return;
    await withPath(fileSystem.unlink(this.#path), this.#path, 'removed');
    // Durably removed before the journal is, or a power cut could restore it without the record of accepted letters.
    await withPath(fileSystem.syncFolder(dirname(this.#path)), this.#path, 'removed');
    await this.#journal.remove();
  }
}

function tornLetter(path: string, line: number): CheckpointError {
  return new CheckpointError(
    `Line ${line} of ${path} is cut off, so its record could not be sent; the file is kept. If the export to it was interrupted, run that again: it writes the record again. Otherwise repair or remove the line.`,
    { path, line },
  );
}

/** Reads a letter again. @throws CheckpointError if it has changed. */
async function readAgain(
  file: WritableFile,
  path: string,
  { start, end, line, digest }: Omit<Pending, 'key'>,
): Promise<DeadLetter> {
  const bytes = await readBytes(file, path, start, end - start);
  const text = bytes.at(-1) === lineFeed ? bytes.subarray(0, -1) : bytes;
  const letter = hashLine(text) === digest ? decodeDeadLetter(text)?.letter : undefined;
  if (letter) return letter;
  throw new CheckpointError(
    `Line ${line} of ${path} was changed while it was replayed. Run it again: accepted letters are not sent again.`,
    { path, line },
  );
}
