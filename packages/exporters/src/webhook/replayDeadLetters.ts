import { dirname, resolve } from 'node:path';
import { CheckpointError, checkCount, type SluiceError } from '@sluice/core';
import {
  explained,
  fileState,
  nodeFileSystem,
  unlinkIfThere,
  type FileStateOptions,
  type FileSystem,
  type WritableFile,
} from '@sluice/core/node';
import { decodeDeadLetter, type DeadLetter } from './deadLetter.js';
import { checkDeadLetterFile } from './deadLetterFile.js';
import { deadLetterFolder, DeadLetterJournal } from './deadLetterJournal.js';
import { deadLettersIn, digestOf, noLetters, type LetterLine } from './deadLettersIn.js';
import { isRecordFault } from './faultKind.js';
import { KeyedQueue } from './keyedQueue.js';

/** A letter on its way again: the `webhook-id` it had, and the very same text. */
export interface ReplayMessage {
  readonly id: string;
  readonly body: string;
  /** Aborted when the replay ends early. */
  readonly signal: AbortSignal;
}

/** Options of {@link replayDeadLetters}. */
export interface ReplayOptions extends FileStateOptions {
  /** Resolves when the endpoint took it; rejects with a `SluiceError` when it did not. */
  readonly send: (message: ReplayMessage) => Promise<unknown>;
  /** Letters under way at once. Default 1. Those of one key always go one after another. */
  readonly deliveries?: number;
  /** Stops it: the promise rejects with `signal.reason`, and the next replay goes on from there. */
  readonly signal?: AbortSignal;
  /** Called after each letter. */
  readonly onProgress?: (counts: ReplayCounts) => void;
  /** Called with each letter that is refused again. */
  readonly onRefused?: (letter: DeadLetter, error: SluiceError) => void;
}

/** What a replay has done so far, and at its end. */
export interface ReplayCounts {
  /** Letters that the endpoint took, by this replay. */
  readonly replayed: number;
  /** Letters that it refused again. */
  readonly stillDead: number;
  /** Letters to be replayed yet, those among them. At the end, 0 = the file is gone. */
  readonly left: number;
}

/**
 * Sends the letters of a file again, in their order. A letter that is refused once more stays, and holds back those of its key behind it;
 * others go on. When none is left, the file is removed.
 *
 * A letter that was taken is noted durably before the next one of its key is sent, and the file is not written to: a replay that is
 * stopped or killed is gone on with by the same call, and at most what was under way is sent twice.
 *
 * @example await replayDeadLetters('dead.jsonl', { send: ({ id, body, signal }) => post(id, body, signal) });
 *
 * @throws CheckpointError at a line that is no letter, before anything is sent; LockError if another process uses the file; SinkError if
 * it is not there, or the disk refuses; what `send` rejects with, unless it speaks of the one record.
 */
export async function replayDeadLetters(path: string, options: ReplayOptions): Promise<ReplayCounts> {
  const { deliveries = 1, fileSystem = nodeFileSystem, signal = new AbortController().signal } = options;
  checkCount('deliveries', deliveries);
  await checkDeadLetterFile(path, fileSystem);
  signal.throwIfAborted();
  const target = resolve(path);
  const folder = deadLetterFolder(target);
  const kindOf = (name: string): ReturnType<FileSystem['kind']> => explained(fileSystem.kind(name), name, 'looked at');
  // The folder alone is left where a replay was killed at its very end.
  if ((await kindOf(target)) === 'absent' && (await kindOf(folder)) === 'absent') throw noLetters(target);
  const release = await fileState(folder, options).lock(signal);
  try {
    const journal = await DeadLetterJournal.open(fileSystem, folder);
    try {
      if ((await kindOf(target)) !== 'absent')
        return await new Replay(target, { ...options, deliveries, fileSystem, signal }, journal).run();
      await journal.remove();
      return { replayed: 0, stillDead: 0, left: 0 };
    } finally {
      await journal.close();
    }
  } finally {
    await release();
  }
}

type Settings = ReplayOptions & Required<Pick<ReplayOptions, 'deliveries' | 'fileSystem' | 'signal'>>;

const lineFeed = 10;

/** A letter of which only the place is kept in memory. */
interface Pending extends Pick<LetterLine, 'line' | 'start' | 'digest'> {
  readonly key: string | null;
  readonly end: number;
}

/** One replay of a file, by whoever holds its lock. */
class Replay {
  readonly #path: string;
  readonly #settings: Settings;
  readonly #journal: DeadLetterJournal;
  readonly #ending = new AbortController();
  /** Keys with a letter that was refused again. */
  readonly #held = new Set<string>();
  readonly #queue: KeyedQueue;
  #failure: { readonly error: unknown } | undefined;
  #counts: ReplayCounts = { replayed: 0, stillDead: 0, left: 0 };

