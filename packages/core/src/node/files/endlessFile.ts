import { dirname } from 'node:path';
import { CheckpointError, SinkError, SluiceError } from '../../errors.js';
import { AppendFile, isDamage, startOfFile, type FilePosition } from './appendFile.js';
import { withPath } from './diskFault.js';
import type { FileSystem } from './fileSystem.js';
import { checkPath, keepMode, readRights, type TargetFile } from './partFile.js';

interface EndlessFileOptions {
  readonly ifExists: 'fail' | 'overwrite';
  readonly header: string;
  /** The header, and the text of the rows that are written first when it resumes. Absent if the source can't tell. */
  readonly uncommitted?: (() => AsyncIterable<string>) | undefined;
  /** Saves the position in a new file for all rows committed so far. */
  readonly recommit: (sinkPosition: FilePosition) => Promise<void>;
}

/** More rotations during one flush are an error. */
const maxRotations = 10;

/**
 * A file whose rows never end, e.g. the changes of a watch. It has its final name from the start, and grows with each
 * flush.
 *
 * Log rotation may rename it, or copy and truncate it (copytruncate), at any time, also between runs. A new file then
 * starts under its name. Flushed rows stay in the old file; rows after the last flush are kept in memory and go into
 * the new file. The new file's position is committed before its first row is written, so that a killed run can be
 * resumed.
 *
 * Any other change is refused. So are lines behind the position to resume from that the source would not write again:
 * a killed run wrote none but those, so the position is older than the file.
 */
export class EndlessFile implements TargetFile {
  readonly path: string;
  readonly #fs: FileSystem;
  readonly #options: EndlessFileOptions;
  #file: AppendFile | undefined;
  #pending: (string | Uint8Array)[] = [];
  #pendingBytes = 0;
  #size = 0;
  /** The position of the last flush. */
  #committed = startOfFile;
  /** The file's version after the last flush. */
  #version: string | undefined;
  #isCommitted = false;

  constructor(fileSystem: FileSystem, path: string, options: EndlessFileOptions) {
    this.#fs = fileSystem;
    this.path = path;
    this.#options = options;
  }

