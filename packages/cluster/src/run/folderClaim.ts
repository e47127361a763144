import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { SinkError, type Page, type Position } from '@sluice/core';
import type { Claim, ClaimVerdict } from '@sluice/core/kit';
import { AppendFile } from '@sluice/core/node';
import { decodePartition, sealRecord, type PartitionRecord, type RecordOwner, type Segment } from './decodeRecords.js';
import { encodeRow } from './rowLine.js';
import type { RunStore } from './runStore.js';
import { donePath, isPrefix, segmentPath } from './storedFile.js';

/**
 * A claim on a partition of a run in a folder.
 *
 * It writes a file of its own, which no other claim appends to or opens again. A claim that continues another one names
 * the first bytes of its file, which can't change any more, and begins a file of its own. So a claim that was stopped
 * and wakes up can spoil nothing. What counts is the record in `done`: the first claim that links it has finished the
 * partition, and the files and folders that it names are on the disk before.
 */
export class FolderClaim implements Claim<unknown> {
  readonly restarts: number;
  readonly startAt: Position | undefined;
  readonly #id: string;
  readonly #store: RunStore;
  readonly #owner: RecordOwner;
  readonly #path: string;
  /** Rows of other claims that this one continues. */
  readonly #before: readonly Segment[];
  readonly #hash = createHash('sha256');
  readonly #pages: [rows: number, pages: number][] = [];
  #file: AppendFile | undefined;
  #rows = 0;
  #isIncomplete: boolean;
  #last: Page<unknown> | undefined;

  /** @param known what it continues */
  private constructor(store: RunStore, owner: RecordOwner, known: Partial<PartitionRecord>) {
    this.#id = store.newId();
    this.restarts = known.restarts ?? 0;
    this.startAt = known.position;
    this.#store = store;
    this.#owner = owner;
    this.#path = segmentPath(store.path, owner.partition, this.#id);
    this.#before = known.segments ?? [];
    this.#isIncomplete = known.isIncomplete ?? false;
  }

  /** Begins where a hint says, if all that it names is there; at the start if `restarts` is given. */
  static async begin(store: RunStore, owner: RecordOwner, restarts?: number): Promise<FolderClaim> {
    const { partition } = owner;
    if (restarts !== undefined) {
      const claim = new FolderClaim(store, owner, { restarts });
      await claim.#saveHint();
      return claim;
    }
    const hint = decodePartition(await store.hints.load(partition).catch(() => undefined), owner);
    if (!hint) return new FolderClaim(store, owner, {});
    for (const segment of hint.segments)
      if (!(await isPrefix(store.fileSystem, segmentPath(store.path, partition, segment.claim), segment)))
        return new FolderClaim(store, owner, { restarts: hint.restarts });
    return new FolderClaim(store, owner, hint);
  }

  async write(page: Page<unknown>): Promise<void> {
    let lines = '';
    for (const [at, row] of page.items.entries()) {
      const where = (): string => `Row ${this.#rows + at + 1} of this claim on partition ${this.#owner.partition}`;
      lines += encodeRow(row, where);
    }
    if (lines !== '') await this.#append(lines);
    this.#rows += page.items.length;
    const run = this.#pages.at(-1);
    if (run?.[0] === page.items.length) run[1] += 1;
    else this.#pages.push([page.items.length, 1]);
    if (page.isIncomplete) this.#isIncomplete = true;
    this.#last = page;
  }

  async save(): Promise<ClaimVerdict> {
    await this.#flush();
    if (await this.#store.isCancelled()) return 'cancelled';
    if (await this.#store.exists(donePath(this.#store.path, this.#owner.partition))) return 'refused';
    await this.#saveHint();
    return 'accepted';
  }

  async commit(): Promise<ClaimVerdict> {
    const { path, hints } = this.#store;
    await this.#flush();
    const { partition } = this.#owner;
    const done = donePath(path, partition);
    // Rows that another claim began are removed once somebody has finished the partition.
    const missing = await this.#missingFile();
    if (missing !== undefined && (await this.#store.exists(done))) return this.#refused();
    if (missing !== undefined)
      throw new SinkError(`${missing} was removed while it was in use. Find out who did that: nothing was committed.`, {
        details: { path: missing },
      });
    // The last moment at which it counts.
    if (await this.#store.isCancelled()) return 'cancelled';
    if (!(await this.#store.publish(done, this.#record()))) return this.#refused();
    await hints.drop(partition).catch(() => undefined);
    return 'accepted';
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close().catch(() => undefined);
  }

  async #append(lines: string): Promise<void> {
    if (!this.#file) {
      const { fileSystem } = this.#store;
      this.#file = await this.#store.within([dirname(this.#path)], () => AppendFile.create(fileSystem, this.#path));
    }
    this.#hash.update(lines);
    await this.#file.append(lines);
  }

  /** Makes bytes and name of its file durable. */
  async #flush(): Promise<void> {
    await this.#file?.flush();
    await this.#file?.syncName();
  }

  /** A file that the record is about to name, and that is not there. */
  async #missingFile(): Promise<string | undefined> {
    const named = this.#segments.filter(({ bytes }) => bytes > 0);
    const paths = named.map(({ claim }) => segmentPath(this.#store.path, this.#owner.partition, claim));
    for (const path of paths) if (!(await this.#store.exists(path))) return path;
    return undefined;
  }

  /** Removes its rows, unless the claim that finished the partition has continued them. */
  async #refused(): Promise<'refused'> {
    const done = await this.#store.done(this.#owner).catch(() => undefined);
    if (done && !done.segments.some(({ claim }) => claim === this.#id))
      await this.#store.fileSystem.unlink(this.#path).catch(() => undefined);
    return 'refused';
  }

  async #saveHint(): Promise<void> {
    await this.#store.hints.save(this.#owner.partition, sealRecord(this.#record())).catch(() => undefined);
  }

  #record(): PartitionRecord {
    const position = this.#last?.position ?? this.startAt;
    return {
      ...this.#owner,
      claim: this.#id,
      segments: this.#segments,
      ...(position && { position }),
      rows: this.#segments.reduce((sum, { rows }) => sum + rows, 0),
      restarts: this.restarts,
      isIncomplete: this.#isIncomplete,
    };
  }

  get #segments(): readonly Segment[] {
    if (this.#pages.length === 0) return this.#before;
    const own: Segment = {
      claim: this.#id,
      bytes: this.#file?.bytes ?? 0,
      sha256: this.#hash.copy().digest('hex'),
      rows: this.#rows,
      pages: this.#pages.map(([rows, pages]) => [rows, pages]),
    };
    return [...this.#before, own];
  }
}
