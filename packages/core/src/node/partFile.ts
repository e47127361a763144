import { dirname } from 'node:path';
import { SinkError } from '../errors.js';
import { AppendFile, explained, type FilePlace } from './appendFile.js';
import { diskFault } from './diskFault.js';
import { platformCode, type FileSystem } from './fileSystem.js';

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
  #file: AppendFile | undefined;
  #size = 0;
  /** A checkpoint may know a place in it; without one nobody can go on with it. */
  #isCommitted = false;
  /** All rows are in it: it is worth keeping, whatever comes. */
  #isComplete = false;
  #isInPlace = false;

  /** The rows go to the final name from the beginning, since they never end. */
  readonly #isInPlaceFromStart: boolean;

  constructor(
    fileSystem: FileSystem,
    path: string,
    { ifExists, isEndless }: { readonly ifExists: 'fail' | 'overwrite'; readonly isEndless: boolean },
  ) {
    this.#fs = fileSystem;
    this.path = path;
    this.#part = isEndless ? path : `${path}.part`;
    this.#ifExists = ifExists;
    this.#isInPlaceFromStart = isEndless;
  }

  get size(): number {
    return this.#file?.bytes ?? this.#size;
  }

  /** Where the next byte goes. */
  get place(): FilePlace {
    return this.#opened.place;
  }

  /** Refuses what `create` would refuse, and touches nothing. */
  async check(restart: boolean): Promise<void> {
    await this.#checkTarget();
    if (this.#isInPlaceFromStart) return;
    const kind = await explained(this.#fs.kind(this.#part), this.#part, 'looked at');
    if (!(await explained(this.#fs.isOurs(this.#part), this.#part, 'looked at'))) {
      throw new SinkError(
        `${this.#part} belongs to another user of this machine, and its name is needed while the rows come. Give another path.`,
      );
    }
    if (kind === 'absent' || (kind === 'file' && restart)) return;
    throw new SinkError(
      kind === 'file'
        ? `${this.#part} is there already: another export is at work on it, or one was interrupted. If none is, start over with restart.`
        : `${this.#part} is no regular file, and its name is needed while the rows come. Give another path.`,
    );
  }

  async create(restart: boolean): Promise<void> {
    // An endless file that was begun and not committed has the final name already, and is ours.
    if (!this.#isInPlaceFromStart || !restart) await this.check(restart);
    const isReplaced = restart || (this.#isInPlaceFromStart && this.#ifExists === 'overwrite');
    if (isReplaced && (await explained(this.#fs.kind(this.#part), this.#part, 'looked at')) === 'file') {
      await explained(this.#fs.unlink(this.#part), this.#part, 'replaced');
    }
    this.#file = await AppendFile.create(this.#fs, this.#part);
    try {
      await this.#syncFolder('created');
    } catch (error) {
      await this.abandon(false).catch(() => undefined);
      throw error;
    }
  }

  /** Goes on behind a place that `flush` answered. Nothing is touched before `cut`. */
  async goOn(place: FilePlace): Promise<void> {
    this.#file = await AppendFile.reopen(this.#fs, this.#part, place);
    this.#isCommitted = true;
    if (!this.#isInPlaceFromStart) await this.#checkTarget();
  }

  /** Takes off what was written behind the place. */
  async cut(): Promise<void> {
    await this.#file?.cut();
  }

  /** Everything is written up to a place; how far the last run came with putting it in place shows only on the disk. */
  async goOnSealed(place: FilePlace): Promise<void> {
    if (!(await AppendFile.isAt(this.#fs, this.path, place))) {
      await this.goOn(place);
      await this.cut();
      return;
    }
    if (await AppendFile.isAt(this.#fs, this.#part, place)) {
      // Whoever linked it may have been killed before the new name was durable.
      await this.#syncFolder('put in place');
      await explained(this.#fs.unlink(this.#part), this.#part, 'put in place');
    }
    this.#isInPlace = true;
    this.#isCommitted = true;
    this.#size = place.bytes;
  }

  async append(content: string | Uint8Array): Promise<void> {
    await this.#opened.append(content);
  }

  async flush(): Promise<FilePlace> {
    const place = await this.#opened.flush();
    // Rows in a file that nobody can find any more are lost: no checkpoint may speak of them.
    await this.#checkName();
    this.#isCommitted = true;
    return place;
  }

  /** Gives the file its final name; answers its size. */
  async publish(): Promise<number> {
    this.#isComplete = true;
    await this.#checkName();
    await this.#close();
    if (!this.#isInPlace) await (this.#ifExists === 'overwrite' ? this.#replace() : this.#takeName());
    await this.#syncFolder('put in place');
    return this.#size;
  }

  /**
   * Closes it, and clears it away unless somebody can still use it. Answers whether it was kept.
   *
   * @throws SinkError if it should be cleared away and can't be.
   */
  async abandon(isResumable: boolean): Promise<boolean> {
    const isUsable = this.#isComplete || (isResumable && this.#isCommitted);
    try {
      const named = await this.#file?.whatHasItsName(this.#fs);
      if (!isUsable && named === 'this') {
        await explained(this.#fs.unlink(this.#part), this.#part, 'cleared away');
        // Durable before the checkpoint goes, or a power cut could bring it back with nothing to say whose it is.
        await this.#syncFolder('cleared away');
      }
    } finally {
      await this.#close().catch(() => undefined);
    }
    return isUsable;
  }

  /** Another run may have been told to start over meanwhile: what has the name then is its file, half-written. */
  async #checkName(): Promise<void> {
    const named = this.#file && (await explained(this.#file.whatHasItsName(this.#fs), this.#part, 'looked at'));
    if (named === undefined || named === 'this') return;
    throw new SinkError(
      named === 'nothing'
        ? `${this.#part} was removed while the export ran, and its rows with it. Start over with restart.`
        : `${this.#part} was replaced while the export ran: another one was started over on the same file. Let one of them run alone.`,
    );
  }

  async #checkTarget(): Promise<void> {
    const folder = dirname(this.path);
    const folderKind = await explained(this.#fs.kind(folder), folder, 'looked at');
    if (folderKind === 'absent')
      throw new SinkError(`The folder ${folder} is not there. Create it, or give another path.`);
    if (folderKind !== 'folder') throw new SinkError(`${folder} is no folder. Give another path.`);
    const kind = await explained(this.#fs.kind(this.path), this.path, 'looked at');
    if (kind === 'folder') throw new SinkError(`${this.path} is a folder. Give the name of a file.`);
    if (kind === 'special') {
      throw new SinkError(
        `${this.path} is no regular file (a pipe, a device, or a link that leads nowhere). Give the name of a file.`,
      );
    }
    if (kind === 'file' && this.#ifExists === 'fail') {
      throw new SinkError(
        `${this.path} exists already, and was not touched. Give another name, or replace it with ifExists: 'overwrite' (--if-exists overwrite).`,
      );
    }
  }

  async #replace(): Promise<void> {
    await explained(this.#fs.rename(this.#part, this.path), this.#part, 'put in place');
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
      if ((await explained(this.#fs.kind(this.path), this.path, 'looked at')) !== 'absent') throw this.#nameTaken();
      await this.#replace();
      return;
    }
    // The new name is durable before the old one goes, or a power cut could take both.
    await this.#syncFolder('put in place');
    await explained(this.#fs.unlink(this.#part), this.#part, 'put in place');
  }

  #nameTaken(): SinkError {
    return new SinkError(
      `${this.path} appeared while the export ran, and was not touched. All rows are in ${this.#part}: give that file another name.`,
    );
  }

  #syncFolder(what: string): Promise<void> {
    return explained(this.#fs.syncFolder(dirname(this.path)), this.#part, what);
  }

  async #close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    this.#size = file?.bytes ?? this.#size;
    await file?.close();
  }

  get #opened(): AppendFile {
    if (!this.#file) throw new SinkError(`${this.#part} is closed.`);
    return this.#file;
  }
}