  get size(): number {
    return (this.#file?.bytes ?? this.#size) + this.#pendingBytes;
  }

  get sinkPosition(): FilePosition {
    return this.#opened.sinkPosition;
  }

  check(): Promise<void> {
    return checkPath(this.#fs, this.path, this.#options.ifExists);
  }

  async create(restart: boolean): Promise<void> {
    // On a restart, a file that was begun but not committed already has this name, and is ours.
    if (!restart) await this.check();
    const isReplaced = restart || this.#options.ifExists === 'overwrite';
    const replaced = isReplaced ? await readRights(this.#fs, this.path) : undefined;
    if (isReplaced && (await withPath(this.#fs.kind(this.path), this.path, 'inspected')) === 'file')
      await withPath(this.#fs.unlink(this.path), this.path, 'replaced');
    this.#file = await AppendFile.create(this.#fs, this.path);
    try {
      await keepMode(this.#fs, replaced, this.path);
      await this.#file.syncName();
    } catch (error) {
      await this.abandon(false).catch(() => undefined);
      throw error;
    }
  }

  async resume(sinkPosition: FilePosition): Promise<void> {
    this.#committed = sinkPosition;
    this.#isCommitted = true;
    if (await this.#wasRotatedSince(sinkPosition)) return;
    this.#file = await this.#unlessEdited(AppendFile.reopen(this.#fs, this.path, sinkPosition));
    await this.#checkLinesBehind(this.#file);
  }

  /** @throws CheckpointError if the file is newer than the position. */
  async #checkLinesBehind(file: AppendFile): Promise<void> {
    const { uncommitted } = this.#options;
    if (!uncommitted || (await file.size()) === file.bytes) return;
    const unknown = await countUnknown(file.linesBehind(), linesOf(uncommitted()));
    if (unknown === 0) return;
    throw new CheckpointError(
      `${this.path} is newer than its state, which does not know the last ${unknown} of its lines: an older copy of the state was restored, or somebody else wrote to the file. Restore the state that belongs to the file. Or move the file away, then run it again: a new file goes on from the older state. Nothing was changed.`,
      { path: this.path, unknown },
    );
  }

  /** Whether the file was rotated since a position was committed. */
  async #wasRotatedSince({ bytes }: FilePosition): Promise<boolean> {
    const kind = await withPath(this.#fs.kind(this.path), this.path, 'inspected');
    if (bytes === 0 || kind !== 'file') return kind === 'absent';
    const file = await AppendFile.reopen(this.#fs, this.path, startOfFile);
    try {
      return await file.isCut(bytes);
    } finally {
      await file.close();
    }
  }

  async cut(): Promise<void> {
    // It was rotated between runs.
    if (!this.#file) return this.#startNewFile();
    await this.#file.cut();
    this.#version = await this.#file.version();
  }

  append(content: string | Uint8Array): Promise<void> {
    this.#pending.push(typeof content === 'string' ? content : content.slice());
    this.#pendingBytes += Buffer.byteLength(content);
    return Promise.resolve();
  }

  async flush(): Promise<FilePosition> {
    for (let rotations = 0; rotations <= maxRotations; rotations += 1) {
      if (await this.#wasRotatedMeanwhile()) await this.#startNewFile();
      await this.#unlessEdited(this.#checkUnchanged());
      const sinkPosition = await this.#writePending();
      if (!sinkPosition) continue;
      this.#committed = sinkPosition;
      this.#isCommitted = true;
      this.#pending = [];
      this.#pendingBytes = 0;
      this.#version = await this.#opened.version();
      return sinkPosition;
    }
    throw new SinkError(
      `${this.path} is rotated as fast as it is written to. Rotate it less often, then run it again.`,
      { details: { path: this.path } },
    );
  }

  /** Writes the pending rows. Resolves to `undefined` if the file was rotated meanwhile. */
  async #writePending(): Promise<FilePosition | undefined> {
    const file = this.#opened;
    try {
      for (const content of this.#pending) await file.append(content);
      const sinkPosition = await file.flush();
      if (!(await this.#wasRotatedMeanwhile())) return sinkPosition;
    } catch (error) {
      if (!isDamage(error)) throw error;
      if (!(await this.#wasRotatedMeanwhile())) return this.#unlessEdited(Promise.reject(error));
    }
    // The new file gets these rows, so they are removed from the old one.
    if ((await this.#opened.whatHasItsName()) !== 'this') await file.takeBack(this.#committed);
    return undefined;
  }

  /** Nothing has its name, another, empty file has it, or the committed bytes were truncated and are zeros. */
  async #wasRotatedMeanwhile(): Promise<boolean> {
    const named = await this.#opened.whatHasItsName();
    if (named === 'nothing') return true;
    if (named === 'this') return this.#opened.bytes > 0 && this.#opened.isCut(Math.max(1, this.#committed.bytes));
    const other = await AppendFile.reopen(this.#fs, this.path, startOfFile);
    try {
      if ((await other.size()) === 0) return true;
    } finally {
      await other.close();
    }
    throw new SinkError(this.#editedMessage(), { details: { path: this.path } });
  }

  /** Reads the file again only if its version changed. @throws SinkError if somebody changed what was flushed. */
  async #checkUnchanged(): Promise<void> {
    if (this.#version === undefined || (await this.#opened.version()) === this.#version) return;
    await this.#opened.verify();
  }

  /** Explains a change that is not a rotation. */
  async #unlessEdited<R>(work: Promise<R>): Promise<R> {
    try {
      return await work;
    } catch (error) {
      if (isDamage(error)) throw new SinkError(this.#editedMessage(), { details: { path: this.path }, cause: error });
      // Without the advice to start over: that would give up what a watch knows.
      if (SluiceError.is(error, 'checkpoint')) {
        const isEdited = error.details['isEdited'] === true;
        throw new CheckpointError(isEdited ? this.#editedMessage() : error.summary, { path: this.path });
      }
      throw error;
    }
  }

  #editedMessage(): string {
    return `${this.path} was changed by another program since the last commit, and not by log rotation. Move it away, then run it again: the export starts a new file, and no row is lost.`;
  }

  async #startNewFile(): Promise<void> {
    const { header, recommit } = this.#options;
    const old = this.#file;
    this.#file = await this.#createEmptyFile();
    await old?.close();
    this.#version = undefined;
    // The pending rows began in the middle of a file, without a header.
    if (this.#committed.bytes > 0 && this.#pending.length > 0) {
      this.#pending.unshift(header);
      this.#pendingBytes += Buffer.byteLength(header);
    }
    this.#committed = startOfFile;
    await recommit(startOfFile);
  }

  /** Creates or empties the file, durably. */
  async #createEmptyFile(): Promise<AppendFile> {
    if ((await withPath(this.#fs.kind(this.path), this.path, 'inspected')) === 'absent') {
      try {
        const made = await AppendFile.create(this.#fs, this.path);
        await made.syncName();
        return made;
      } catch (error) {
        // The program that rotates may have created it just now.
        if (!SluiceError.is(error) || error.details['platformCode'] !== 'EEXIST') throw error;
      }
    }
    const file = await AppendFile.reopen(this.#fs, this.path, startOfFile);
    try {
      await file.cut();
      await file.flush();
      await file.syncName();
      return file;
    } catch (error) {
      await file.close().catch(() => undefined);
      throw error;
    }
  }

  async abandon(isResumable: boolean): Promise<boolean> {
    const isUsable = isResumable && this.#isCommitted;
    const file = this.#file;
    this.#file = undefined;
    this.#size = file?.bytes ?? this.#size;
    try {
      if (!isUsable && (await file?.whatHasItsName()) === 'this') {
        await withPath(this.#fs.unlink(this.path), this.path, 'removed');
        await withPath(this.#fs.syncFolder(dirname(this.path)), this.path, 'removed');
      }
    } finally {
      await file?.close().catch(() => undefined);
    }
    return isUsable;
  }

  get #opened(): AppendFile {
    if (!this.#file) throw new SinkError(`${this.path} is closed.`);
    return this.#file;
  }
}

/** How many lines are not among the expected ones, in their order. */
async function countUnknown(
  lines: AsyncIterable<Buffer>,
  expected: AsyncGenerator<Buffer, void, undefined>,
): Promise<number> {
  let unknown = 0;
  try {
    for await (const line of lines) {
      // A power cut leaves zeros where something was not written yet.
      if (line.includes(0)) continue;
      let next = await expected.next();
      while (!next.done && !next.value.equals(line)) next = await expected.next();
      if (next.done) unknown += 1;
    }
  } finally {
    await expected.return();
  }
  return unknown;
}

/** The lines of a text that comes in pieces, without their ends. */
async function* linesOf(texts: AsyncIterable<string>): AsyncGenerator<Buffer, void, undefined> {
  let rest = '';
  for await (const text of texts) {
    const lines = `${rest}${text}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield Buffer.from(line);
  }
}
