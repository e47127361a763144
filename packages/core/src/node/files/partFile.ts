import { dirname } from 'node:path';
import { SinkError } from '../../errors.js';
import { copyInto } from './appendable.js';
import { AppendFile, type FilePosition, renameIfFree, startOfFile } from './appendFile.js';
import { withPath } from './diskFault.js';
import type { FileRights, FileSystem } from './fileSystem.js';
import { settleAll } from './settleAll.js';

/** What to do if the final name is taken. */
export type IfExists = 'fail' | 'overwrite' | 'append';

/** A file for rows. One that never ends has its final name from the start, and lacks what a complete one needs. */
export interface TargetFile {
  readonly path: string;
  readonly size: number;
  /** The end of the file. */
  readonly sinkPosition: FilePosition;
  /** The end of what it had before its first row: a copy of the file that it replaces. */
  readonly copied?: FilePosition;
  /** Refuses what `create` would refuse, without changes. */
  check(restart: boolean): Promise<void>;
  /** Begins a new file. `restart` replaces one that an earlier run left. */
  create(restart: boolean): Promise<void>;
  /** Resumes at a position from `flush`. The file is unchanged until `cut`. */
  resume(sinkPosition: FilePosition, copied?: FilePosition): Promise<void>;
  /** Resumes a complete file. Only the disk shows how far the last run got with publishing it. */
  resumeSealed?(sinkPosition: FilePosition, copied?: FilePosition): Promise<void>;
  /** Removes what follows the position from which it resumes. */
  cut(): Promise<void>;
  /** Adds to the end; durable after the next `flush`. */
  append(content: string | Uint8Array): Promise<void>;
  /** Makes all appended bytes durable; resolves to the position to resume from. */
  flush(): Promise<FilePosition>;
  /** Gives the file its final name; resolves to its size. */
  publish?(): Promise<number>;
  /** Renames a file that somebody else changed; resolves to its new name. */
  setAside?(): Promise<string | undefined>;
  /**
   * Closes the file, and removes it unless it can be resumed. Resolves to whether it was kept.
   *
   * @throws SinkError if it can't be removed.
   */
  abandon(isResumable: boolean): Promise<boolean>;
}

/**
 * `path.part`, which is published as `path` once it is complete.
 *
 * After every step the next run can resume, whichever of the names not yet synced are lost.
 */
export class PartFile implements TargetFile {
  readonly path: string;
  readonly #part: string;
  readonly #fs: FileSystem;
  readonly #ifExists: IfExists;
  #file: AppendFile | undefined;
  #size = 0;
  #copied = startOfFile;
  /** A checkpoint may refer to it; without one it can't be resumed. */
  #isCommitted = false;
  /** It has all rows, so it is kept in any case. */
  #isComplete = false;

  constructor(fileSystem: FileSystem, path: string, ifExists: IfExists) {
    this.#fs = fileSystem;
    this.path = path;
    this.#part = `${path}.part`;
    this.#ifExists = ifExists;
  }

  /** The file to which a link leads: the link stays. */
  static async at(fileSystem: FileSystem, path: string, ifExists: IfExists): Promise<PartFile> {
    return new PartFile(fileSystem, await followLink(fileSystem, path), ifExists);
  }

  get size(): number {
    return this.#file?.bytes ?? this.#size;
  }

  get sinkPosition(): FilePosition {
    return this.#opened.sinkPosition;
  }

  get copied(): FilePosition {
    return this.#copied;
  }

