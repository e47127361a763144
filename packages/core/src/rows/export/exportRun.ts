import { abortable, abortableBy } from '../../abortable.js';
import { settlesWithin, systemClock } from '../../clock.js';
import { reportOf } from '../../errorReport.js';
import { redactThrown } from '../../redactError.js';
import { amend, SluiceError } from '../../errors.js';
import { reportGap } from '../../totals.js';
import type { Page } from '../source/page.js';
import type { PageSource } from '../source/pageSource.js';
import { notify } from '../source/sourceEvent.js';
import { cancellable, done, type PullIterator } from '../source/cancellable.js';
import { Commits } from './commits.js';
import type { ExportOptions, ExportReport, ExportStep } from './exportOptions.js';
import { guardSink, guardStore, isHanging } from '../sink/guardSink.js';
import { createIncrements } from './increments/increments.js';
import type { Release } from '../sink/lockQueue.js';
import { describeOldRows, doubtOldRows } from './oldRows.js';
import { openExport, type ExportJob, type OpenExport } from './openExport.js';
import { reportCalls, reportOutages } from './reports.js';
import { startOver } from './startOver.js';
import type { Sink, SinkReport, SinkWriter } from '../sink/sink.js';
import { findTotalGap, judgeEnd } from './walkEnd.js';

/** Default: ms in which a cancelled export commits what it has fetched. */
const usualStop = 2_000;

/** One run of an export: see "What happens in an export" in ARCHITECTURE.md. */
export class ExportRun<T> {
  readonly steps: PullIterator<ExportStep>;
  report: ExportReport | undefined;
  readonly #job: ExportJob<T>;
  /** After a cancel, the walk emits the pages that it has fetched. */
  readonly #isDrainable: boolean;
  readonly #stopped = new AbortController();
  readonly #untilStopped = abortableBy(this.#stopped.signal);
  readonly #cancelled = new AbortController();
  #release: Release | undefined;
  #opened: OpenExport<T> | undefined;
  /** Ms that a cancel leaves the sink to commit. */
  #grace = 0;
  #failure: unknown;

  constructor(source: PageSource<T>, sink: Sink<T>, options: ExportOptions) {
    const { clock = systemClock } = options;
    const { info } = source;
    const guard = { clock, signal: this.#cancelled.signal };
    const guardedSink = guardSink(sink, { ...guard, onCall: reportCalls(info, sink.name, clock) });
    const ofState = { ...guard, onCall: reportCalls(info, sink.name, clock, 'state.') };
    const state = guardedSink.state ?? (options.state && guardStore(options.state, 'The state store', ofState));
    const requested = { info, sink: guardedSink, state, options, clock };
    const setup = { ...requested, companion: createIncrements(requested) };
    const commits = new Commits(setup);
    this.#job = {
      ...setup,
      source,
      commits,
      restarts: new Map(),
      stopWithin: state ? (options.stopWithin ?? usualStop) : 0,
      stopped: this.#stopped.signal,
      cancelled: this.#cancelled.signal,
    };
    this.#isDrainable = info.isDrainable === true && commits.keepRows;
    const run = this.#run();
    this.steps = cancellable(
      () => run.next(),
      () => this.#end(run),
    );
  }

