import { checkCount } from '../checks.js';
import { ConfigError } from '../errors.js';
import { Flow } from '../source/flow.js';
import type { PageSource } from '../source/pageSource.js';
import { done, cancellable, type PullIterator } from '../source/cancellable.js';
import { ExportRun, type ExportOptions, type ExportProgress, type ExportReport } from './exportRun.js';
import type { Sink } from './sink.js';

/**
 * Moves a source into a sink, page by page: the next page is fetched while this one is written, and no further.
 *
 * Cold: nothing happens before you subscribe, pull or call `run`. The last value is the report. With `state`, it resumes where an
 * interrupted run of the same plan stopped.
 *
 * @example
 * const report = await exportTo(client.aptos.walletNfts({ ownerAddresses }), csv({ path: 'holdings.csv' })).run();
 *
 * @throws SinkError if the target can't be written, CheckpointError if the state does not fit, LockError if it is in use,
 * and whatever the source raises.
 */
export function exportTo<T>(source: PageSource<T>, sink: Sink<T>, options: ExportOptions = {}): ExportFlow {
  const { commitEvery, onExpired, state } = options;
  if (commitEvery !== undefined) checkCount('commitEvery', commitEvery);
  if (onExpired === 'restart-partition' && (!state || !sink.withoutPartition))
    throw new ConfigError(
      `onExpired: 'restart-partition' needs ${state ? 'a sink that can take rows back, as one on a file' : 'state, to know which rows to take back'}.`,
    );
  return new ExportFlow(() => {
    const run = new ExportRun(source, sink, options);
    const steps = cancellable(
      () => run.step(),
      () => run.end(),
    );
    return { steps, report: () => run.report };
  });
}

interface OpenExport {
  readonly steps: PullIterator<ExportProgress | ExportReport>;
  readonly report: () => ExportReport | undefined;
}

/** How an export is run to its end. */
export interface RunOptions {
  /** Stops it: the promise rejects with `signal.reason`, unless the target was in place already. */
  readonly signal?: AbortSignal;
  /** Called after each page. */
  readonly onProgress?: (progress: ExportProgress) => void;
}

/** A flow of progress, which can also be awaited as a whole. */
export class ExportFlow extends Flow<ExportProgress | ExportReport> {
  readonly #open: () => OpenExport;

  constructor(open: () => OpenExport) {
    super(() => {
      const { steps } = open();
      return cancellable<(ExportProgress | ExportReport)[]>(
        async () => {
          const next = await steps.next();
          return next.done ? done : { done: false, value: [next.value] };
        },
        async () => {
          await steps.return();
        },
      );
    });
    this.#open = open;
  }

  /**
   * Runs the export to its end. An `await` on the flow itself would do nothing, since a flow is cold.
   *
   * Settles after the target is closed and the lock is released.
   *
   * @example await exportTo(source, sink).run({ signal: AbortSignal.timeout(60_000), onProgress: ({ rows }) => console.error(rows) });
   */
  async run({ signal, onProgress }: RunOptions = {}): Promise<ExportReport> {
    signal?.throwIfAborted();
    const { steps, report } = this.#open();
    const stop = (): void => {
      // What goes wrong in closing is told below, by the same call.
      steps.return().catch(() => undefined);
    };
    signal?.addEventListener('abort', stop, { once: true });
    try {
      for await (const step of steps) if (!step.isDone) onProgress?.(step);
    } catch (error) {
      // What closing raises must not hide why it was closed.
      await steps.return().catch(() => undefined);
      throw error;
    } finally {
      signal?.removeEventListener('abort', stop);
    }
    const outcome = report();
    if (!outcome) {
      await steps.return().catch(() => undefined);
      // It may have come that far while it was being closed.
      const late = report();
      if (late) return late;
      signal?.throwIfAborted();
      throw new Error('An export ended without a report.');
    }
    await steps.return();
    return outcome;
  }
}
