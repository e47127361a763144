import { resolve } from 'node:path';
import { CheckpointError, ConfigError, SinkError } from '@sluice/core';
import type { Release } from '@sluice/core/kit';
import {
  withPath,
  fileState,
  nodeFileSystem,
  type FilePosition,
  type FileStateOptions,
  type FileSystem,
} from '@sluice/core/node';
import { encodeDeadLetter, type DeadLetter } from './deadLetter.js';
import { deadLetterFolder, DeadLetterJournal } from './deadLetterJournal.js';
import type { CommittedLetters, ExportLetters, OwnLetter } from './exportLetters.js';
import { deadLettersIn } from './letterLines.js';
import { LineFile } from './lineFile.js';

/** How much of a dead letter file is committed, and by which export. */
export type FiledPosition = FilePosition & {
  /** Identifies the letters of one export among others in the same file. */
  readonly run: string;
};

export interface DeadLetterFileOptions extends FileStateOptions, CommittedLetters<FiledPosition> {
  /** Cancels the wait for other users of the file in this process. */
  readonly signal: AbortSignal;
}

/**
 * The file for the records that an endpoint refused: one JSON letter per line. Only its owner can read it. It is
 * created with the first letter.
 *
 * Several exports may use one file, one after another. On resume, an export truncates only its own letters after its
 * committed position, and of these only those whose records it sends again: after an older state was restored, there are
 * others. A replay may have removed the file, so a file without any of the export's letters is not an error.
 */
export class DeadLetterFile implements ExportLetters<FiledPosition> {
  readonly own: readonly OwnLetter[];
  readonly #lines: LineFile;
  readonly #run: string;
  readonly #release: Release;

  private constructor(lines: LineFile, run: string, own: readonly OwnLetter[], release: Release) {
    this.#lines = lines;
    this.#run = run;
    this.own = own;
    this.#release = release;
  }

  /**
   * Locks a file against replays and other exports, and opens it.
   *
   * @throws CheckpointError if it is shorter than the position, was changed before it, or has a line that is not a
   * letter; LockError if another process uses it; SinkError if it can't be written. The file is unchanged then.
   */
  static async open(
    path: string,
    { position, resent, signal, ...options }: DeadLetterFileOptions,
  ): Promise<DeadLetterFile> {
    const { fileSystem = nodeFileSystem, newId = () => crypto.randomUUID() } = options;
    await checkDeadLetterFile(path, fileSystem);
    const target = resolve(path);
    const release = await fileState(deadLetterFolder(target), options).lock(signal);
    try {
      const survey = await surveyLetters(fileSystem, target, { position, resent });
      const lines = await LineFile.open(fileSystem, target, survey.end, survey.isEnded);
      return new DeadLetterFile(lines, survey.run ?? newId(), survey.own, release);
    } catch (error) {
      await release();
      throw error;
    }
  }

  get position(): FiledPosition {
    return { ...this.#lines.position, run: this.#run };
  }

  /** @throws SinkError */
  append(letter: DeadLetter): Promise<void> {
    return this.#lines.append(encodeDeadLetter(letter, this.#run));
  }

  /** Waits for pending writes, then releases the lock. */
  async close(): Promise<void> {
    try {
      await this.#lines.close();
    } finally {
      await this.#release();
    }
  }
}

/** @throws SinkError if the path exists and is not a file. */
export async function checkKind(target: string, fileSystem: FileSystem): Promise<void> {
  const kind = await withPath(fileSystem.kind(target), target, 'inspected');
  if (kind === 'folder')
    throw new SinkError(`${target} is a folder, not a file of dead letters. Give the name of a file.`);
  if (kind === 'special')
    throw new SinkError(
      `${target} is not a regular file, but a pipe, a device, or a link that leads nowhere. Give the name of a file.`,
    );
}

/**
 * Checks, without changing anything, that the path can be a dead letter file. It need not exist.
 *
 * @throws ConfigError if the path does not name a file; SinkError if it is not a file, or belongs to another user.
 */
export async function checkDeadLetterFile(path: string, fileSystem: FileSystem = nodeFileSystem): Promise<void> {
  if (path === '' || /[/\\]$/.test(path))
    throw new ConfigError(`The path of the dead letters must be the name of a file, and is '${path}'.`);
  const target = resolve(path);
  await checkKind(target, fileSystem);
  if (!(await withPath(fileSystem.isOurs(target), target, 'inspected')))
    throw new SinkError(
      `${target} belongs to another user of this machine, who could read and change the letters. Give another path.`,
    );
}

interface Survey {
  /** That of the position; absent if the file has none of its letters. */
  readonly run: string | undefined;
  readonly own: readonly OwnLetter[];
  /** The end of what is kept, and whether it has a line end. */
  readonly end: FilePosition;
  readonly isEnded: boolean;
}

type Committed = Pick<DeadLetterFileOptions, 'position' | 'resent'>;

async function surveyLetters(fileSystem: FileSystem, path: string, committed: Committed): Promise<Survey> {
  const journal = await DeadLetterJournal.open(fileSystem, deadLetterFolder(path));
  try {
    const survey = await findEnd(fileSystem, path, journal, committed);
    // A replay was killed after it removed the letters and before it removed the journal.
    if (survey.end.bytes === 0) await journal.remove();
    return survey;
  } finally {
    await journal.close();
  }
}

async function findEnd(
  fileSystem: FileSystem,
  path: string,
  journal: DeadLetterJournal,
  { position, resent }: Committed,
): Promise<Survey> {
  const own: OwnLetter[] = [];
  let end: FilePosition = { bytes: 0, crc32: 0 };
  let isEnded = true;
  let isFound = position?.bytes === 0;
  let cut: number | undefined;
  // A letter that was committed can't be written again, unlike one whose writer was killed.
  const onTorn = (line: number, start: number): void => {
    if (position && !isFound && start < position.bytes) cut = line;
  };
  const isThere = (await withPath(fileSystem.kind(path), path, 'inspected')) !== 'absent';
  for await (const line of isThere ? deadLettersIn(fileSystem, path, onTorn) : []) {
    const isOwn = line.run === position?.run;
    const { id, key, attempts } = line.letter;
    // They are truncated, unless letters follow that stay.
    if (isOwn && isFound && resent.has(id)) continue;
    ({ position: end, isEnded } = line);
    isFound ||= position?.bytes === end.bytes && position.crc32 === end.crc32;
    if (isOwn) own.push({ id, key: journal.has(line.digest) ? null : key, isParked: attempts === 0 });
  }
  const isNew = own.length === 0 && cut === undefined;
  if (isFound || isNew) return { run: isFound ? position?.run : undefined, own, end, isEnded };
  const what = cut === undefined ? '' : ` (line ${cut} is cut off)`;
  throw new CheckpointError(
    `${path} is shorter than a checkpoint says, or was changed since${what}, and letters of that export are in it. Move it away to continue without them: nothing was changed.`,
    { path, ...(cut !== undefined && { line: cut }) },
  );
}
