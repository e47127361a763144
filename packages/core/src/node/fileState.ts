import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { refuseUnknown } from '../checks.js';
import { type Clock, systemClock } from '../clock.js';
import { CheckpointError, ConfigError, SinkError } from '../errors.js';
import { newId, type Identifiers } from '../identifiers.js';
import { lockQueues, type Release, type StateUse } from '../sink/lockQueue.js';
import type { StateLog, StateStore } from '../sink/stateStore.js';
import { withPath } from './diskFault.js';
import { FileLog } from './fileLog.js';
import { type FileSystem, nodeFileSystem, unlinkIfThere } from './fileSystem.js';
import { holderOf, lockFolder, type LockHolder } from './folderLock.js';
import { nodeProcesses, type Processes } from './processIdentity.js';
import { readWhole } from './readFile.js';
import { intendedName, unfinishedName, writeWhole } from './wholeFile.js';
import { checkReplaceable } from './checkReplaceable.js';

/** Options of {@link fileState}. */
export interface FileStateOptions extends Pick<Identifiers, 'newId'> {
  /**
   * Takes the lock from a holder on another machine or in another container, whose state is unknown. Default `false`.
   * If that process still runs, both write, and the result is corrupt.
   */
  readonly breakLock?: boolean | undefined;
  /** Accepts a network file system at your own risk: it may lose data that it reported as written. Default `false`. */
  readonly trustFileSystem?: boolean | undefined;
  /** Called if the state would not survive a power cut. Default: not reported. */
  readonly onWarning?: (message: string) => void;
  /** Default: the machine's own. */
  readonly fileSystem?: FileSystem;
  readonly processes?: Processes;
  readonly clock?: Clock;
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
  refuseUnknown('fileState()', options, {
    newId: true,
    breakLock: true,
    trustFileSystem: true,
    onWarning: true,
    fileSystem: true,
    processes: true,
    clock: true,
  });
  if (folder === '') throw new ConfigError("The path of the state's folder is empty.");
  return new FolderState(resolve(folder), options);
}

class FolderState implements FileState {
  readonly folder: string;
  readonly #fs: FileSystem;
  readonly #processes: Processes;
  readonly #options: FileStateOptions;
  readonly #newId: () => string;
  /** Records that were ours or absent when they were checked. All others are checked before they are replaced. */
  readonly #replaceable = new Set<string>();
  /** Calls of `lock` on this object wait here. */
  readonly #queues = lockQueues();

  constructor(folder: string, options: FileStateOptions) {
    this.folder = folder;
    this.#fs = options.fileSystem ?? nodeFileSystem;
    this.#processes = options.processes ?? nodeProcesses;
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
        processes: this.#processes,
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
      this.#replaceable.clear();
      await this.#checkVolume();
      // A killed process may not have synced its files. If only the lock is there, a power cut may restore removed
      // files, until the first record is saved.
      if (await this.#clearUnfinished(use)) await this.#sync(this.folder);
      return release;
    } catch (error) {
      await release();
      throw error;
    }
  }

