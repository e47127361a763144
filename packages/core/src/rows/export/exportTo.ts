import { checkCount, checkNumbers, checkOptions } from '../../checks.js';
import { ConfigError } from '../../errors.js';
import { Flow } from '../source/flow.js';
import { checkSource, type PageSource } from '../source/pageSource.js';
import { checkRepeats } from '../source/pagesOptions.js';
import { exportOptionNames, type ExportOptions } from './exportOptions.js';
import type { ExportProgress, ExportReport } from './exportOptions.js';
import { ExportRun } from './exportRun.js';
import { checkSink, isHanging } from '../sink/guardSink.js';
import type { Sink } from '../sink/sink.js';

/**
 * Moves a source into a sink, page by page: the next page is fetched while this one is written, and no further.
 *
 * Cold: nothing happens before you subscribe, pull or call `run`. The last value is the report. With `state`, it
 * resumes where an interrupted run of the same plan stopped.
 *
 * @example
 * const report = await exportTo(client.aptos.nfts({ ownerAddresses }), csv({ path: 'holdings.csv' })).run();
 *
 * @throws SinkError if the target can't be written, CheckpointError if the state does not match, LockError if it is in
 * use, and whatever the source raises.
 */
export function exportTo<T>(source: PageSource<T>, sink: Sink<T>, options: ExportOptions = {}): ExportFlow {
  checkSource('exportTo()', source);
  checkSink('exportTo()', sink);
  checkOptions('exportTo()', options, exportOptionNames);
  if (typeof options.incremental === 'object')
    checkOptions('incremental of exportTo()', options.incremental, { from: true, until: true, full: true });
  const { commitEvery, onExpired, incremental, stopWithin = 0, resumeWithin = 0, requireTotal = false } = options;
  if (options.state && sink.state)
    throw new ConfigError(`The sink ${sink.name} keeps its own checkpoints in its target: leave out state.`, {
      option: 'state',
    });
  const state = options.state ?? sink.state;
  checkNumbers('export', { stopWithin, resumeWithin }, (ms) => ms >= 0, 'of at least 0');
  if (commitEvery !== undefined) checkCount('commitEvery', commitEvery);
  if (onExpired === 'restart-partition' && (!state || !sink.withoutPartition))
    throw new ConfigError(
      `onExpired: 'restart-partition' needs ${state ? 'a sink that can remove rows, such as a file' : 'state, to know which rows to remove'}.`,
    );
  const { repeats = 'keep' } = options;
  checkRepeats(source.info, repeats);
  const { name, maxRows, isEndless } = source.info;
  if (repeats !== 'keep' && (incremental || isEndless))
    throw new ConfigError(
      (option = `repeats: '${repeats}'`) =>
        `${option} can't be met: ${name} is exported ${incremental ? 'incrementally, so a row comes again when it changes' : 'without an end, so its keys are not kept'}.`,
      { option: 'repeats' },
    );
  if (requireTotal && (incremental || isEndless || maxRows !== undefined))
    throw new ConfigError(
      (option = 'requireTotal') =>
        `${option} can't be met: ${name} is exported ${incremental ? 'incrementally' : isEndless ? 'without an end' : 'up to maxRows'}, so its rows are not all that the API counts.`,
      { option: 'requireTotal' },
    );
  if (incremental && !state)
    throw new ConfigError('incremental needs state, where the mark of the last export is kept.');
  return new ExportFlow(() => new ExportRun(source, sink, options));
}

/** Options of {@link ExportFlow.run}. */
export interface RunOptions {
  /**
   * Cancels the export: the promise rejects with `signal.reason`, unless the target was published already. With state,
   * it first commits what is fetched: see `stopWithin`. If a call of the sink or the state does not end within 30 s after
   * that, the promise rejects with a SinkError or PluginError that names it.
   */
  readonly signal?: AbortSignal | undefined;
  /** Called after each page. */
  readonly onProgress?: ((progress: ExportProgress) => void) | undefined;
}

/** A flow of progress that can also be run as a whole. */
export class ExportFlow extends Flow<ExportProgress | ExportReport> {
  readonly #open: () => Pick<ExportRun<never>, 'steps' | 'report'>;

  constructor(open: () => Pick<ExportRun<never>, 'steps' | 'report'>) {
    super(() => open().steps);
    this.#open = open;
  }

  /**
   * Runs the export to its end. Settles after the target is closed and the lock is released. An `await` on the flow
   * itself would do nothing, since a flow is cold.
   *
   * @example
   * const signal = AbortSignal.timeout(60_000);
   * await exportTo(source, sink).run({ signal, onProgress: ({ rows }) => console.error(rows) });
   */
  async run(options: RunOptions = {}): Promise<ExportReport> {
    checkOptions('run()', options, { signal: true, onProgress: true });
    const { signal, onProgress } = options;
    signal?.throwIfAborted();
    const run = this.#open();
    const { steps } = run;
    const stop = (): void => {
      // The call of `return` below raises errors of closing.
      steps.return().catch(() => undefined);
    };
    signal?.addEventListener('abort', stop, { once: true });
    try {
      for await (const [step] of steps) if (!step.isDone) onProgress?.(step);
    } catch (error) {
      // An error of closing must not hide why it was closed.
      await steps.return().catch(() => undefined);
      throw error;
    } finally {
      signal?.removeEventListener('abort', stop);
    }
    const isFinished = run.report !== undefined;
    await steps.return().catch((error: unknown) => {
      if (isFinished || isHanging(error)) throw error;
    });
    // A stopped export may have finished while it was closed.
    if (run.report) return run.report;
    signal?.throwIfAborted();
    throw new Error('An export ended without a report.');
  }
}
