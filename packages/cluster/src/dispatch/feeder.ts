import type { Run } from '../run/run.js';
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
}

/**
 * Keeps the queue of a run filled. One worker at a time does that; if several do, or start over since Redis lost its
 * data, partitions are queued twice, and the second job finds that nothing is left to do.
 */
export class Feeder {
  readonly #options: FeederOptions;
  #pending: AsyncGenerator<number, void> | undefined;
  #isExhausted = false;

  constructor(options: FeederOptions) {
    this.#options = options;
  }

  /** Adds jobs if need be. Returns how many partitions have failed once nothing else is left to do. */
  async step(): Promise<number | undefined> {
    const { queue, worker, run, leaseFor = 15_000 } = this.#options;
    const lease = await queue.lease(worker, leaseFor);
    if (lease !== 'held') await this.#startAt(lease === undefined ? undefined : await queue.fed());
    if (lease === undefined) return undefined;
    const failed = await queue.failedCount();
    if (failed < maxFailed && !this.#isExhausted) {
      this.#pending ??= pendingFrom(run, await queue.fed(), []);
      this.#isExhausted = await queue.fill(this.#pending, run.header.id, (next) => queue.setFed(next));
    }
    if (failed < maxFailed && !this.#isExhausted) return undefined;
    return (await queue.isEmpty()) ? this.#sweep() : undefined;
  }

  /** Looks for partitions whose jobs were lost, once the queue is empty. Only the target knows what is done. */
  async #sweep(): Promise<number | undefined> {
    const { queue, run } = this.#options;
    const failed = (await queue.failed(maxFailed)).map(({ partition }) => partition);
    if (failed.length >= maxFailed) return failed.length;
    const missing = pendingFrom(run, 0, failed);
    const isMissing = (await missing.next()).done !== true;
    await missing.return();
    if (!isMissing) return new Set(failed).size;
    await queue.setFed(0);
    await this.#startAt(0, failed);
    return undefined;
  }

  async #startAt(partition: number | undefined, skipped: readonly number[] = []): Promise<void> {
    await this.#pending?.return();
    this.#pending = partition === undefined ? undefined : pendingFrom(this.#options.run, partition, skipped);
    this.#isExhausted = false;
  }

  /** Lets another worker add jobs. */
  async close(): Promise<void> {
    await this.#startAt(undefined);
    await this.#options.queue.release(this.#options.worker);
  }
}

async function* pendingFrom(run: Run, first: number, skipped: readonly number[]): AsyncGenerator<number, void> {
  const without = new Set(skipped);
  for await (const partition of run.pending()) if (partition >= first && !without.has(partition)) yield partition;
}