  async load(name: string): Promise<unknown> {
    const path = join(this.folder, name);
    if (!(await withPath(this.#fs.isOurs(path), path, 'inspected')))
      throw new CheckpointError(
        `${path} belongs to another user of this machine. Ask its owner, or start over with another path: nothing was changed.`,
        { path },
      );
    const bytes = await readWhole(this.#fs, path);
    const record = bytes && decodeRecord(bytes, path);
    this.#replaceable.add(name);
    return record;
  }

  async save(name: string, record: object): Promise<void> {
    const path = join(this.folder, name);
    await this.#checkReplaceable(name);
    const fresh = join(this.folder, unfinishedName(name, this.#newId()));
    await withPath(writeWhole(this.#fs, fresh, encodeRecord(record), path), path, 'written');
    try {
      await withPath(this.#fs.rename(fresh, path), path, 'written');
    } catch (error) {
      await this.#fs.unlink(fresh).catch(() => undefined);
      throw error;
    }
    await this.#sync(path);
  }

  async remove(name: string): Promise<void> {
    const path = join(this.folder, name);
    await this.#checkReplaceable(name);
    await withPath(unlinkIfThere(this.#fs, path), path, 'removed');
    await this.#sync(path);
  }

  log(name: string): StateLog {
    return new FileLog(this.#fs, this.folder, `${name}.log`, this.#newId);
  }

  holder(use: StateUse = 'export'): Promise<LockHolder | undefined> {
    return holderOf(this.folder, { use, fileSystem: this.#fs, processes: this.#processes });
  }

  /** @throws CheckpointError if the file with the record's name is not ours. */
  async #checkReplaceable(name: string): Promise<void> {
    if (this.#replaceable.has(name)) return;
    const path = join(this.folder, name);
    await withPath(checkReplaceable(this.#fs, path, recordMark), path, 'written');
    this.#replaceable.add(name);
  }

  #sync(path: string): Promise<void> {
    return withPath(this.#fs.syncFolder(this.folder), path, 'written');
  }

  async #checkVolume(): Promise<void> {
    const { trustFileSystem = false, onWarning } = this.#options;
    const { kind } = await withPath(this.#fs.volume(this.folder), this.folder, 'inspected');
    if (kind === 'network' && !trustFileSystem)
      throw new SinkError(
        `${this.folder} is on a network file system, which may lose data that it reported as written. Nothing was changed.`,
        { details: { path: this.folder }, advice: [{ kind: 'allow', option: 'trustFileSystem' }] },
      );
    if (kind === 'memory')
      onWarning?.(`${this.folder} is in memory: an interrupted export is lost when the machine stops.`);
  }

  /** Removes unfinished files, except those of the other use. Returns whether there is more than the lock. */
  async #clearUnfinished(use: StateUse): Promise<boolean> {
    const names = await withPath(this.#fs.list(this.folder), this.folder, 'inspected');
    const isUnfinished = (name: string): boolean => {
      const intended = intendedName(name);
      if (intended === undefined) return false;
      return (intended === 'watch.log' || intended.startsWith('lock-watch-')) === (use === 'watch');
    };
    for (const name of names.filter(isUnfinished))
      await this.#fs.unlink(join(this.folder, name)).catch(() => undefined);
    return names.length > 1;
  }
}

const version = 1;
const recordMark = 'sluice-state ';

/**
 * A record as a file: a line with format, version and checksum, then JSON. It detects any damage, and tells it from a
 * newer version.
 *
 * @example 'sluice-state 1 sha256:5f2c…\n{"v":1,…}\n'
 */
function encodeRecord(record: object): string {
  const json = `${JSON.stringify(record)}\n`;
  return `${recordMark}${version} sha256:${checksum(json)}\n${json}`;
}

/** @throws CheckpointError if `encodeRecord` of this version did not write it, or it is damaged. */
function decodeRecord(bytes: Buffer, path: string): unknown {
  const fault = (what: string): CheckpointError =>
    new CheckpointError(`${path} ${what}`, { path }, [{ kind: 'restart' }]);
  if (bytes.length === 0) throw fault('is empty: it was not written by Sluice, or lost its bytes.');
  const end = bytes.indexOf('\n') + 1;
  const [, written, sum] =
    /^sluice-state (\d+)(?: sha256:([0-9a-f]{64}))?/.exec(bytes.toString('latin1', 0, end)) ?? [];
  if (written === undefined) throw fault('is not a state of Sluice, or is damaged: move it away.');
  if (Number(written) > version)
    throw fault(
      `was written by a newer version of Sluice (format ${written}, this one knows ${version}). Use that one.`,
    );
  if (Number(written) !== version || checksum(bytes.subarray(end)) !== sum)
    throw fault('is damaged: its checksum does not match.');
  return JSON.parse(bytes.toString('utf8', end));
}

function checksum(json: string | Buffer): string {
  return createHash('sha256').update(json).digest('hex');
}
