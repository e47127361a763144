import { randomBytes } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import { ConfigError, SinkError } from '@sluice/core';
import { checkText } from '@sluice/core/kit';
import { withPath, nodeFileSystem, type FileSystem } from '@sluice/core/node';
import {
  decodePartition,
  decodeRecord,
  sealRecord,
  type CompletePlan,
  type PartitionRecord,
  type RecordOwner,
  type RunRecord,
} from './decodeRecords.js';
import type { ProgressHints } from './run.js';
import {
  damageError,
  donePath,
  failedWith,
  linkIfFree,
  makeFolder,
  publish,
  readRecord,
  writeDurably,
} from './storedFile.js';

/** Options of {@link segments}. */
export interface SegmentsOptions {
  /** Where progress inside partitions is remembered. Default: nowhere, so an interrupted partition starts over. */
  readonly hints?: ProgressHints | undefined;
  /** Accepts a network file system, which must have exclusive links and durable syncs. Default: it is refused. */
  readonly trustFileSystem?: boolean | undefined;
  /** Default: the machine's own. */
  readonly fileSystem?: FileSystem | undefined;
  /** Creates 128 random bits in hex. Default: of the system. */
  readonly newId?: (() => string) | undefined;
}

const noHints: ProgressHints = {
  load: async () => undefined,
  save: async () => undefined,
  drop: async () => undefined,
};

/** The files of a run in a folder. Each is complete from the moment that it has its name, and never changes. */
export class RunStore {
  readonly path: string;
  readonly fileSystem: FileSystem;
  readonly hints: ProgressHints;
  readonly newId: () => string;
  readonly isTrusted: boolean;
  /** Folders that exist durably. */
  readonly #made = new Set<string>();
  /** The file system that was probed. */
  #probed: string | undefined;

  constructor(path: string, options: SegmentsOptions) {
    checkText('The path of the folder', path);
    this.path = resolve(path);
    this.fileSystem = options.fileSystem ?? nodeFileSystem;
    this.hints = options.hints ?? noHints;
    this.newId = options.newId ?? (() => randomBytes(16).toString('hex'));
    this.isTrusted = options.trustFileSystem ?? false;
  }

  in(...names: readonly string[]): string {
    return join(this.path, ...names);
  }

  /** Makes the folder of the run. @throws ConfigError if the one above is missing: it may be a mount */
  async make(): Promise<void> {
    const above = dirname(this.path);
    if (!(await this.exists(above)))
      throw new ConfigError(`${above} does not exist. Make it first, or mount it.`, { path: above });
    await makeFolder(this.fileSystem, this.path);
  }

  /** Writes into folders of the run, which are made if need be, also again: many a tool removes empty ones. */
  async within<R>(folders: readonly string[], write: () => Promise<R>): Promise<R> {
    try {
      for (const folder of folders) await this.#makeIn(folder);
      return await write();
    } catch (error) {
      if (!failedWith(error, 'ENOENT')) throw error;
      // Without a mount, they would be made in a local folder of the same name.
      await this.header();
      this.#made.clear();
      for (const folder of folders) await this.#makeIn(folder);
      return write();
    }
  }

  /** Makes a folder in that of the run, with those between. */
  async #makeIn(path: string): Promise<void> {
    if (path === this.path || this.#made.has(path)) return;
    await this.#makeIn(dirname(path));
    await makeFolder(this.fileSystem, path);
    this.#made.add(path);
  }

  read(...names: readonly string[]): Promise<unknown> {
    return readRecord(this.fileSystem, this.in(...names));
  }

  /** Gives a record a name, unless that is taken, and returns whether it was free. */
  async publish(path: string, record: object): Promise<boolean> {
    const tmp = this.in('tmp');
    const text = encodeRecord(sealRecord(record));
    return this.within([tmp, dirname(path)], () => publish(this.fileSystem, join(tmp, this.newId()), path, text));
  }

