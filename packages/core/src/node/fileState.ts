import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { type Clock, systemClock } from '../clock.js';
import { CheckpointError, ConfigError, SinkError } from '../errors.js';
import { newId, type Identifiers } from '../identifiers.js';
import { lockQueues, type Release, type StateUse } from '../sink/lockQueue.js';
import type { StateLog, StateStore } from '../sink/stateStore.js';
import { explained } from './appendFile.js';
import { FileLog } from './fileLog.js';
import { type FileSystem, nodeFileSystem, unlinkIfThere } from './fileSystem.js';
import { holderOf, lockFolder, type LockHolder } from './folderLock.js';
import { nodeProcesses, type Processes } from './processIdentity.js';
import { intendedName, readWhole, unfinishedName, writeWhole } from './wholeFile.js';
import { checkWrittenByUs } from './writtenByUs.js';

/** Options of {@link fileState}. */
export interface FileStateOptions extends Pick<Identifiers, 'newId'> {
  /**
   * Takes the lock from a holder on another machine or in another container, whose state is unknown. Default `false`. If that process
   * still runs, both write, and the result is corrupt.
   */
  readonly breakLock?: boolean;
  /** Accepts a network file system at your own risk: it may lose data that it reported as written. Default `false`. */
  readonly trustFileSystem?: boolean;
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
  /** Who works with it now; `undefined` if nobody does. */
  holder(use?: StateUse): Promise<LockHolder | undefined>;
}

/**
 * State that survives a crash of the process, and of the machine: small files in a folder of their own, each replaced whole or not at
 * all. The folder is made when it is locked and goes when nothing is left in it; what is made can be read by its owner only. One folder serves
 * one target; put it on the same file system.
 *
 * @example
 * await exportTo(holdings, csv({ path: 'holdings.csv' }), { state: fileState('holdings.csv.sluice') }).run();
 *
 * @throws ConfigError if the folder's name is empty. Later: LockError if another process works with it, CheckpointError if a file in
 * it can't be read, SinkError if the disk refuses, or if it is a network's.
 */
export function fileState(folder: string, options: FileStateOptions = {}): FileState {
  if (folder === '') throw new ConfigError("The path of the state's folder is empty.");
  return new FolderState(resolve(folder), options);
}

