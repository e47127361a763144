import type { Run } from '../run/run.js';
import { backoffAfter, maxFailures } from './failures.js';
import type { RunQueue } from './runQueue.js';

/** Partitions that were given up, beyond which no more jobs are added: something is wrong with all of them. */
const maxFailed = 1_000;

/** Options of {@link Feeder}. */
interface FeederOptions {
  readonly run: Run;
  readonly queue: RunQueue;
  readonly worker: string;
  /** Ms for which a worker alone adds jobs, unless it renews that. Default 15,000. */
  readonly leaseFor?: number;
  /** Ms of the longest delay before a partition is tried again. Default 128,000. */
  readonly longestDelay?: number;
}

/**
 * Keeps the queue of a run filled. One worker at a time does that; if several do, or start over since Redis lost its
 * data, partitions are queued twice, and the second job finds that nothing is left to do.
 */
export class Feeder {
  readonly #options: FeederOptions;
  #pending: AsyncGenerator<number, void> | undefined;
  #isExhausted = false;
  /** Since when all jobs are delayed, by a clock that nobody sets. */
  #delayedSince: number | undefined;

  constructor(options: FeederOptions) {
    this.#options = options;
  }

  /** Adds jobs if need be. Returns how many partitions have failed once nothing else is left to do. */
  async step(): Promise<number | undefined> {
    const { queue, worker, run, leaseFor = 15_000 } = this.#options;
    const lease = await queue.lease(worker, leaseFor);
    if (lease !== 'held') await this.#reset();
    if (lease === undefined) return undefined;
    const { failed } = await queue.counts();
    if (failed < maxFailed && !this.#isExhausted) {
      this.#pending ??= listPending(run, await queue.fed(), await this.#failed());
      this.#isExhausted = await queue.fill(this.#pending, run.header.id, (next) => queue.setFed(next));
    }
    if (failed < maxFailed && !this.#isExhausted) return undefined;
    const { waiting, active, delayed } = await queue.counts();
    if (delayed === 0 || waiting + active > 0) this.#delayedSince = undefined;
    else await this.#endLongDelays();
    return waiting + active + delayed === 0 ? this.#sweep(failed) : undefined;
  }

  /** The worker that delayed a job has said until when, by its own clock. If that is ahead, others would wait for hours. */
  async #endLongDelays(): Promise<void> {
    const { queue, longestDelay = backoffAfter(maxFailures - 1) } = this.#options;
    this.#delayedSince ??= performance.now();
    if (performance.now() - this.#delayedSince < longestDelay) return;
    await queue.queue.promoteJobs();
    this.#delayedSince = undefined;
  }

  /** Looks for partitions whose jobs were lost, once the queue is empty. Only the target knows what is done. */
  async #sweep(jobs: number): Promise<number | undefined> {
    const { queue, run } = this.#options;
    const failed = await this.#failed();
    if (jobs >= maxFailed) return failed.size;
    const missing = listPending(run, 0, failed);
    const isMissing = (await missing.next()).done !== true;
    await missing.return();
    if (!isMissing) return failed.size;
    await queue.setFed(0);
    await this.#reset();
    return undefined;
  }

  /** Partitions that were given up, which need no other job. */
  async #failed(): Promise<ReadonlySet<number>> {
    return new Set((await this.#options.queue.failed(maxFailed)).map(({ partition }) => partition));
  }

  /** Begins to read what is pending again, when jobs are added next. */
  async #reset(): Promise<void> {
    await this.#pending?.return();
    this.#pending = undefined;
    this.#isExhausted = false;
  }

  /** Lets another worker add jobs. */
  async close(): Promise<void> {
    await this.#reset();
    await this.#options.queue.release(this.#options.worker);
  }
}

async function* listPending(run: Run, first: number, skipped: ReadonlySet<number>): AsyncGenerator<number, void> {
  for await (const partition of run.pending()) if (partition >= first && !skipped.has(partition)) yield partition;
}
