import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { CheckpointError, SinkError } from '../errors.js';
import type { SinkContext } from '../sink/sink.js';
import type { Json } from '../source/definition.js';
import { checksum } from './checksum.js';
import { diskFault } from './diskFault.js';
import { platformCode, type FileSystem, type WritableFile } from './fileSystem.js';

/** How far a file was written, and a checksum of all up to there: what a checkpoint keeps of it. */
interface FilePlace {
  readonly bytes: number;
  readonly crc32: number;
}

/**
 * `path.part`: created or cut back, appended to, and at the end put in place, so that `path` never holds a partial file.
 *
 * Every step leaves the disk in a state from which the next run can go on, whichever of the names not yet synced are lost.
 */
export class PartFile {
  readonly path: string;
  readonly #part: string;
  readonly #fs: FileSystem;
  readonly #ifExists: 'fail' | 'overwrite';
  #file: WritableFile | undefined;
  #bytes = 0;
  #crc32 = 0;
  /** A checkpoint may know a place in it; without one nobody can go on with it. */
  #isCommitted = false;
  /** All rows are in it: it is worth keeping, whatever comes. */
  #isComplete = false;
  #isInPlace = false;

  constructor(fs: FileSystem, path: string, ifExists: 'fail' | 'overwrite') {
    this.#fs = fs;
    this.path = path;
    this.#part = `${path}.part`;
    this.#ifExists = ifExists;
  }

  get size(): number {
    return this.#bytes;
  }

