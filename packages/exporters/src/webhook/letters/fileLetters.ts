import { dirname, resolve } from 'node:path';
import { CheckpointError, SluiceError } from '@sluice/core';
import type { Release } from '@sluice/core/kit';
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
import { withRemedy, type LettersToReplay, type PendingLetter } from './lettersToReplay.js';

const lineFeed = 10;

/** A letter that is left in the file: only its position is in memory. */
interface Place extends Pick<LetterLine, 'line' | 'start' | 'digest'> {
  readonly key: string | null;
  readonly end: number;
}

/** The letters of a file that are sent again, under its lock. */
export class FileLetters implements LettersToReplay {
  readonly #fs: FileSystem;
  readonly #path: string;
  readonly #journal: DeadLetterJournal;
  readonly #release: Release;
  /** Absent if a replay that was killed at its end has left the folder without the file. */
  readonly #places: readonly Place[] | undefined;
  #file: WritableFile | undefined;

  private constructor({ fileSystem, path, journal, release }: Opened, places: readonly Place[] | undefined) {
    this.#fs = fileSystem;
    this.#path = path;
    this.#journal = journal;
    this.#release = release;
    this.#places = places;
  }

  /** @throws LockError that says what else a user can do; CheckpointError at a line that is not a letter. */
  static async open(path: string, options: FileStateOptions, signal: AbortSignal): Promise<FileLetters> {
    const { newId, breakLock, trustFileSystem, onWarning, claims, clock, fileSystem = nodeFileSystem } = options;
    await checkDeadLetterFile(path, fileSystem);
    const target = resolve(path);
    const folder = deadLetterFolder(target);
    const kindOf = (name: string): ReturnType<FileSystem['kind']> => withPath(fileSystem.kind(name), name, 'inspected');
    if ((await kindOf(target)) === 'absent' && (await kindOf(folder)) === 'absent') throw noLetters(target);
    const lock = { newId, breakLock, trustFileSystem, onWarning, fileSystem, claims, clock };
    const release = await fileState(folder, lock)
      .lock(signal)
      .catch((error: unknown) => {
        throw SluiceError.is(error, 'lock') ? withRemedy(error) : error;
      });
    let journal: DeadLetterJournal | undefined;
    try {
      journal = await DeadLetterJournal.open(fileSystem, folder);
      const opened = { fileSystem, path: target, journal, release };
      if ((await kindOf(target)) === 'absent') return new FileLetters(opened, undefined);
      const places: Place[] = [];
      for await (const { letter, digest, line, start, position } of deadLettersIn(fileSystem, target))
        if (!journal.has(digest)) places.push({ key: letter.key, digest, line, start, end: position.bytes });
      return new FileLetters(opened, places);
    } catch (error) {
      await journal?.close();
      await release();
      throw error;
    }
  }

  get count(): number {
    return this.#places?.length ?? 0;
  }

  async *pending(): AsyncGenerator<readonly PendingLetter[], void, undefined> {
    if (!this.#places) return;
    const file = await withPath(this.#fs.open(this.#path, 'readable'), this.#path, 'opened');
    this.#file = file;
    yield this.#places.map((place) => ({
      key: place.key,
      isAccepted: () => this.#journal.has(place.digest),
      read: () => readAgain(file, this.#path, place),
      accept: () => this.#journal.add(place.digest),
    }));
  }

  async clear(): Promise<number> {
    let left = 0;
    if (this.#places) {
      let torn: number | undefined;
      const letters = deadLettersIn(this.#fs, this.#path, (line) => (torn = line));
      for await (const { digest } of letters) if (!this.#journal.has(digest)) left += 1;
      if (torn !== undefined) throw tornLetter(this.#path, torn);
      if (left > 0) return left;
      await withPath(this.#fs.unlink(this.#path), this.#path, 'removed');
      // Durably removed before the journal is, or a power cut could restore it without the record of accepted letters.
      await withPath(this.#fs.syncFolder(dirname(this.#path)), this.#path, 'removed');
    }
    await this.#journal.remove();
    return left;
  }

  async close(): Promise<void> {
    await this.#file?.close().catch(() => undefined);
    try {
      await this.#journal.close();
    } finally {
      await this.#release();
    }
  }
}

interface Opened {
  readonly fileSystem: FileSystem;
  readonly path: string;
  readonly journal: DeadLetterJournal;
  readonly release: Release;
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
  { start, end, line, digest }: Omit<Place, 'key'>,
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
