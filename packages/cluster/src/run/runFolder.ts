import { ConfigError } from '@sluice/core';
import { checkOptions, isRecord, type Claim, type PageSource } from '@sluice/core/kit';
import { withPath } from '@sluice/core/node';
import {
  decodePartition,
  decodeRecord,
  type CompletePlan,
  type PlanChunk,
  type RecordOwner,
  type RunRecord,
} from './decodeRecords.js';
import { FolderClaim } from './folderClaim.js';
import { newHeader, PieceSources, storePlan } from './plan.js';
import type { OpenSource, ProgressHints, Run, RunPlan, RunStatus, RunTarget, SourcePartition } from './run.js';
import { RunStore, type SegmentsOptions } from './runStore.js';
import { donePath, listNames, partitionsPerShard, shardName } from './storedFile.js';

/**
 * A folder that all machines share as the target of a run, e.g. on NFS. It holds the plan, the rows, and a record of each
 * partition that is done: whatever else is lost, they say what is missing. All machines must use it as the same user.
 *
 * @example
 * const run = await segments('/mnt/out/holdings').submit({
 *   name: 'holdings',
 *   source: 'aptos.nfts',
 *   open: (params) => client.aptos.nfts(params),
 *   params: [{ ownerAddresses }],
 * });
 */
export function segments(folder: string, options: SegmentsOptions = {}): RunTarget {
  checkOptions('segments()', options, { hints: true, trustFileSystem: true, fileSystem: true, newId: true });
  const store = new RunStore(folder, options);
  return {
    address: store.path,
    submit: (plan) => submitTo(store, plan),
    open: (sources) => openFolder(store, sources),
  };
}

/** The run in a folder. @throws ConfigError if there is none, or its plan is not complete */
export async function openFolder(
  store: RunStore,
  sources: Readonly<Record<string, OpenSource>> = {},
): Promise<RunFolder> {
  const header = await store.header();
  const complete = await store.complete();
  if (complete) return new RunFolder(store, header, complete, sources[header.source]);
  throw new ConfigError(`The plan of ${header.name} is not complete: submit it again, which resumes it.`, {
    path: store.path,
  });
}

async function submitTo(store: RunStore, plan: RunPlan): Promise<Run> {
  await store.make();
  await storePlan(plan, async (source) => ({
    target: store.path,
    header: await headerFor(store, plan, source),
    isComplete: (await store.complete()) !== undefined,
    putChunk: (chunk) => store.publishSame(store.in('plan', chunkName(chunk.first)), chunk),
    countChunks: async () => (await listChunks(store)).length,
    complete: (complete) => store.publishSame(store.in('plan', 'complete'), complete),
  }));
  return openFolder(store, { [plan.source]: plan.open });
}

/** The header in the folder, or a new one. @throws ConfigError if it is another run's */
async function headerFor(store: RunStore, plan: RunPlan, source: PageSource<unknown>): Promise<RunRecord> {
  await store.checkVolume(false);
  const path = store.in('run.json');
  if (!(await store.exists(path))) {
    const others = (await listNames(store.fileSystem, store.path)).filter((name) => name !== 'tmp');
    // Somebody else may have submitted at this moment.
    if (others.length > 0 && !others.includes('run.json'))
      throw new ConfigError(`${store.path} has other files (${others.slice(0, 3).join(', ')}). Give an empty folder.`, {
        path: store.path,
      });
    const record: RunRecord = {
      ...(await newHeader(plan, source, () => store.newId())),
      trustFileSystem: store.isTrusted,
    };
    await store.publish(path, record);
  }
  // Whoever gave it its name may have died before that was durable.
  await withPath(store.fileSystem.syncFolder(store.path), path, 'written');
  const header = await store.header();
  if (header.name === plan.name && header.source === plan.source) return header;
  throw new ConfigError(
    `${store.path} is the folder of ${header.name} (${header.source}). Submit ${plan.name} (${plan.source}) to another one.`,
    { path: store.path },
  );
}

/** A run in a folder whose plan is complete. */
export class RunFolder implements Run {
  readonly header: RunRecord;
  readonly plan: CompletePlan;
  readonly store: RunStore;
  readonly #sources: PieceSources;
  /** The first partitions of all chunks, once they are known. */
  #chunks: readonly number[] | undefined;