class FolderState implements FileState {
  readonly folder: string;
  readonly #fs: FileSystem;
  readonly #processes: Processes;
  readonly #options: FileStateOptions;
  readonly #newId: () => string;
  /** Records that were ours, or not there, when they were looked at. All others are before they are replaced. */
  readonly #known = new Set<string>();
  /** Those of this very object wait here, so that they come in turn. */
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
      const release = await lockFolder(this.folder, locks);
      this.#known.clear();
      const releaseBoth = async (): Promise<void> => {
        await release();
        await leave();
      };
      try {
        await this.#checkVolume();
        // What a killed process wrote is seen before it is durable. Whoever relies on it makes it so first. Where nothing is but the lock,
        // a power cut may bring back what was removed; with the first record that is saved it is gone for good.
        if (await this.#clearUnfinished(use)) await this.#sync(this.folder);
      } catch (error) {
        await releaseBoth();
        throw error;
      }
      return releaseBoth;
    } catch (error) {
      await leave();
      throw error;
    }
  }

  async load(name: string): Promise<unknown> {
    const path = join(this.folder, name);
    if (!(await explained(this.#fs.isOurs(path), path, 'looked at')))
      throw new CheckpointError(
        `${path} belongs to another user of this machine. Ask its owner, or start over with another path: nothing was changed.`,
        { path },
      );
    const bytes = await readWhole(this.#fs, path);
    const record = bytes && decodeRecord(bytes, path);
    this.#known.add(name);
    return record;
  }

  async save(name: string, record: object): Promise<void> {
    const path = join(this.folder, name);
    await this.#checkReplaceable(name);
    const fresh = join(this.folder, unfinishedName(name, this.#newId()));
    await explained(writeWhole(this.#fs, fresh, encodeRecord(record), path), path, 'written');
    try {
      await explained(this.#fs.rename(fresh, path), path, 'written');
    } catch (error) {
      await this.#fs.unlink(fresh).catch(() => undefined);
      throw error;
    }
    await this.#sync(path);
  }

  async remove(name: string): Promise<void> {
    const path = join(this.folder, name);
    await this.#checkReplaceable(name);
    await explained(unlinkIfThere(this.#fs, path), path, 'removed');
    await this.#sync(path);
  }

  log(name: string): StateLog {
    return new FileLog(this.#fs, this.folder, `${name}.log`, this.#newId);
  }

  holder(use: StateUse = 'export'): Promise<LockHolder | undefined> {
    return holderOf(this.folder, { use, fileSystem: this.#fs, processes: this.#processes });
  }

  /** @throws CheckpointError if what has the record's name is not ours. */
  async #checkReplaceable(name: string): Promise<void> {
    if (this.#known.has(name)) return;
    const path = join(this.folder, name);
    await explained(checkWrittenByUs(this.#fs, path, recordMark), path, 'written');
    this.#known.add(name);
  }

  #sync(path: string): Promise<void> {
    return explained(this.#fs.syncFolder(this.folder), path, 'written');
  }

  async #checkVolume(): Promise<void> {
    const { trustFileSystem = false, onWarning } = this.#options;
    const { kind } = await explained(this.#fs.volume(this.folder), this.folder, 'looked at');
    if (kind === 'network' && !trustFileSystem)
      throw new SinkError(
        `${this.folder} lies on a network file system, which may lose what it said to have written. Nothing was changed.`,
        { details: { path: this.folder }, advice: [{ kind: 'allow', option: 'trustFileSystem' }] },
      );
    if (kind === 'memory')
      onWarning?.(`${this.folder} lies in memory: an interrupted export is lost when the machine stops.`);
  }

  /**
   * What was being written when somebody was killed. What belongs to another use may be being written now. Answers whether anything but the
   * lock was there.
   */
  async #clearUnfinished(use: StateUse): Promise<boolean> {
    const names = await explained(this.#fs.list(this.folder), this.folder, 'looked at');
    const isLeft = (name: string): boolean => {
      const intended = intendedName(name);
      if (intended === undefined) return false;
      return (intended === 'watch.log' || intended.startsWith('lock-watch-')) === (use === 'watch');
    };
    for (const name of names.filter(isLeft)) await this.#fs.unlink(join(this.folder, name)).catch(() => undefined);
    return names.length > 1;
  }
}

const version = 1;
/** What every record begins with, whatever its version. */
const recordMark = 'sluice-state ';

/**
 * A record as the bytes of a file: a line with format, version and checksum, then JSON. So any damage shows, and a newer version can
 * be told from damage.
 *
 * @example 'sluice-state 1 sha256:5f2c…\n{"v":1,…}\n'
 */
function encodeRecord(record: object): string {
  const json = `${JSON.stringify(record)}\n`;
  return `${recordMark}${version} sha256:${checksum(json)}\n${json}`;
}

/** Reads what `encodeRecord` wrote. @throws CheckpointError if it is something else, damaged, or of a newer version. */
function decodeRecord(bytes: Buffer, path: string): unknown {
  const fault = (what: string): CheckpointError =>
    new CheckpointError(`${path} ${what}`, { path }, [{ kind: 'restart' }]);
  if (bytes.length === 0) throw fault('is empty: it was not written by Sluice, or lost its bytes.');
  const end = bytes.indexOf('\n') + 1;
  const [, written, sum] =
    /^sluice-state (\d+)(?: sha256:([0-9a-f]{64}))?/.exec(bytes.toString('latin1', 0, end)) ?? [];
  // Not even a restart replaces what may be somebody else's.
  if (written === undefined)
    throw new CheckpointError(`${path} is not a state of Sluice, or is damaged: move it away.`, { path }, [
      { kind: 'restart' },
    ]);
  if (Number(written) > version)
    throw fault(
      `was written by a newer version of Sluice (format ${written}, this one knows ${version}). Use that one.`,
    );
  if (Number(written) !== version || checksum(bytes.subarray(end)) !== sum)
    throw fault('is damaged: its checksum does not fit.');
  return JSON.parse(bytes.toString('utf8', end));
}

function checksum(json: string | Buffer): string {
  return createHash('sha256').update(json).digest('hex');
}