  /** Publishes a record, or finds the same one. @throws ConfigError if there is another one */
  async publishSame(path: string, record: object): Promise<void> {
    for (;;) {
      const found = await readRecord(this.fileSystem, path);
      if (found === undefined) {
        if (await this.publish(path, record)) return;
      } else if (encodeRecord(found) === encodeRecord(sealRecord(record))) {
        // Whoever gave it its name may have died before that was durable.
        await withPath(this.fileSystem.syncFolder(dirname(path)), path, 'written');
        return;
      } else
        throw new ConfigError(
          `${this.path} has another plan: ${path} differs. Submit the same parameters again, or another plan to another folder.`,
          { path, changed: ['params'] },
        );
    }
  }

  /** @throws ConfigError if no run was submitted to the folder, or it isn't mounted here */
  async header(): Promise<RunRecord> {
    const found = await this.read('run.json');
    if (found === undefined)
      throw new ConfigError(
        `${this.path} has no run.json: either nothing was submitted to it, or it is not mounted on this machine.`,
        { path: this.path },
      );
    return decodeRecord(found, this.in('run.json'));
  }

  /** `undefined` if the plan was not submitted completely. */
  async complete(): Promise<CompletePlan | undefined> {
    const found = await this.read('plan', 'complete');
    return found === undefined ? undefined : decodeRecord(found, this.in('plan', 'complete'));
  }

  /** The record of a partition that is done. @throws ConfigError if it is damaged, or of another partition */
  async done(owner: RecordOwner): Promise<PartitionRecord | undefined> {
    const path = donePath(this.path, owner.partition);
    const found = await readRecord(this.fileSystem, path);
    const record = decodePartition(found, owner);
    if (found === undefined || record) return record;
    throw damageError(path);
  }

  exists(path: string): Promise<boolean> {
    return withPath(this.fileSystem.identity(path), path, 'inspected').then((identity) => identity !== undefined);
  }

  isCancelled(): Promise<boolean> {
    return this.exists(this.in('cancelled.json'));
  }

  /** The file system of the folder. @throws SinkError if it is a network's that nobody trusts */
  async checkVolume(isTrusted: boolean): Promise<string> {
    const { id, kind } = await withPath(this.fileSystem.volume(this.path), this.path, 'inspected');
    if (kind !== 'network' || isTrusted || this.isTrusted) return id;
    throw new SinkError(
      `${this.path} is on a network file system. It must have exclusive links and durable syncs, or rows are lost.`,
      { details: { path: this.path }, advice: [{ kind: 'allow', option: 'trustFileSystem' }] },
    );
  }

  /**
   * Checks that this machine still sees the folder of the run: without a mount, rows would go to a local folder of the
   * same name.
   *
   * @throws ConfigError if it is another folder; SinkError if it lacks what commits need
   */
  async checkMount(run: RunRecord): Promise<void> {
    const { id, name } = await this.header();
    if (id !== run.id)
      throw new ConfigError(`${this.path} is the folder of another run now (${name}). Is the right one mounted here?`, {
        path: this.path,
      });
    const volume = await this.checkVolume(run.trustFileSystem);
    // A file system does not lose what it can do, so one probe is enough: it takes as long as a commit.
    if (volume !== this.#probed) await this.within([this.in('tmp')], () => this.#probe(this.in('tmp', this.newId())));
    this.#probed = volume;
  }

  /** Checks that links are exclusive and syncs succeed. */
  async #probe(path: string): Promise<void> {
    const paths = [path, `${path}-other`, `${path}-twin`] as const;
    try {
      for (const each of paths.slice(0, 2)) await writeDurably(this.fileSystem, each, '');
      await linkIfFree(this.fileSystem, path, paths[2]);
      if (!(await linkIfFree(this.fileSystem, paths[1], paths[2]))) return;
      throw new SinkError(
        `${this.path} is on a file system whose links are not exclusive, so two workers could finish one partition. Use another one.`,
        { details: { path: this.path } },
      );
    } finally {
      for (const each of paths) await this.fileSystem.unlink(each).catch(() => undefined);
    }
  }
}

function encodeRecord(record: unknown): string {
  return `${JSON.stringify(record)}\n`;
}