  constructor(path: string, settings: Settings, journal: DeadLetterJournal) {
    this.#path = path;
    this.#settings = settings;
    this.#journal = journal;
    this.#queue = new KeyedQueue(settings.deliveries, (error) => this.#stop(error));
  }

  async run(): Promise<ReplayCounts> {
    const { fileSystem, signal } = this.#settings;
    const pending: Pending[] = [];
    // All are looked at before the first is sent, so that a file with a damaged line is not begun with.
    for await (const { letter, digest, line, start, place } of deadLettersIn(fileSystem, this.#path))
      if (!this.#journal.has(digest)) pending.push({ key: letter.key, digest, line, start, end: place.bytes });
    this.#count({ left: pending.length });
    const file = await explained(fileSystem.open(this.#path, 'readable'), this.#path, 'opened');
    const onAbort = (): void => this.#stop(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      if (signal.aborted) onAbort();
      for (const each of pending) this.#queue.add(this.#orderOf(each), () => this.#replay(file, each));
      await this.#queue.idle();
    } finally {
      signal.removeEventListener('abort', onAbort);
      await file.close().catch(() => undefined);
    }
    if (this.#failure) throw this.#failure.error;
    await this.#clear();
    return this.#counts;
  }

  /** Letters with a word in common keep their order; one at a time, all of them do. */
  #orderOf({ key }: Pending): ReadonlySet<string> {
    if (this.#settings.deliveries === 1) return new Set(['']);
    return new Set(key === null ? [] : [key]);
  }

  async #replay(file: WritableFile, { key, digest, line, start, end }: Pending): Promise<void> {
    if (key !== null && this.#held.has(key)) return;
    // The same letter may be there twice.
    if (!this.#journal.has(digest)) {
      const letter = await letterAt(file, this.#path, { digest, line, start, end });
      try {
        const { id, record } = letter;
        await this.#settings.send({ id, body: JSON.stringify(record), signal: this.#ending.signal });
      } catch (error) {
        if (!isRecordFault(error)) throw error;
        if (key !== null) this.#held.add(key);
        this.#settings.onRefused?.(letter, error);
        this.#count({ stillDead: 1 });
        return;
      }
      await this.#journal.note(digest);
    }
    this.#count({ replayed: 1, left: -1 });
  }

  #count({ replayed = 0, stillDead = 0, left = 0 }: Partial<ReplayCounts>): void {
    const before = this.#counts;
    this.#counts = {
      replayed: before.replayed + replayed,
      stillDead: before.stillDead + stillDead,
      left: before.left + left,
    };
    if (replayed + stillDead > 0) this.#settings.onProgress?.(this.#counts);
  }

  #stop(error: unknown): void {
    this.#failure ??= { error };
    this.#queue.stop();
    this.#ending.abort(error);
  }

  /** Removes the file if it holds nothing that was not taken, also of what somebody may have added by hand meanwhile. */
  async #clear(): Promise<void> {
    const { fileSystem } = this.#settings;
    let left = 0;
    for await (const { digest } of deadLettersIn(fileSystem, this.#path)) if (!this.#journal.has(digest)) left += 1;
    this.#counts = { ...this.#counts, left };
    if (left > 0) return;
    await explained(unlinkIfThere(fileSystem, this.#path), this.#path, 'removed');
    // Gone for good before the journal goes, or a power cut could bring it back with nothing to say that all was taken.
    await explained(fileSystem.syncFolder(dirname(this.#path)), this.#path, 'removed');
    await this.#journal.remove();
  }
}

/** Reads a letter again. @throws CheckpointError if it is another one by now. */
async function letterAt(
  file: WritableFile,
  path: string,
  { start, end, line, digest }: Omit<Pending, 'key'>,
): Promise<DeadLetter> {
  const bytes = Buffer.alloc(end - start);
  let size = 0;
  while (size < bytes.length) {
    const read = await explained(file.read(bytes.subarray(size), start + size), path, 'read');
    if (read === 0) break;
    size += read;
  }
  const text = bytes.subarray(0, bytes.at(-1) === lineFeed ? -1 : size);
  const letter = digestOf(text) === digest ? decodeDeadLetter(text)?.letter : undefined;
  if (letter) return letter;
  throw new CheckpointError(
    `Line ${line} of ${path} was changed while it was replayed. Run it again: what was taken is noted.`,
    {
      path,
      line,
    },
  );
}