  async check(restart: boolean): Promise<void> {
    await this.#checkPath();
    const kind = await withPath(this.#fs.kind(this.#part), this.#part, 'inspected');
    if (!(await withPath(this.#fs.isOurs(this.#part), this.#part, 'inspected')))
      throw new SinkError(
        `${this.#part} belongs to another user of this machine, and its name is needed during the export. Give another path.`,
      );
    if (kind === 'absent' || (kind === 'file' && restart)) return;
    if (kind !== 'file')
      throw new SinkError(
        `${this.#part} is not a regular file, and its name is needed during the export. Give another path.`,
      );
    throw new SinkError(
      `${this.#part} exists already: another export is writing to it, or one was interrupted. Check that none is running.`,
      { advice: [{ kind: 'restart' }] },
    );
  }

  async create(restart: boolean): Promise<void> {
    await this.check(restart);
    if (restart && (await withPath(this.#fs.kind(this.#part), this.#part, 'inspected')) === 'file')
      await withPath(this.#fs.unlink(this.#part), this.#part, 'replaced');
    this.#file = await AppendFile.create(this.#fs, this.#part);
    // Whoever may not read the old file may not read the new one meanwhile.
    if (this.#ifExists !== 'fail') await keepMode(this.#fs, await readRights(this.#fs, this.path), this.#part);
    if (this.#ifExists === 'append') await copyInto(this.#file, this.#fs, this.path);
    this.#copied = this.#file.sinkPosition;
  }

  async resume(sinkPosition: FilePosition, copied = startOfFile): Promise<void> {
    this.#file = await AppendFile.reopen(this.#fs, this.#part, sinkPosition);
    this.#isCommitted = true;
    this.#copied = copied;
    await this.#checkPath();
    if (this.#ifExists === 'append') await this.#checkCopied();
  }

  async cut(): Promise<void> {
    await this.#file?.cut();
  }

  async resumeSealed(sinkPosition: FilePosition, copied = startOfFile): Promise<void> {
    if (!(await AppendFile.isAt(this.#fs, this.path, sinkPosition))) {
      await this.resume(sinkPosition, copied);
      await this.cut();
      return;
    }
    if (await AppendFile.isAt(this.#fs, this.#part, sinkPosition)) {
      // The run that linked it may have been killed before the name was durable.
      await this.#syncFolder('given its final name');
      await withPath(this.#fs.unlink(this.#part), this.#part, 'given its final name');
    }
    this.#isCommitted = true;
    this.#size = sinkPosition.bytes;
  }

  async append(content: string | Uint8Array): Promise<void> {
    await this.#opened.append(content);
  }

  async flush(): Promise<FilePosition> {
    // Rows in a file without a durable name are lost, so no checkpoint may refer to them.
    const [sinkPosition] = await settleAll([this.#opened.flush(), this.#opened.syncName()]);
    await this.#checkName();
    this.#isCommitted = true;
    return sinkPosition;
  }

  async publish(): Promise<number> {
    // Without a file, an earlier run has given it its name.
    const isUnnamed = this.#file !== undefined;
    // Somebody else may have changed it unnoticed, so it is read again.
    await this.#file?.verify();
    this.#isComplete = true;
    await this.#checkName();
    await this.#close();
    if (isUnnamed) await this.#giveName();
    await this.#syncFolder('given its final name');
    return this.#size;
  }

  async setAside(): Promise<string | undefined> {
    return this.#file?.setAside();
  }

  async abandon(isResumable: boolean): Promise<boolean> {
    const isUsable = this.#isComplete || (isResumable && this.#isCommitted);
    try {
      const named = await this.#file?.whatHasItsName();
      if (!isUsable && named === 'this') {
        await withPath(this.#fs.unlink(this.#part), this.#part, 'removed');
        // Before the checkpoint is removed: a power cut could restore the file, and nothing would say whose it is.
        await this.#syncFolder('removed');
      }
    } finally {
      await this.#close().catch(() => undefined);
    }
    return isUsable;
  }

  /** An export that was started over meanwhile may have replaced the file with its own. */
  async #checkName(): Promise<void> {
    const named = await this.#file?.whatHasItsName();
    if (named === undefined || named === 'this') return;
    if (named === 'another')
      throw new SinkError(
        `${this.#part} was replaced while the export ran, maybe by another export that was started over on the same file; its rows were lost with the old file. The new file was not touched: check what it is.`,
        { advice: [{ kind: 'restart' }] },
      );
    const damaged = 'was removed while the export ran, and its rows with it';
    throw new SinkError(`${this.#part} ${damaged}.`, { details: { path: this.#part, damaged, isSound: false } });
  }

  #checkPath(): Promise<void> {
    return checkPath(this.#fs, this.path, this.#ifExists);
  }

  async #giveName(): Promise<void> {
    if (this.#ifExists === 'overwrite') return this.#replace();
    if (this.#ifExists === 'append' && (await this.#checkCopied())) return this.#replace();
    if (await withPath(renameIfFree(this.#fs, this.#part, this.path), this.#part, 'given its final name')) return;
    throw new SinkError(
      `${this.path} appeared while the export ran, and was not touched. All rows are in ${this.#part}: give that file another name.`,
    );
  }

  /**
   * Returns whether the file is there to which rows are appended.
   *
   * @throws SinkError if it is not as it was copied, e.g. after a log rotation: what it had then would come back.
   */
  async #checkCopied(): Promise<boolean> {
    const isThere = (await withPath(this.#fs.kind(this.path), this.path, 'inspected')) !== 'absent';
    const { bytes } = this.#copied;
    if (isThere ? await AppendFile.isAt(this.#fs, this.path, this.#copied) : bytes === 0) return isThere;
    const what = isThere ? 'changed' : 'removed';
    const ofPart = bytes === 0 ? `has the new rows` : `has its ${bytes} bytes from before, then the new rows`;
    throw new SinkError(
      `${this.path} was ${what} while the export ran, and was not touched. ${this.#part} ${ofPart}. Put the file back as it was, and run this again.`,
      { details: { path: this.path }, advice: [{ kind: 'restart' }] },
    );
  }

  async #replace(): Promise<void> {
    const rights = await readRights(this.#fs, this.path);
    if (rights && this.#fs.setRights)
      await withPath(this.#fs.setRights(this.#part, rights), this.#part, 'given its final name');
    await withPath(this.#fs.rename(this.#part, this.path), this.#part, 'given its final name');
  }

  #syncFolder(what: string): Promise<void> {
    return withPath(this.#fs.syncFolder(dirname(this.path)), this.#part, what);
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

/** Where the rows of a path go: what a link leads to is written, and the link stays. */
export async function followLink(fileSystem: FileSystem, path: string): Promise<string> {
  return withPath(fileSystem.follow?.(path) ?? Promise.resolve(path), path, 'inspected');
}

/** Of a file that is to be replaced. */
export async function readRights(fileSystem: FileSystem, path: string): Promise<FileRights | undefined> {
  return withPath(fileSystem.rights?.(path) ?? Promise.resolve(undefined), path, 'inspected');
}

/** The mode of the file that was replaced. Its owner stays who made it, or a resumed export would take it for another's. */
export async function keepMode(fileSystem: FileSystem, replaced: FileRights | undefined, path: string): Promise<void> {
  if (!replaced || !fileSystem.setRights) return;
  await withPath(fileSystem.setRights(path, { mode: replaced.mode | 0o600 }), path, 'created');
}

/** Refuses a path that can't be written, without changes. @throws SinkError */
export async function checkPath(fileSystem: FileSystem, path: string, ifExists: IfExists): Promise<void> {
  const folder = dirname(path);
  const folderKind = await withPath(fileSystem.kind(folder), folder, 'inspected');
  if (folderKind === 'absent')
    throw new SinkError(`The folder ${folder} does not exist. Create it, or give another path.`);
  if (folderKind !== 'folder') throw new SinkError(`${folder} is not a folder. Give another path.`);
  const kind = await withPath(fileSystem.kind(path), path, 'inspected');
  if (kind === 'folder') throw new SinkError(`${path} is a folder. Give the name of a file.`);
  if (kind === 'special')
    throw new SinkError(
      `${path} is not a regular file (a pipe, a device, or a link that leads nowhere). Give the name of a file.`,
    );
  if (kind === 'file' && ifExists === 'fail')
    throw new SinkError(`${path} exists already, and was not touched.`, {
      advice: [{ kind: 'allow', option: 'ifExists' }],
    });
}
