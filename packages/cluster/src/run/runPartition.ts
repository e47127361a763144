import {
  PluginError,
  SluiceError,
  systemClock,
  type Clock,
  type Page,
  type PageSource,
  type Position,
} from '@sluice/core';
import type { Claim, Run, Verdict } from './run.js';

/** Options of {@link runPartition}. */
export interface RunPartitionOptions {
  readonly run: Run;
  /** The number of the partition in the run's plan. */
  readonly partition: number;
  /** Ends the walk, after what was fetched is saved. */
  readonly signal: AbortSignal;
  /** Ms between saves, after which another claim may continue. Default 1,000. */
  readonly saveEvery?: number;
  /** Called after each save: the partition makes progress. */
  readonly onSaved?: () => void;
  /** Default: the machine's. */
  readonly clock?: Clock;
}

/** What became of a partition. */
export interface PartitionOutcome {
  /**
   * - `committed`: its rows count.
   * - `refused`: another claim finished it first. Not an error.
   * - `done`: it was finished before; nothing was requested.
   * - `cancelled`: the run was.
   */
  readonly outcome: 'committed' | 'refused' | 'done' | 'cancelled';
  /** Rows that this call fetched. */
  readonly rows: number;
}

/** If a partition's cursor is refused more often, its walk is too slow for the API, and restarts would never end. */
const maxRestarts = 3;

/**
 * Fetches one partition of a run and commits it: what a worker does for one job. Nothing depends on who else works on
 * the partition: at most one commit counts, and what is left of the others is never read.
 *
 * @throws ConfigError if this machine's source or folder is not the run's, before any request; what the walk throws
 *
 * @example
 * const { signal } = new AbortController();
 * const run = await segments('/mnt/out/holdings').open({
 *   'aptos.walletNfts': (params) => client.aptos.walletNfts(params),
 * });
 * for await (const partition of run.pending()) await runPartition({ run, partition, signal });
 */
export async function runPartition(options: RunPartitionOptions): Promise<PartitionOutcome> {
  const { run } = options;
  const { source, partition } = await run.sourceOf(options.partition);
  let rows = 0;
  for (let restarts: number | undefined; ;) {
    const claim = await run.claim(options.partition, restarts);
    if (typeof claim === 'string') return { outcome: claim, rows };
    if (!fits(source, partition, claim.startAt)) {
      restarts = claim.restarts;
      await claim.close();
      continue;
    }
    const walk = new PartitionWalk(source, partition, claim, options);
    try {
      const verdict = await walk.run();
      return { outcome: verdict === 'accepted' ? 'committed' : verdict, rows: rows + walk.rows };
    } catch (error) {
      if (!SluiceError.is(error, 'cursor-refused')) throw error;
      if (claim.restarts >= maxRestarts) {
        await forget(options);
        throw error;
      }
      restarts = claim.restarts + 1;
      rows += walk.rows;
    } finally {
      await claim.close();
    }
  }
}

/** Lets the next attempt start over: the position that is saved leads nowhere, for good. */
async function forget({ run, partition }: RunPartitionOptions): Promise<void> {
  const claim = await run.claim(partition, 0).catch(() => undefined);
  if (typeof claim === 'object') await claim.close();
}

/** Whether a position is one of the partition's walk. It may come from anywhere. */
function fits(source: PageSource<unknown>, partition: number, startAt: Position | undefined): boolean {
  try {
    source.pages({ partition, ...(startAt && { startAt }) });
    return true;
  } catch (error) {
    if (startAt) return false;
    throw error;
  }
}

/** A walk of one partition by one claim. */
class PartitionWalk {
  rows = 0;
  readonly #source: PageSource<unknown>;
  readonly #partition: number;
  readonly #claim: Claim;
  readonly #options: RunPartitionOptions;
  readonly #clock: Clock;
  #savedAt: number;
  #isSaved = true;

  constructor(source: PageSource<unknown>, partition: number, claim: Claim, options: RunPartitionOptions) {
    this.#source = source;
    this.#partition = partition;
    this.#claim = claim;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#savedAt = this.#clock.monotonic();
  }

  async run(): Promise<Verdict> {
    try {
      return (await this.#walk()) ?? (await this.#claim.commit());
    } catch (error) {
      // Another claim continues after these rows, unless they can't be saved: then that has no worse effect.
      if (!this.#isSaved) await this.#save().catch(() => undefined);
      throw error;
    }
  }

  /** `undefined` once all pages are written. */
  async #walk(): Promise<Exclude<Verdict, 'accepted'> | undefined> {
    const { signal, saveEvery = 1_000 } = this.#options;
    signal.throwIfAborted();
    const { startAt } = this.#claim;
    const walked = this.#source.pages({ partition: this.#partition, ...(startAt && { startAt }) });
    const pages = walked[Symbol.asyncIterator]();
    const stop = (): void => void pages.return?.().catch(() => undefined);
    signal.addEventListener('abort', stop, { once: true });
    try {
      for (let isEnd = (startAt?.before ?? 0) > this.#partition; !isEnd;) {
        const next = await pages.next();
        signal.throwIfAborted();
        if (next.done) throw new PluginError(`The walk of ${this.#source.info.name} ended before its partition did.`);
        isEnd = await this.#write(next.value);
        if (isEnd || this.#clock.monotonic() - this.#savedAt < saveEvery) continue;
        const verdict = await this.#save();
        if (verdict !== 'accepted') return verdict;
      }
      return undefined;
    } finally {
      signal.removeEventListener('abort', stop);
      await pages.return?.();
    }
  }

  /** Returns whether the partition ends with this page. */
  async #write(page: Page<unknown>): Promise<boolean> {
    // A source of another copy of the library may not know the option, and walk all partitions.
    if (page.partition !== this.#partition)
      throw new PluginError(`${this.#source.info.name} can't walk one partition by itself. Update its package.`);
    await this.#claim.write(page);
    this.#isSaved = false;
    this.rows += page.items.length;
    return page.endsPartition;
  }

  async #save(): Promise<Verdict> {
    const verdict = await this.#claim.save();
    this.#savedAt = this.#clock.monotonic();
    this.#isSaved = true;
    if (verdict === 'accepted') this.#options.onSaved?.();
    return verdict;
  }
}