  constructor(store: RunStore, header: RunRecord, plan: CompletePlan, open: OpenSource | undefined) {
    this.#sources = new PieceSources({
      header,
      partitions: plan.partitions,
      open,
      readChunk: (partition) => this.#readChunk(partition),
    });
    this.store = store;
    this.header = header;
    this.plan = plan;
  }

  get partitions(): number {
    return this.plan.partitions;
  }

  sourceOf(partition: number): Promise<SourcePartition> {
    return this.#sources.find(partition);
  }

  /** What the records of a partition name. */
  ownerOf(partition: number): RecordOwner {
    return { run: this.header.id, plan: this.plan.hash, partition };
  }

  async claim(partition: number, restarts?: number): Promise<Claim<unknown> | 'done' | 'cancelled'> {
    const { store } = this;
    await store.checkMount(this.header);
    if (await store.isCancelled()) return 'cancelled';
    if (await store.exists(donePath(store.path, partition))) return 'done';
    return FolderClaim.begin(store, this.ownerOf(partition), restarts);
  }

  async *pending(): AsyncGenerator<number, void, undefined> {
    for (let first = 0; first < this.partitions; first += partitionsPerShard) {
      const done = new Set(await this.#listDone(first));
      const end = Math.min(first + partitionsPerShard, this.partitions);
      for (let partition = first; partition < end; partition += 1) if (!done.has(partition)) yield partition;
    }
  }

  async status(): Promise<RunStatus> {
    let done = 0;
    let rows = 0;
    for (let first = 0; first < this.partitions; first += partitionsPerShard) {
      const partitions = await this.#listDone(first);
      done += partitions.length;
      rows += await this.#countRows(first, partitions);
    }
    return { partitions: this.partitions, done, rows, isCancelled: await this.store.isCancelled() };
  }

  async cancel(): Promise<void> {
    const path = this.store.in('cancelled.json');
    if (!(await this.store.exists(path))) await this.store.publish(path, { run: this.header.id });
  }

  async clean(hints: ProgressHints = this.store.hints): Promise<number> {
    const { store } = this;
    let removed = 0;
    const remove = async (path: string): Promise<void> => {
      await withPath(store.fileSystem.unlink(path), path, 'removed');
      removed += 1;
    };
    for (const name of await listNames(store.fileSystem, store.in('tmp'))) await remove(store.in('tmp', name));
    for (const shard of await listNames(store.fileSystem, store.in('rows')))
      for (const name of await listNames(store.fileSystem, store.in('rows', shard))) {
        const [, partition, claim] = /^(\d+)-([0-9a-f]{32})\.jsonl$/.exec(name) ?? [];
        if (partition === undefined || claim === undefined) continue;
        const named = await this.#listClaims(Number(partition), hints);
        if (!named.has(claim)) await remove(store.in('rows', shard, name));
      }
    return removed;
  }

  /** The claims whose rows count, or may be continued. */
  async #listClaims(partition: number, hints: ProgressHints): Promise<ReadonlySet<string>> {
    const owner = this.ownerOf(partition);
    const record = (await this.store.done(owner)) ?? decodePartition(await hints.load(partition), owner);
    return new Set(record?.segments.map(({ claim }) => claim));
  }

  async #listDone(first: number): Promise<readonly number[]> {
    const { fileSystem } = this.store;
    const folder = this.store.in('done', shardName(first));
    const names = await listNames(fileSystem, folder);
    // Whoever gave a name may have died before it was durable. Done is what stays done.
    if (names.length > 0) await withPath(fileSystem.syncFolder(folder), folder, 'inspected');
    return names.flatMap((name) => (/^\d+\.json$/.test(name) ? [Number.parseInt(name)] : []));
  }

  /** Of a shard that is done, the sum is stored, so that a million records are read once only. */
  async #countRows(first: number, done: readonly number[]): Promise<number> {
    const { store } = this;
    const sum = ['done', shardName(first), 'rows'] as const;
    const isFull = done.length === Math.min(partitionsPerShard, this.partitions - first);
    const known = isFull ? await store.read(...sum) : undefined;
    if (isRecord(known) && typeof known['rows'] === 'number') return known['rows'];
    let rows = 0;
    for (const partition of done) rows += (await store.done(this.ownerOf(partition)))?.rows ?? 0;
    // Whoever may only read can ask how far a run is, too.
    if (isFull) await store.publish(store.in(...sum), { rows }).catch(() => false);
    return rows;
  }

  async #readChunk(partition: number): Promise<PlanChunk> {
    this.#chunks ??= await listChunks(this.store);
    const name = chunkName(this.#chunks.findLast((first) => first <= partition) ?? 0);
    return decodeRecord(await this.store.read('plan', name), this.store.in('plan', name));
  }
}

/** The first partitions of the chunks that are stored, in order. */
async function listChunks(store: RunStore): Promise<readonly number[]> {
  const names = await listNames(store.fileSystem, store.in('plan'));
  const chunks = names.filter((name) => name.endsWith('.json'));
  return chunks.map((name) => Number.parseInt(name)).sort((a, b) => a - b);
}

function chunkName(first: number): string {
  return `${String(first).padStart(12, '0')}.json`;
}
