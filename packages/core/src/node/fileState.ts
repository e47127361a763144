import { join, resolve } from 'node:path';
import { checkOptions, checkText } from '../checks.js';
import { type Clock, systemClock } from '../clock.js';
import { SinkError } from '../errors.js';
import { newId, type Identifiers } from '../identifiers.js';
import { lockQueues, type Release, type StateUse } from '../rows/sink/lockQueue.js';
import type { StateStore } from '../rows/sink/stateStore.js';
import type { StateLog } from '../stateLog.js';
import { nodeClaims, type Claims } from './claims.js';
import { withPath } from './files/diskFault.js';
import { type FileSystem, nodeFileSystem } from './files/fileSystem.js';
import { findHolder, lockFolder, type LockHolder } from './folderLock.js';
import { RecordFile } from './files/recordFile.js';
import { parseTemporaryName } from './files/wholeFile.js';

/** Options of {@link fileState}. */
export interface FileStateOptions extends Pick<Identifiers, 'newId'> {
  /**
   * Takes the lock from a holder whose state is unknown: on another machine, by a file system that is not local. Default
   * `false`. If that process still runs, both write, and the result is corrupt. A holder that is known to run keeps it.
   */
  readonly breakLock?: boolean | undefined;
  /** Accepts a network file system at your own risk: it may lose data that it reported as written. Default `false`. */
  readonly trustFileSystem?: boolean | undefined;
  /** Called if the state would not survive a power cut. Default: not reported. */
  readonly onWarning?: ((message: string) => void) | undefined;
  /** Default: the machine's own. */
  readonly fileSystem?: FileSystem | undefined;
  readonly claims?: Claims | undefined;
  readonly clock?: Clock | undefined;
}

/** State in a folder. */
export interface FileState extends StateStore {
  readonly folder: string;
  /** The process that locked it; `undefined` if none did. */
  holder(use?: StateUse): Promise<LockHolder | undefined>;
}

/**
 * State that survives crashes of the process and of the machine: small files in a folder, each replaced completely or
 * not at all. Locking creates the folder, and it is removed when it is empty. Only its owner can read it. One folder
 * serves one target; keep both on the same file system.
 *
 * @example
 * await exportTo(holdings, csv({ path: 'holdings.csv' }), { state: fileState('holdings.csv.sluice') }).run();
 *
 * @throws ConfigError if the folder's name is empty. Later: LockError if another process uses it, CheckpointError if a
 * file in it can't be read, SinkError if the disk refuses or is a network's.
 */
export function fileState(folder: string, options: FileStateOptions = {}): FileState {
  checkOptions('fileState()', options, {
    newId: true,
    breakLock: true,
    trustFileSystem: true,
    onWarning: true,
    fileSystem: true,
    claims: true,
    clock: true,
  });
  checkText("The path of the state's folder", folder);
  return new FolderState(resolve(folder), options);
}

class FolderState implements FileState {
  readonly folder: string;
  readonly #fs: FileSystem;
  readonly #claims: Claims;
  readonly #options: FileStateOptions;
  readonly #newId: () => string;
  readonly #records = new Map<string, RecordFile>();
  /** Calls of `lock` on this object wait here. */
  readonly #queues = lockQueues();
  #hasWarned = false;

  constructor(folder: string, options: FileStateOptions) {
    this.folder = folder;
    this.#fs = options.fileSystem ?? nodeFileSystem;
    this.#claims = options.claims ?? nodeClaims;
    this.#options = options;
    this.#newId = options.newId ?? newId;
  }

  async lock(signal: AbortSignal, use: StateUse = 'export'): Promise<Release> {
    const { breakLock = false, clock = systemClock } = this.#options;
    const leave = await this.#queues[use].acquire(signal);
    let release = leave;
    try {
      const locks = {
        use,
        fileSystem: this.#fs,
        claims: this.#claims,
        clock,
        newId: this.#newId,
        breakLock,
        signal,
      };
      const unlock = await lockFolder(this.folder, locks);
      release = async () => {
        await unlock();
        await leave();
      };
      // Another process may have changed them meanwhile.
      this.#records.clear();
      await this.#checkVolume();
      // A killed process may not have synced its files. If only the lock is there, a power cut may restore removed
      // files, until the first record is saved.
      if (await this.#clearUnfinished(use)) await withPath(this.#fs.syncFolder(this.folder), this.folder, 'written');
      return release;
    } catch (error) {
      await release();
      throw error;
    }
  }

  load(name: string): Promise<unknown> {
    return this.#record(name).load();
  }

  save(name: string, record: object): Promise<void> {
    return this.#record(name).replace([record]);
  }

  remove(name: string): Promise<void> {
    return this.#record(name).remove();
  }

  log(name: string): StateLog {
    return new RecordFile(this.#fs, join(this.folder, `${name}.log`), this.#newId);
  }

  holder(use: StateUse = 'export'): Promise<LockHolder | undefined> {
    return findHolder(this.folder, { use, fileSystem: this.#fs, claims: this.#claims });
  }

  #record(name: string): RecordFile {
    const known = this.#records.get(name) ?? new RecordFile(this.#fs, join(this.folder, name), this.#newId);
    this.#records.set(name, known);
    return known;
  }

  async #checkVolume(): Promise<void> {
    const { trustFileSystem = false, onWarning } = this.#options;
    const { kind } = await withPath(this.#fs.volume(this.folder), this.folder, 'inspected');
    if (kind === 'network' && !trustFileSystem)
      throw new SinkError(
        `${this.folder} is on a network file system, which may lose data that it reported as written. Nothing was changed.`,
        {
          details: { path: this.folder },
          advice: [
            { kind: 'allow', option: 'trustFileSystem' },
            { kind: 'set', option: 'state' },
          ],
        },
      );
    if (kind !== 'memory' || this.#hasWarned) return;
    // An export of a watch locks its folder for both.
    this.#hasWarned = true;
    onWarning?.(`${this.folder} is in memory: an interrupted export is lost when the machine stops.`);
  }

  /** Removes unfinished files, except those of the other use. Returns whether there is more than the lock. */
  async #clearUnfinished(use: StateUse): Promise<boolean> {
    const names = await withPath(this.#fs.list(this.folder), this.folder, 'inspected');
    const isUnfinished = (name: string): boolean => {
      const intended = parseTemporaryName(name);
      if (intended === undefined) return false;
      return (intended === 'watch.log' || intended === 'lock-watch') === (use === 'watch');
    };
    for (const name of names.filter(isUnfinished))
      await this.#fs.unlink(join(this.folder, name)).catch(() => undefined);
    return names.length > 1;
  }
}
