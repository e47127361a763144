import { setMaxListeners } from 'node:events';
import { UnrecoverableError, WaitingError, Worker, type Job } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Run } from '../run/run.js';
import { runPartition, type PartitionOutcome } from '../run/runPartition.js';
import { backoffAfter, findBlame, countFailures, maxFailures, describeError } from './failures.js';
import { decodeJob, queuePrefix } from './runQueue.js';

/** The outcome of a job. */
export type JobEnd =
  | ({ readonly type: 'partition'; readonly partition: number } & PartitionOutcome)
  | {
      readonly type: 'failed';
      readonly partition: number;
      readonly error: unknown;
      /** In a row, without a saved page. */
      readonly failures: number;
      readonly isGivenUp: boolean;
    }
  /** This machine can't work on the run. The job goes to another one. */
  | { readonly type: 'unable'; readonly error: unknown };

/** A partition that is worked on. */
export interface WorkedPartition {
  readonly partition: number;
  /** Ms since 1970. */
  readonly since: number;
}

/** Options of {@link JobWorker}. */
interface JobWorkerOptions {
  readonly run: Run;
  /** That of its queue. */
  readonly name: string;
  /** The connection that waits for jobs. */
  readonly connection: Redis;
  readonly concurrency: number;
  /** Ms after which a job goes to another worker if this one is silent. */
  readonly lostAfter: number;
  /** Ms before the second attempt; each further one waits four times longer. */
  readonly retryAfter: number;
  readonly onEnd: (end: JobEnd) => void;
  readonly onError: (error: unknown) => void;
}

/** Works off the jobs of one run. BullMQ may give a partition to several workers: what counts is decided by its claim. */
export class JobWorker {
  readonly #options: JobWorkerOptions;
  readonly #worker: Worker<unknown>;
  readonly #drain = new AbortController();
  readonly #working = new Map<string, WorkedPartition>();

  constructor(options: JobWorkerOptions) {
    this.#options = options;
    const { connection, concurrency, lostAfter, retryAfter, name } = options;
    this.#worker = new Worker<unknown>(name, (job, token) => this.#process(job, token), {
      connection,
      prefix: queuePrefix,
      concurrency,
      lockDuration: lostAfter,
      stalledInterval: lostAfter,
      maxStalledCount: 1_000_000,
      settings: {
        backoffStrategy: (_attempts, _type, _error, job?: Pick<Job<unknown>, 'data'>) =>
          backoffAfter(decodeJob(job?.data)?.failures ?? 1, retryAfter),
      },
    });
    this.#worker.on('error', options.onError);
    // Each partition listens to it, and Node warns of more than ten.
    setMaxListeners(0, this.#drain.signal);
  }

  get working(): readonly WorkedPartition[] {
    return [...this.#working.values()];
  }

  /** Ends it: what was fetched is saved, and the jobs go to other workers. */
  async close(): Promise<void> {
    // BullMQ gives out no job any more from here on, so none that is given back returns.
    const closed = this.#worker.close();
    this.#drain.abort();
    await closed;
  }

  async #process(job: Job<unknown>, token: string | undefined): Promise<void> {
    const { run, onEnd } = this.#options;
    const content = decodeJob(job.data);
    // A job of a run of the same name that was removed, or one that no feeder added.
    if (content?.run !== run.header.id || content.partition >= run.partitions) return;
    const { partition } = content;
    const id = String(job.id);
    const since = Date.now();
    let hasSaved = false;
    this.#working.set(id, { partition, since });
    const onSaved = (): void => void (hasSaved = true);
    try {
      const outcome = await runPartition({ run, partition, signal: this.#drain.signal, onSaved });
      onEnd({ type: 'partition', partition, ...outcome });
    } catch (error) {
      if (this.#drain.signal.aborted) return await giveBack(job, token);
      if (findBlame(error) === 'machine') {
        onEnd({ type: 'unable', error });
        return await giveBack(job, token);
      }
      const failures = countFailures(content.failures, { error, hasSaved });
      const isGivenUp = failures >= maxFailures;
      onEnd({ type: 'failed', partition, error, failures, isGivenUp });
      await job.updateData({ ...content, failures });
      const kept = isGivenUp ? new UnrecoverableError(describeError(error)) : new Error(describeError(error));
      // BullMQ stores it, and shows it to whoever sees its dashboards.
      kept.stack = '';
      throw kept;
    } finally {
      this.#working.delete(id);
    }
  }
}

/** Lets another worker have the job. That is no failure. */
async function giveBack(job: Job<unknown>, token: string | undefined): Promise<never> {
  await job.moveToWait(token);
  throw new WaitingError();
}
