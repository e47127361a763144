import { dirname } from 'node:path';
import { CheckpointError, SinkError, SluiceError } from '../errors.js';
import { AppendFile, explained, isDamage, type FilePosition } from './appendFile.js';
import type { FileSystem } from './fileSystem.js';
import { checkTarget, type TargetFile } from './partFile.js';

interface EndlessFileOptions {
  readonly ifExists: 'fail' | 'overwrite';
  readonly header: string;
  /** Makes a place durable that stands for what is committed already: that of a file that was begun anew. */
  readonly recommit: (sinkPosition: FilePosition) => Promise<void>;
}

/** A rotation in the middle of each of so many attempts is none any more. */
const maxRotations = 10;
const start: FilePosition = { bytes: 0, crc32: 0 };

/**
 * A file whose rows never end, e.g. the changes of a watch. It has its name from the beginning, and grows by what is flushed at once.
 *
 * Log rotation may take it at any time, also while nobody writes to it: by another name (rename), or by copying it and cutting it to nothing
 * (copytruncate). Then it is begun anew under its name. What was flushed stays where it went; all else goes into the new file, for which it
 * is kept in memory until then. The place of the new file is committed before the first of its rows is written, so that a kill finds
 * nothing that does not fit.
 *
 * Changed in any other way, it is refused.
 */
export class EndlessFile implements TargetFile {
  readonly path: string;
  readonly #fs: FileSystem;
  readonly #options: EndlessFileOptions;
  #file: AppendFile | undefined;
  #pending: (string | Uint8Array)[] = [];
  #pendingBytes = 0;
  #size = 0;
  /** How far it went at the last flush. */
  #committed = start;
  /** How it looked after the last flush. */
  #version: string | undefined;
  /** It was rotated while nobody wrote to it. */
  #isRotated = false;
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
    return checkTarget(this.#fs, this.path, this.#options.ifExists);
  }