  async open({ resumeAt, restart }: Pick<SinkContext<unknown>, 'resumeAt' | 'restart'>): Promise<void> {
    try {
      if (!resumeAt) await this.#create(restart);
      else if (resumeAt.isSealed) await this.#goOnSealed(decodePlace(resumeAt.place));
      else await this.#goOn(decodePlace(resumeAt.place));
    } catch (error) {
      if (this.#file) await this.abandon(true);
      throw error;
    }
  }

  async append(bytes: Uint8Array): Promise<void> {
    let rest = bytes;
    while (rest.length > 0) {
      // A disk that is nearly full takes a part of what it is given, without an error.
      const written = await this.#explain(this.#opened.write(rest, this.#bytes), 'written');
      if (written === 0)
        throw new SinkError(
          `${this.#part} can't be written: the disk takes no more bytes. Make room, then run it again.`,
        );
      this.#bytes += written;
      this.#crc32 = crc32(rest.subarray(0, written), this.#crc32);
      rest = rest.subarray(written);
    }
  }

  /** Makes all that was appended durable; answers the place to go on from. */
  async flush(): Promise<Json> {
    await this.#explain(this.#opened.sync(), 'written');
    const size = await this.#explain(this.#opened.size(), 'looked at');
    if (size !== this.#bytes)
      throw new SinkError(
        `${this.#part} has ${size} bytes, but ${this.#bytes} were written: somebody else changes it. Find out who, then start over with restart.`,
      );
    this.#isCommitted = true;
    return { bytes: this.#bytes, crc32: this.#crc32 };
  }

  /** Gives the file its final name; answers its size. */
  async publish(): Promise<number> {
    this.#isComplete = true;
    await this.#close();
    if (!this.#isInPlace) await (this.#ifExists === 'overwrite' ? this.#replace() : this.#takeName());
    await this.#syncFolder('put in place');
    return this.#bytes;
  }

  /** Closes it, and clears it away unless somebody can still use it. */
  async abandon(isResumable: boolean): Promise<void> {
    await this.#close().catch(() => undefined);
    const isUsable = this.#isComplete || (isResumable && this.#isCommitted);
    if (!isUsable) await this.#fs.unlink(this.#part).catch(() => undefined);
  }

  /** Refuses what `open` would refuse to begin, and touches nothing. */
  async check(restart: boolean): Promise<void> {
    await this.#checkTarget();
    const kind = await this.#explain(this.#fs.kind(this.#part), 'looked at');
    if (kind !== 'absent' && !(kind === 'file' && restart))
      throw new SinkError(
        `${this.#part} is there already: another export is at work, or one was interrupted. Start over with restart, or remove the file.`,
      );
  }

  async #create(restart: boolean): Promise<void> {
    await this.check(restart);
    if (restart && (await this.#explain(this.#fs.kind(this.#part), 'looked at')) === 'file')
      await this.#explain(this.#fs.unlink(this.#part), 'replaced');
    this.#file = await this.#explain(this.#fs.open(this.#part, 'new'), 'created');
    await this.#syncFolder('created');
  }

  async #goOn(place: FilePlace): Promise<void> {
    if ((await this.#explain(this.#fs.kind(this.#part), 'looked at')) !== 'file')
      throw new CheckpointError(
        `${this.#part} is not there any more, though a checkpoint says how to go on with it. Start over with restart: nothing was changed.`,
      );
    await this.#checkTarget();
    await this.#reopen(place);
  }

  /** Everything is written; how far the last run came with putting it in place shows only on the disk. */
  async #goOnSealed(place: FilePlace): Promise<void> {
    if (!(await this.#holds(this.path, place))) {
      await this.#goOn(place);
      return;
    }
    if (await this.#holds(this.#part, place)) await this.#explain(this.#fs.unlink(this.#part), 'put in place');
    this.#isInPlace = true;
    this.#standAt(place);
  }

  async #reopen(place: FilePlace): Promise<void> {
    this.#standAt(place);
    this.#file = await this.#explain(this.#fs.open(this.#part, 'existing'), 'opened');
    const size = await this.#explain(this.#file.size(), 'opened');
    if (size < place.bytes)
      throw new CheckpointError(
        `${this.#part} is shorter (${size} bytes) than its checkpoint says (${place.bytes}). Start over with restart: nothing was changed.`,
      );
    if ((await this.#explain(checksum(this.#file, place.bytes), 'read')) !== place.crc32)
      throw new CheckpointError(
        `${this.#part} was changed since its checkpoint was written. Start over with restart: nothing was changed now.`,
      );
    if (size > place.bytes) await this.#explain(this.#file.truncate(place.bytes), 'cut back');
  }

  #standAt(place: FilePlace): void {
    this.#bytes = place.bytes;
    this.#crc32 = place.crc32;
    this.#isCommitted = true;
  }

  /** Whether a file has just what was written up to a place. */
  async #holds(path: string, place: FilePlace): Promise<boolean> {
    if ((await this.#explain(this.#fs.kind(path), 'looked at', path)) !== 'file') return false;
    const file = await this.#explain(this.#fs.open(path, 'existing'), 'opened', path);
    try {
      if ((await this.#explain(file.size(), 'looked at', path)) !== place.bytes) return false;
      return (await this.#explain(checksum(file, place.bytes), 'read', path)) === place.crc32;
    } finally {
      await file.close().catch(() => undefined);
    }
  }

  async #checkTarget(): Promise<void> {
    const folder = dirname(this.path);
    const folderKind = await this.#explain(this.#fs.kind(folder), 'looked at', folder);
    if (folderKind === 'absent')
      throw new SinkError(`The folder ${folder} is not there. Create it, or give another path.`);
    if (folderKind !== 'folder') throw new SinkError(`${folder} is no folder. Give another path.`);
    const kind = await this.#explain(this.#fs.kind(this.path), 'looked at', this.path);
    if (kind === 'folder') throw new SinkError(`${this.path} is a folder. Give the name of a file.`);
    if (kind === 'special')
      throw new SinkError(
        `${this.path} is no regular file (a pipe, a device, or a link that leads nowhere). Give the name of a file.`,
      );
    if (kind === 'file' && this.#ifExists === 'fail')
      throw new SinkError(
        `${this.path} exists already, and was not touched. Give another name, or replace it with ifExists: 'overwrite' (--if-exists overwrite).`,
      );
  }

  async #replace(): Promise<void> {
    await this.#explain(this.#fs.rename(this.#part, this.path), 'put in place');
  }

  /** Takes the final name only where it is free: a link, unlike a rename, replaces nothing. */
  async #takeName(): Promise<void> {
    try {
      await this.#fs.link(this.#part, this.path);
    } catch (error) {
      const code = platformCode(error);
      if (code === 'EEXIST') throw this.#nameTaken();
      // Some file systems know no links; a last look has to do there.
      if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'ENOSYS')
        throw diskFault(error, this.#part, 'put in place');
      if ((await this.#explain(this.#fs.kind(this.path), 'looked at', this.path)) !== 'absent') throw this.#nameTaken();
      await this.#replace();
      return;
    }
    // The new name is durable before the old one goes, or a power cut could take both.
    await this.#syncFolder('put in place');
    await this.#explain(this.#fs.unlink(this.#part), 'put in place');
  }

  #nameTaken(): SinkError {
    return new SinkError(
      `${this.path} appeared while the export ran, and was not touched. All rows are in ${this.#part}: give that file another name.`,
    );
  }

  #syncFolder(what: string): Promise<void> {
    return this.#explain(this.#fs.syncFolder(dirname(this.path)), what);
  }

  async #close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    if (file) await this.#explain(file.close(), 'written');
  }

  get #opened(): WritableFile {
    if (!this.#file) throw new SinkError(`${this.#part} is closed.`);
    return this.#file;
  }

  async #explain<R>(call: Promise<R>, what: string, path = this.#part): Promise<R> {
    try {
      return await call;
    } catch (error) {
      throw diskFault(error, path, what);
    }
  }
}

function decodePlace(place: Json): FilePlace {
  if (typeof place === 'object' && place !== null && 'bytes' in place && 'crc32' in place) {
    const { bytes, crc32: sum } = place;
    if (isCount(bytes) && isCount(sum)) return { bytes, crc32: sum };
  }
  throw new CheckpointError(
    'The checkpoint does not say where in the file to go on. Start over with restart: nothing was changed.',
  );
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
