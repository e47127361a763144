import { nftHoldingSchema, type NftHolding, type ListNftsOptions } from '@sluice/aptos';
import { runPartition, segments, sourceOfRun, type OpenSource, type RunPlan, type RunTarget } from '@sluice/cluster';
import { exportTo, type Json } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { csv, csvFormat } from '@sluice/exporters/csv';
import type { SimulatedDisk } from '../../../packages/core/test/node/simulatedDisk.js';
import type { Random } from '../../../test/kit/random.js';
import { difference } from '../difference.js';
import type { Process } from '../processes.js';
import type { Apis } from '../services.js';
import type { ClusterScenario } from './clusterScenario.js';
import type { WorldRedis } from './redis.js';

const folder = '/data/run';
const merged = '/data/merged.csv';
const source = 'aptos.nfts';

/** A run of several machines into a folder: what its processes do, and how the outcome is judged. */
export class ClusterJob {
  /** Partitions that somebody has committed. */
  readonly done = new Set<number>();
  readonly #scenario: ClusterScenario;
  readonly #apis: Apis;
  readonly #redis: WorldRedis;
  readonly #violated: (what: string) => void;
  readonly #committed = new Map<number, number>();

  constructor(scenario: ClusterScenario, apis: Apis, redis: WorldRedis, violated: (what: string) => void) {
    this.#scenario = scenario;
    this.#apis = apis;
    this.#redis = redis;
    this.#violated = violated;
  }

  /** Stores the plan. */
  async submit(process: Process): Promise<void> {
    await this.#target(process).submit(this.#plan(process));
  }

  /**
   * Walks partitions until none is left. Nobody dispatches them: often several have the same one.
   *
   * @param mayGoOn whether the world explains an error, so that the next attempt may succeed
   */
  async work(process: Process, random: Random, mayGoOn: (error: unknown) => boolean): Promise<void> {
    const { clock, signal } = process;
    const { spread, saveEvery, partitions } = this.#scenario;
    const run = await this.#target(process).open({ [source]: this.#open(process) });
    const loop = async (): Promise<void> => {
      for (;;) {
        signal.throwIfAborted();
        const first: number[] = [];
        for await (const partition of run.pending()) if (first.push(partition) === spread) break;
        const [next, ...others] = first;
        if (next === undefined) return;
        const partition = random.pick([next, ...others]);
        try {
          const { outcome } = await runPartition({ run, partition, signal, clock, saveEvery });
          if (outcome === 'committed') this.#commit(partition);
        } catch (error) {
          if (signal.aborted || !mayGoOn(error)) throw error;
          await new Promise<void>((resolve) => clock.after(random.next() * 1_000, resolve));
        }
      }
    };
    const ends = await Promise.allSettled(Array.from({ length: partitions }, loop));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  /** Asks how far the run is, until it is done. */
  async operate(process: Process, random: Random): Promise<void> {
    const { clock, signal } = process;
    const run = await this.#target(process).open();
    for (let last = 0; ;) {
      signal.throwIfAborted();
      const { done, rows, partitions } = await run.status();
      if (done < last) this.#violated(`The status says ${done} after ${last} partitions.`);
      if (done === partitions && rows !== this.#rows.length)
        this.#violated(`The status says ${rows} of ${this.#rows.length} rows.`);
      last = done;
      if (done === partitions) return;
      await new Promise<void>((resolve) => clock.after(random.next() * 3_000, resolve));
    }
  }

  /** Clears away what nothing refers to, while nobody works. */
  async clean(process: Process): Promise<void> {
    const run = await this.#target(process).open();
    await run.clean();
  }

  /** Clears away what is left, and exports the run into one file. */
  async merge(process: Process): Promise<void> {
    const { fileSystem, claims, clock, signal } = process;
    await this.clean(process);
    const state = fileState(`${merged}.sluice`, { fileSystem, claims, clock });
    const rows = await sourceOfRun(folder, { fileSystem });
    await exportTo(rows, csv({ path: merged, fileSystem }), { state, clock, commitEvery: 2 }).run({ signal });
  }

  /** What is wrong after a power cut: done stays done. */
  judgeDone(disk: SimulatedDisk): void {
    for (const partition of this.done)
      if (disk.bytes(`${folder}/done/0/${partition}.json`) === undefined)
        this.#violated(`Partition ${partition} was done, and after a power cut it is not.`);
  }

  /** What is wrong in the end, whatever is lost now. */
  judge(disk: SimulatedDisk): void {
    const durable = disk.restart('dropped');
    const text = durable.text(merged);
    const { header, encode } = csvFormat<NftHolding>().encoder(nftHoldingSchema);
    const expected = header + encode(this.#rows);
    if (text !== expected) this.#violated(`Merged: ${difference(text, expected)}`);
    for (const [partition, times] of this.#committed)
      if (times > 1) this.#violated(`Partition ${partition} was committed by ${times} claims.`);
    if (this.#scenario.disk.io > 0) return;
    const named = new Set<string>();
    // What was removed may come back with the power, and then does no harm.
    for (const path of disk.paths())
      if (path.startsWith(`${folder}/done/`))
        for (const [claim] of disk.text(path)?.matchAll(/(?<="claim":")[0-9a-f]{32}/g) ?? []) named.add(claim);
    for (const path of disk.paths()) {
      const isLeft = path.startsWith(`${folder}/tmp/`) && path !== `${folder}/tmp/`;
      const [, claim] = /\/rows\/\d+\/\d+-([0-9a-f]{32})\.jsonl$/.exec(path) ?? [];
      if (isLeft || (claim !== undefined && !named.has(claim))) this.#violated(`Left behind: ${path}`);
    }
  }

  #commit(partition: number): void {
    this.done.add(partition);
    this.#committed.set(partition, (this.#committed.get(partition) ?? 0) + 1);
  }

  get #rows(): readonly NftHolding[] {
    return [...this.#apis.holdings.of(this.#apis.holdings.owners.addresses)];
  }

  #target(process: Process): RunTarget {
    const newId = (): string =>
      Array.from({ length: 32 }, () => Math.floor(process.random() * 16).toString(16)).join('');
    return segments(folder, { fileSystem: process.fileSystem, hints: this.#redis.hintsOf(process.life), newId });
  }

  #open({ client }: Process): OpenSource {
    return (params: ListNftsOptions) => client.aptos.nfts(params);
  }

  #plan(process: Process): RunPlan {
    const { pieces, pageSize, ownersPerRequest } = this.#scenario;
    const { addresses } = this.#apis.holdings.owners;
    const size = Math.ceil(addresses.length / pieces);
    const params: Json[] = [];
    for (let at = 0; at < addresses.length; at += size)
      params.push({ ownerAddresses: addresses.slice(at, at + size), ownersPerRequest, pageSize });
    return { name: 'holdings', source, open: this.#open(process), params };
  }
}