  async create(restart: boolean): Promise<void> {
    // One that was begun and not committed has its name already, and is ours.
    if (!restart) await this.check();
    const isReplaced = restart || this.#options.ifExists === 'overwrite';
    if (isReplaced && (await explained(this.#fs.kind(this.path), this.path, 'looked at')) === 'file')
      await explained(this.#fs.unlink(this.path), this.path, 'replaced');
    this.#file = await AppendFile.create(this.#fs, this.path);
    try {
      await this.#syncName('created');
    } catch (error) {
      await this.abandon(false).catch(() => undefined);
      throw error;
    }
  }

  async goOn(sinkPosition: FilePosition): Promise<void> {
    this.#committed = sinkPosition;
    this.#isCommitted = true;
    this.#isRotated = await this.#wasRotated(sinkPosition);
    if (!this.#isRotated) this.#file = await this.#unlessEdited(AppendFile.reopen(this.#fs, this.path, sinkPosition));
  }

  /** Whether it was rotated since a place in it was committed. */
  async #wasRotated({ bytes }: FilePosition): Promise<boolean> {
    if (bytes === 0) return (await explained(this.#fs.kind(this.path), this.path, 'looked at')) === 'absent';
    const kind = await explained(this.#fs.kind(this.path), this.path, 'looked at');
    if (kind !== 'file') return kind === 'absent';
    const file = await AppendFile.reopen(this.#fs, this.path, start);
    try {
      return await file.isCut(bytes);
    } finally {
      await file.close();
    }
  }

  /** Nothing was sealed: what never ends is gone on with. */
  goOnSealed(sinkPosition: FilePosition): Promise<void> {
    return this.goOn(sinkPosition);
  }

  async cut(): Promise<void> {
    if (this.#isRotated) return this.#beginAnew();
    await this.#opened.cut();
    this.#version = await this.#opened.version();
  }

  append(content: string | Uint8Array): Promise<void> {
    this.#pending.push(typeof content === 'string' ? content : content.slice());
    this.#pendingBytes += Buffer.byteLength(content);
    return Promise.resolve();
  }

  async flush(): Promise<FilePosition> {
    for (let rotations = 0; rotations <= maxRotations; rotations += 1) {
      if (await this.#isGone()) await this.#beginAnew();
      await this.#unlessEdited(this.#checkUnchanged());
      const sinkPosition = await this.#written();
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

  /** Writes what waits; `undefined` where the file was rotated meanwhile. */
  async #written(): Promise<FilePosition | undefined> {
    const file = this.#opened;
    try {
      for (const content of this.#pending) await file.append(content);
      const sinkPosition = await file.flush();
      if (!(await this.#isGone())) return sinkPosition;
    } catch (error) {
      if (!isDamage(error)) throw error;
      if (!(await this.#isGone())) return this.#unlessEdited(Promise.reject(error));
    }
    // These rows go into the new file, so they are not left in the old one.
    if ((await this.#named()) !== 'this') await file.takeBack(this.#committed);
    return undefined;
  }

  /** Whether it was rotated: nothing has its name, or what was committed is no more than zeros, where it was cut to nothing. */
  async #isGone(): Promise<boolean> {
    const named = await this.#named();
    if (named === 'nothing') return true;
    if (named === 'this') return this.#opened.bytes > 0 && this.#opened.isCut(Math.max(1, this.#committed.bytes));
    const other = await AppendFile.reopen(this.#fs, this.path, start);
    try {
      if ((await other.size()) === 0) return true;
    } finally {
      await other.close();
    }
    throw new SinkError(this.#editedText(), { details: { path: this.path } });
  }

  /** @throws SinkError if somebody has changed what was flushed. It is read again only where its time says that somebody was there. */
  async #checkUnchanged(): Promise<void> {
    if (this.#version === undefined || (await this.#opened.version()) === this.#version) return;
    await this.#opened.verify();
  }

  /** Says what to do where somebody has changed the file in another way than a rotation does. */
  async #unlessEdited<R>(work: Promise<R>): Promise<R> {
    try {
      return await work;
    } catch (error) {
      if (isDamage(error)) throw new SinkError(this.#editedText(), { details: { path: this.path }, cause: error });
      if (SluiceError.is(error, 'checkpoint') && error.details['isEdited'] === true)
        throw new CheckpointError(this.#editedText(), { path: this.path });
      throw error;
    }
  }

  #editedText(): string {
    return `${this.path} was changed by somebody else since the last commit, and not as log rotation does it. Move it away, then run it again: a new file is begun, and no row is lost.`;
  }

  async #beginAnew(): Promise<void> {
    const { header, recommit } = this.#options;
    const old = this.#file;
    this.#file = await this.#freshFile();
    await old?.close();
    this.#version = undefined;
    this.#isRotated = false;
    // What waits began in the midst of a file.
    if (this.#committed.bytes > 0 && this.#pending.length > 0) {
      this.#pending.unshift(header);
      this.#pendingBytes += Buffer.byteLength(header);
    }
    this.#committed = start;
    await recommit(start);
  }

  /** An empty file under its name, durably. */
  async #freshFile(): Promise<AppendFile> {
    if ((await explained(this.#fs.kind(this.path), this.path, 'looked at')) === 'absent') {
      try {
        const made = await AppendFile.create(this.#fs, this.path);
        await this.#syncName('created');
        return made;
      } catch (error) {
        // Whoever rotates files may have made it at this moment.
        if (!SluiceError.is(error) || error.details['platformCode'] !== 'EEXIST') throw error;
      }
    }
    const file = await AppendFile.reopen(this.#fs, this.path, start);
    try {
      await file.cut();
      await file.flush();
      await this.#syncName('created');
      return file;
    } catch (error) {
      await file.close().catch(() => undefined);
      throw error;
    }
  }

  /** Never: it is suspended. */
  publish(): Promise<number> {
    return Promise.resolve(this.size);
  }

  /** One that people follow stays where it is. */
  setAside(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async abandon(isResumable: boolean): Promise<boolean> {
    const isUsable = isResumable && this.#isCommitted;
    const file = this.#file;
    this.#file = undefined;
    this.#size = file?.bytes ?? this.#size;
    try {
      if (!isUsable && (await file?.whatHasItsName(this.#fs)) === 'this') {
        await explained(this.#fs.unlink(this.path), this.path, 'cleared away');
        await this.#syncName('cleared away');
      }
    } finally {
      await file?.close().catch(() => undefined);
    }
    return isUsable;
  }

  #named(): Promise<'this' | 'another' | 'nothing'> {
    return explained(this.#opened.whatHasItsName(this.#fs), this.path, 'looked at');
  }

  #syncName(what: string): Promise<void> {
    return explained(this.#fs.syncFolder(dirname(this.path)), this.path, what);
  }

  get #opened(): AppendFile {
    if (!this.#file) throw new SinkError(`${this.path} is closed.`);
    return this.#file;
  }
}