  async *#run(): AsyncGenerator<ExportStep, undefined> {
    if (this.#isStopped()) return;
    try {
      const { info, sink, state } = this.#job;
      this.#release = await state?.lock(this.#stopped.signal, 'export', reportOutages(info, sink.name));
      yield* this.#export();
    } catch (error) {
      // Sinks know no secrets, and quote rows, which may have them.
      this.#failure = redactThrown(error, this.#job.info.endpoint);
      if (this.#isStopped()) return;
      const { name, endpoint } = this.#job.info;
      notify(endpoint, { type: 'error', of: 'export', name, error: reportOf(this.#failure) });
      throw this.#failure;
    }
  }

  /** Opens, and exports from there; again where a partition starts over, or a new run replaces an earlier one. */
  async *#export(): AsyncGenerator<ExportStep, undefined> {
    const found = await openExport(this.#job);
    if ('finished' in found) {
      yield this.#finished(found.finished);
      return;
    }
    let opened = found;
    for (;;) {
      this.#opened = opened;
      try {
        yield* this.#exportFrom(opened);
        return;
      } catch (error) {
        if (this.#isStopped()) throw error;
        const openAgain = await startOver(this.#job, error, opened);
        this.#grace = 0;
        this.#opened = undefined;
        await opened.stopPages();
        await opened.writer.abort(error, { isResumable: true });
        opened = await openAgain();
      }
    }
  }

  /** Writes page by page, and commits; at the end seals and closes. A cancelled export ends without a seal. */
  async *#exportFrom(opened: OpenExport<T>): AsyncGenerator<ExportStep, undefined> {
    const { commits, stopWithin } = this.#job;
    const { writer } = opened;
    await commits.begin(writer);
    this.#grace = stopWithin;
    // Before the first request, so that users see at once what was kept.
    if (commits.checkpoint?.sinkPosition !== undefined) yield this.#progress();
    while (!commits.checkpoint?.isSealed) {
      const next = await this.#nextPage(opened);
      if (next.done) break;
      await this.#write(next.value, opened);
      if (commits.isDue || writer.isFull) await commits.commit(writer);
      yield this.#progress();
    }
    // A cancelled walk ends like a complete one, but only a complete one may be sealed.
    if (!this.#isStopped()) yield this.#finished(await this.#complete(writer));
    else if (commits.isBehind) await commits.commit(writer);
  }

  /** The next page. After a cancel only one that is fetched already: none may be skipped, those after it belong behind it. */
  async #nextPage({ pages, writer, hasWritten }: OpenExport<T>): Promise<IteratorResult<Page<T>, unknown>> {
    const { clock, state, commits, cancelled } = this.#job;
    if (this.#isStopped() && !this.#isDrainable) return done;
    const next = pages.next();
    const { failed } = writer;
    const untilStopped = this.#untilStopped(failed ? abortable(next, failed) : next);
    // Pages may come in bursts: written rows do not wait for the next page to be committed.
    if (!(await settlesWithin(clock, commits.left, untilStopped))) await commits.commit(writer);
    try {
      return await untilStopped;
    } catch (error) {
      if (!this.#isStopped()) {
        // The position records which page was repeated, so the next run refuses it before it takes its rows.
        const isRepeated = SluiceError.is(error, 'no-progress') && hasWritten;
        const isUnkept = !state && commits.isBehind;
        if (isRepeated || isUnkept) await commits.commit(writer).catch(() => undefined);
        throw error;
      }
    }
    if (!this.#isDrainable) return done;
    // A page that can't be decoded ends it, like the end of the time: what is before it is committed.
    return abortable(next, cancelled).catch(() => done);
  }

  async #write(page: Page<T>, opened: OpenExport<T>): Promise<void> {
    const { items, partition, endsPartition, receivedAt, health, commit, isContinued, unconfirmed, walk } = page;
    const generation = commit && health?.generation;
    opened.hasWritten = true;
    const ofWatch = { isContinued, generation, unconfirmed, walk };
    const { commits } = this.#job;
    const scope = commits.scopeOf(page);
    await opened.writer.write({ items, scope, partition, endsPartition, receivedAt, ...ofWatch });
    commits.add(page);
  }

  async #complete(writer: SinkWriter<T>): Promise<SinkReport> {
    const { info, commits, options } = this.#job;
    // Not earlier: if the rows could not be resumed, a new run has replaced them.
    if (commits.oldRows) options.onWarning?.(describeOldRows(commits.oldRows));
    if (!commits.checkpoint?.isSealed) {
      if (info.isEndless && writer.suspend) {
        // It ended only for now: the checkpoint stays, and the next run resumes.
        await commits.commit(writer);
        return writer.suspend();
      }
      const end = doubtOldRows(judgeEnd(this.#job, commits), commits.oldRows);
      // A seal may take long. Repeated by the next run, it loses nothing.
      if (!commits.isBehind) this.#grace = 0;
      await commits.seal(writer, end);
    }
    this.#grace = 0;
    const report = await writer.close();
    await commits.finish();
    return report;
  }

  /**
   * Cancels the walk at once, commits what it has fetched, then closes everything.
   *
   * @throws SinkError or PluginError if a call of the sink or the state never ended.
   */
  async #end(run: AsyncGenerator<ExportStep, undefined>): Promise<void> {
    this.#stopped.abort();
    const { clock, stopWithin } = this.#job;
    const until = clock.monotonic() + stopWithin;
    const stopTimer = this.#cancelSinkLater();
    if (!this.#isDrainable) void this.#opened?.stopPages();
    // A write can't be interrupted half-way, so a cancelled run goes on to its end. Its failure is recorded.
    while (!(await run.next()).done);
    if (this.#failure !== undefined) this.#cancelSink();
    try {
      await this.#opened?.stopPages(until - clock.monotonic());
      if (this.#opened && !this.report) await this.#abort(this.#opened);
      await this.#job.commits.close();
    } finally {
      stopTimer();
      this.#cancelSink();
      await this.#release?.();
    }
    if (isHanging(this.#failure)) throw this.#failure;
  }

  #cancelSinkLater(): () => void {
    if (this.#grace > 0) return this.#job.clock.after(this.#grace, () => this.#cancelSink());
    this.#cancelSink();
    return () => undefined;
  }

  #cancelSink(): void {
    this.#cancelled.abort(this.#stopped.signal.reason);
  }

  /**
   * Aborts the sink. Without a commit it removes its target, and the checkpoint is removed. Rows of an endless source
   * are kept, since it does not emit them again.
   */
  async #abort(opened: OpenExport<T>): Promise<void> {
    const { commits } = this.#job;
    const failure = this.#failure;
    const isResumable = this.#isResumable(opened) || !(await commits.forgetSinkPosition());
    try {
      // If this fails, the checkpoint stays: it says that what is left in the target is ours.
      await opened.writer.abort(failure, { isResumable });
      if (!isResumable) await commits.remove();
    } catch (error) {
      // It must not hide the original error.
      if (!isHanging(error)) return;
      if (failure === undefined || failure === this.#cancelled.signal.reason) this.#failure = error;
      else if (SluiceError.is(failure) && error !== failure) amend(failure, error.summary);
    }
  }

  /** Whether the next run can use what the sink has. */
  #isResumable({ isResumed, hasWritten }: OpenExport<T>): boolean {
    const { state, sink, commits } = this.#job;
    if (!state) return commits.keepRows;
    if (isLost(this.#failure)) return false;
    const { sinkPosition, pages = 0, isSealed = false } = commits.checkpoint ?? {};
    if (sinkPosition === undefined) return false;
    // Also one without rows: a sink keeps what is complete, and only the checkpoint says whose it is.
    if (isSealed) return true;
    if (!isResumed && !hasWritten) return false;
    // An exactly-once sink truncates what follows its last commit. If that has no pages, keeping it would only refuse a
    // next export with other settings. Other sinks may have passed rows on.
    return pages > 0 || sink.delivery !== 'exactly-once';
  }

  #isStopped(): boolean {
    return this.#stopped.signal.aborted;
  }

  #progress(): ExportStep {
    return [{ isDone: false, ...this.#job.commits.counts }];
  }

  #finished(report: SinkReport & Pick<ExportReport, 'finishedAt'>): ExportStep {
    const { commits } = this.#job;
    const { repeated } = commits.position;
    this.report = {
      ...commits.counts,
      ...report,
      isDone: true,
      ...(commits.isIncomplete && { isIncomplete: true }),
      ...reportGap(findTotalGap(commits)),
      ...(repeated !== undefined && { repeatedRows: repeated }),
      ...(commits.oldRows && { oldRows: commits.oldRows }),
    };
    return [this.report];
  }
}

/** Whether a sink reports that nothing is left to resume. */
function isLost(failure: unknown): boolean {
  return SluiceError.is(failure) && failure.details['isLost'] === true;
}
