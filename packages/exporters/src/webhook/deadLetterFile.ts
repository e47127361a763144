import { resolve } from 'node:path';
import { CheckpointError, ConfigError, SinkError, type Release } from '@sluice/core';
import {
  explained,
  fileState,
  nodeFileSystem,
  type FilePosition,
  type FileStateOptions,
  type FileSystem,
} from '@sluice/core/node';
import { encodeDeadLetter, type DeadLetter } from './deadLetter.js';
import { deadLetterFolder, DeadLetterJournal } from './deadLetterJournal.js';
import { deadLettersIn, type LetterLine } from './deadLettersIn.js';
import { LineFile } from './lineFile.js';

/** Up to where a file of dead letters is valid, and whose letters these are. Plain JSON, for a checkpoint. */
export type LettersPlace = FilePosition & {
  /** Tells the letters of one export from those of others in the same file. */
  readonly run: string;
};

/** A letter of the export that opens the file. */
export interface OwnLetter {
  readonly id: string;
  /** `null` also when it was replayed since: it holds nobody back any more. */
  readonly key: string | null;
}

export interface DeadLetterFileOptions extends FileStateOptions {
  /** Goes on from a place that an earlier run of the same export committed. Absent: an export that has written no letters. */
  readonly place?: LettersPlace;
  /** Ends the wait for others in this process that use the file. */
  readonly signal: AbortSignal;
}

/**
 * The file in which an export keeps what its endpoint did not take: a letter a line, as JSON. Only its owner can read it, and it is made
 * with the first letter.
 *
 * Several exports may use one file, one after another. Each takes back what it wrote behind its own committed place, since it will send
 * those records again, and nothing else. A replay removes the file when all is replayed, so a file that has none of an export's letters
 * any more is no fault.
 */
export class DeadLetterFile {
  /** The letters that earlier runs of this export wrote. */
  readonly own: readonly OwnLetter[];
  readonly #lines: LineFile;
  readonly #run: string;
  readonly #release: Release;

  private constructor(lines: LineFile, { run, own }: Pick<Survey, 'run' | 'own'>, release: Release) {
    this.#lines = lines;
    this.#run = run;
    this.own = own;
    this.#release = release;
  }

  /**
   * Locks a file against replays and other exports, and opens it.
   *
   * @throws CheckpointError if it is shorter than its place says, was edited before it, or holds what is no letter; LockError if another
   * process uses it; SinkError if it can't be written. It was not touched then.
   */
  static async open(path: string, { place, signal, ...options }: DeadLetterFileOptions): Promise<DeadLetterFile> {
    const { fileSystem = nodeFileSystem, newId = () => crypto.randomUUID() } = options;
    await checkDeadLetterFile(path, fileSystem);
    const target = resolve(path);
    const release = await fileState(deadLetterFolder(target), options).lock(signal);
    try {
      const survey = await surveyed(fileSystem, target, { place, newId });
      const lines = await LineFile.open(fileSystem, target, survey.end, survey.isEnded);
      return new DeadLetterFile(lines, survey, release);
    } catch (error) {
      await release();
      throw error;
    }
  }

  /** Behind the last letter that is durable: to be committed, also before there is one. */
  get place(): LettersPlace {
    return { ...this.#lines.place, run: this.#run };
  }

  /** Durable when it resolves; letters come in the order of calls. @throws SinkError, and then at every further call. */
  append(letter: DeadLetter): Promise<void> {
    return this.#lines.append(encodeDeadLetter(letter, this.#run));
  }

  /** Waits for what is being written, then gives back the lock. */
  async close(): Promise<void> {
    try {
      await this.#lines.close();
    } finally {
      await this.#release();
    }
  }
}

/** Refuses what has the name and is not a file. @throws SinkError */
export async function checkKind(target: string, fileSystem: FileSystem): Promise<void> {
  const kind = await explained(fileSystem.kind(target), target, 'looked at');
  if (kind === 'folder')
    throw new SinkError(`${target} is a folder, not a file of dead letters. Give the name of a file.`);
  if (kind === 'special')
    throw new SinkError(
      `${target} is not a regular file, but a pipe, a device, or a link that leads nowhere. Give the name of a file.`,
    );
}

/**
 * Refuses what can be no file of dead letters, and touches nothing. That nothing is there is no fault.
 *
 * @throws ConfigError if the path names no file, SinkError if something else has the name.
 */
export async function checkDeadLetterFile(path: string, fileSystem: FileSystem = nodeFileSystem): Promise<void> {
  if (path === '' || /[/\\]$/.test(path))
    throw new ConfigError(`The path of the dead letters must be the name of a file, and is '${path}'.`);
  const target = resolve(path);
  await checkKind(target, fileSystem);
  if (!(await explained(fileSystem.isOurs(target), target, 'looked at')))
    throw new SinkError(
      `${target} belongs to another user of this machine, who could read and change the letters. Give another path.`,
    );
}

interface Survey {
  readonly run: string;
  readonly own: readonly OwnLetter[];
  /** Behind what is kept, and whether that ends as a line does. */
  readonly end: FilePosition;
  readonly isEnded: boolean;
}

interface Search {
  readonly place: LettersPlace | undefined;
  readonly newId: () => string;
}

async function surveyed(fileSystem: FileSystem, path: string, search: Search): Promise<Survey> {
  const journal = await DeadLetterJournal.open(fileSystem, deadLetterFolder(path));
  try {
    const survey = await findEnd(fileSystem, path, journal, search);
    // What a replay that was killed at its very end has left, once its letters were gone.
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
  { place, newId }: Search,
): Promise<Survey> {
  const own: OwnLetter[] = [];
  let [end, isEnded]: [FilePosition, boolean] = [{ bytes: 0, crc32: 0 }, true];
  let isFound = place?.bytes === 0;
  for await (const line of lettersIfThere(fileSystem, path)) {
    const isOwn = line.run === place?.run;
    // Behind the place the export's own letters are taken back, unless those of another one follow: these can't be moved.
    if (isOwn && isFound) continue;
    ({ place: end, isEnded } = line);
    isFound ||= place?.bytes === end.bytes && place.crc32 === end.crc32;
    const { id, key } = line.letter;
    if (isOwn) own.push({ id, key: journal.has(line.digest) ? null : key });
  }
  if (place && isFound) return { run: place.run, own, end, isEnded };
  if (own.length === 0) return { run: newId(), own, end, isEnded };
  throw new CheckpointError(
    `${path} is shorter than a checkpoint says, or was changed since, and letters of that export are in it. Move it away to go on without them: nothing was changed.`,
    { path },
  );
}

async function* lettersIfThere(fileSystem: FileSystem, path: string): AsyncGenerator<LetterLine, void, undefined> {
  if ((await explained(fileSystem.kind(path), path, 'looked at')) !== 'absent') yield* deadLettersIn(fileSystem, path);
}
