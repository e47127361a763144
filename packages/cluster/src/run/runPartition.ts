import {
  isTransient,
  PaginationError,
  PluginError,
  SluiceError,
  systemClock,
  type Clock,
  type Page,
  type Position,
} from '@sluice/core';
import { checkOptions, type Claim, type ClaimVerdict, type PageSource } from '@sluice/core/kit';
import type { Run } from './run.js';

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

/** If a partition can't be continued more often, e.g. as its walk is too slow for the API, restarts would never end. */
const maxRestarts = 3;

/**
 * Fetches one partition of a run and commits it: what a worker does for one job. Nothing depends on who else works on
 * the partition: at most one commit counts, and what is left of the others is never read.
 *
 * A partition whose walk can't continue, e.g. since its cursor expired, starts over, three times at most.
 *
 * @throws ConfigError if this machine's source or folder is not the run's, before any request; PaginationError
 * (`cursor-refused`) if it started over as often as it may; what the walk throws
 *
 * @example
 * const { signal } = new AbortController();
 * const run = await segments('/mnt/out/holdings').open({
 *   'aptos.nfts': (params) => client.aptos.nfts(params),
 * });
 * for await (const partition of run.pending()) await runPartition({ run, partition, signal });
 */
export async function runPartition(options: RunPartitionOptions): Promise<PartitionOutcome> {
  checkOptions('runPartition()', options, {
    run: true,
    partition: true,
    signal: true,
    saveEvery: true,
    onSaved: true,
    clock: true,
  });
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
      if (!isDeadEnd(error, claim.startAt !== undefined && walk.pages === 0)) throw error;
      if (claim.restarts >= maxRestarts) {
        await forget(options);
        throw new PaginationError(
          'cursor-refused',
          `Partition ${options.partition} of ${run.header.name} started over ${maxRestarts} times, and can't be continued again. ${error.summary}`,
          { cause: error, details: error.details },
        );
      }
      restarts = claim.restarts + 1;
      rows += walk.rows;
    } finally {
      await claim.close();
    }
  }
}

/** What says that a walk can't continue from where it is, though the same one may succeed from its start. */
const deadEnds: readonly string[] = ['cursor-refused', 'rows-moved', 'no-progress'];

/**
 * Whether the position that was saved leads nowhere: also if the API refuses the very request that continues there.
 *
 * @param isContinuing that request was the first one
 */
function isDeadEnd(error: unknown, isContinuing: boolean): error is SluiceError {
  if (!SluiceError.is(error)) return false;
  if (deadEnds.includes(error.code)) return true;
  if (error.code !== 'http' || !isContinuing) return false;
  const { status, means } = error.details;
  return status !== 401 && status !== 403 && means !== 'renew' && !isTransient(error);
}

/** Lets the next attempt start over: the position that is saved leads nowhere, for good. */
async function forget({ run, partition }: RunPartitionOptions): Promise<void> {
  const claim = await run.claim(partition, 0).catch(() => undefined);
  if (typeof claim === 'object') await claim.close();
}

/** Whether a position is one of the partition's walk. It may come from anywhere. */
function fits(source: PageSource<unknown>, partition: number, startAt: Position | undefined): boolean {
  try {
    source.pages({ partition, startAt });
    return true;
  } catch (error) {
    if (startAt) return false;
    throw error;
  }
}

/** A walk of one partition by one claim. */
class PartitionWalk {
  rows = 0;
  pages = 0;
  readonly #source: PageSource<unknown>;
  readonly #partition: number;
  readonly #claim: Claim<unknown>;
  readonly #options: RunPartitionOptions;
  readonly #clock: Clock;
  #savedAt: number;
  #isSaved = true;

  constructor(source: PageSource<unknown>, partition: number, claim: Claim<unknown>, options: RunPartitionOptions) {
    this.#source = source;
    this.#partition = partition;
    this.#claim = claim;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#savedAt = this.#clock.monotonic();
  }

  async run(): Promise<ClaimVerdict> {
    try {
      return (await this.#walk()) ?? (await this.#claim.commit());
    } catch (error) {
      // Another claim continues after these rows, unless they can't be saved: then that has no worse effect.
      if (!this.#isSaved) await this.#save().catch(() => undefined);
      throw error;
    }
  }

  /** `undefined` once all pages are written. */
  async #walk(): Promise<Exclude<ClaimVerdict, 'accepted'> | undefined> {
    const { signal, saveEvery = 1_000 } = this.#options;
    signal.throwIfAborted();
    const { startAt } = this.#claim;
    const walked = this.#source.pages({ partition: this.#partition, startAt, repeats: 'keep' });
    const pages = walked[Symbol.asyncIterator]();
    const stop = (): void => void pages.return?.().catch(() => undefined);
    signal.addEventListener('abort', stop, { once: true });
    try {
      for (let isEnd = (startAt?.before ?? 0) > this.#partition; !isEnd;) {
        const next = await pages.next();
        signal.throwIfAborted();
        if (next.done) throw new PluginError(`The walk of ${this.#source.info.name} ended before its partition did.`);
        await this.#write(next.value);
        isEnd = next.value.endsPartition;
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

  async #write(page: Page<unknown>): Promise<void> {
    // A source of another copy of the library may not know the option, and walk all partitions.
    if (page.partition !== this.#partition)
      throw new PluginError(`${this.#source.info.name} can't walk one partition by itself. Update its package.`);
    await this.#claim.write(page);
    this.#isSaved = false;
    this.rows += page.items.length;
    this.pages += 1;
  }

  async #save(): Promise<ClaimVerdict> {
    const verdict = await this.#claim.save();
    this.#savedAt = this.#clock.monotonic();
    this.#isSaved = true;
    if (verdict === 'accepted') this.#options.onSaved?.();
    return verdict;
  }
}
