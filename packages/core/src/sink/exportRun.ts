import { abortable } from '../abortable.js';
import { settlesWithin, systemClock, type Clock } from '../clock.js';
import { reportOf } from '../errorReport.js';
import { SluiceError } from '../errors.js';
import { newId as randomId, type Identifiers } from '../identifiers.js';
import { startOfPlan, type Position } from '../position.js';
import type { Json } from '../source/definition.js';
import type { Page } from '../source/page.js';
import type { PageSource } from '../source/pageSource.js';
import { tell } from '../source/sourceEvent.js';
import { done } from '../source/cancellable.js';
import { checkpointWithoutPartition, type Checkpoint } from './checkpoint.js';
import { CommitPace } from './commitPace.js';
import { ExportTally, type ExportCounts } from './exportCounts.js';
import { checkpointName, findCheckpoint } from './findCheckpoint.js';
import type { Release } from './lockQueue.js';
import type { Sink, SinkContext, SinkReport, SinkWriter } from './sink.js';
import type { StateStore } from './stateStore.js';

/** Options of an export. */
export interface ExportOptions extends Identifiers {
  /**
   * Where checkpoints are stored. Default: none, so an export that fails starts over. Rows of an endless source stay in the target, but the
   * export cannot be resumed.
   */
  readonly state?: StateStore;
  /**
   * Pages between two commits. Default: the export commits once a second (less often if commits are slow), and after 200 pages at the
   * latest. With fewer pages, less is fetched again after a crash, but each commit waits some ms for the disk.
   */
  readonly commitEvery?: number;
  /** Partitions of the plan walked at once. Default 1. */
  readonly concurrency?: number;
  /** Pages fetched ahead of the sink, beyond one for each partition that is walked. Default: the concurrency. */
  readonly prefetch?: number;
  /** Starts over and ignores what an earlier run left. Default `false`. */
  readonly restart?: boolean;
  /** Resumes a checkpoint that was made with another key of the same project. Default `false`. */
  readonly sameProject?: boolean;
  /**
   * What to do when the API refuses a cursor, e.g. an expired one. `fail` (the default) stops and keeps the rows. `restart-partition`
   * removes the rows of that partition and walks it again, three times at most. It needs `state`, and a sink that can remove rows.
   */
  readonly onExpired?: 'fail' | 'restart-partition';
  /** Called with warnings that do not fail the export. */
  readonly onWarning?: (message: string) => void;
  /**
   * Called with what the next run resumes from, whenever that changes: first what an earlier run left, then each commit. `undefined` if no
   * row is committed, and when the export has finished. It is not called before the state was read.
   */
  readonly onCommitted?: (checkpoint: Checkpoint | undefined) => void;
  /** Says when a second has passed since the last commit. Default: the machine's clock, whatever the client's is. */
  readonly clock?: Clock;
}

/** How far an export has come. */
export interface ExportProgress extends ExportCounts {
  readonly isDone: false;
}

/** What an export that reached its end has done. */
export interface ExportReport extends ExportCounts, SinkReport {
  readonly isDone: true;
  /**
   * When an earlier run finished this export (ISO 8601), whose target is still as it left it: nothing was asked for or written. Absent
   * where this run finished it.
   */
  readonly finishedAt?: string;
}

type Step = IteratorResult<ExportProgress | ExportReport, undefined>;

/** A partition whose cursor is refused more often is walked too slowly for the API: walking it anew would never end. */
const maxRestartsOfPartition = 3;

/** One run of an export: opens, writes page by page, commits, closes. */
export class ExportRun<T> {
  report: ExportReport | undefined;
  readonly #source: PageSource<T>;
  readonly #sink: Sink<T>;
  readonly #options: ExportOptions;
  readonly #clock: Clock;
  readonly #pace: CommitPace;
  readonly #ending = new AbortController();
  readonly #tally = new ExportTally();
  readonly #restarts = new Map<number, number>();
  #release: Release | undefined;
  #writer: SinkWriter<T> | undefined;
  #pages: AsyncIterator<Page<T>> | undefined;
  #checkpoint: Checkpoint | undefined;
  #last: Page<T> | undefined;
  /** Something of this plan was given to the sink, now or by an earlier run. */
  #isBegun = false;
  /** The sink is at work, or failed: then it is only to be given up. */
  #isSinkBusy = false;
  #failure: unknown;
  /** The step under way: whoever ends the run waits for it, since a write can't be taken back half-way. */
  #current: Promise<unknown> = Promise.resolve();

  constructor(source: PageSource<T>, sink: Sink<T>, options: ExportOptions) {
    const { commitEvery, clock = systemClock } = options;
    this.#source = source;
    this.#sink = sink;
    this.#options = options;
    this.#clock = clock;
    this.#pace = new CommitPace({ commitEvery, clock });
  }

  step(): Promise<Step> {
    const step = this.report ? Promise.resolve(done) : this.#advance();
    this.#current = step.catch((error: unknown) => {
      this.#failure = error;
      if (!this.#isEnding()) this.#tellError(error);
    });
    return step;
  }

  /** Stops the walk at once, then closes what is open. */
  async end(): Promise<void> {
    this.#ending.abort();
    const stopped = this.#stopPages();
    await this.#current;
    // A watch has state of its own to let go of.
    if (this.#source.info.isEndless) await stopped;
    try {
      if (!this.report) await this.#giveUp();
    } finally {
      await this.#release?.();
    }
  }

  /** Not every source stops as fast as ours: what it still does concerns nobody any more. */
  async #stopPages(): Promise<void> {
    await this.#pages?.return?.().catch(() => undefined);
  }

  /**
   * Without a commit there is nothing to go on from: the sink clears away what it began, and no checkpoint speaks of it. But what an endless
   * source gave was taken for good, and will not come again.
   */
  async #giveUp(): Promise<void> {
    if (!this.#writer) return;
    const isKept = this.#isKeptWithoutState;
    const isResumable = isKept || (this.#isBegun && this.#isWorthKeeping && !isLost(this.#failure));
    // That these may fail too must not hide why.
    if (isKept && this.#pace.isBehind && !this.#isSinkBusy) await this.#commitIfPossible().catch(() => undefined);
    // Then the checkpoint stays, and says that what is left is ours.
    const isGivenUp = await this.#writer.abort(this.#failure, { isResumable }).then(
      () => true,
      () => false,
    );
    if (isGivenUp && !isResumable) await this.#removeCheckpoint().catch(() => undefined);
  }

  #isEnding(): boolean {
    return this.#ending.signal.aborted;
  }

  async #advance(): Promise<Step> {
    if (!this.#writer) {
      const finished = await this.#begin();
      if (finished) return this.#done(finished);
      // Told before anything is asked for, so that people know at once what is kept.
      if (this.#checkpoint?.sinkPosition !== undefined) return this.#progress();
    }
    const writer = this.#opened;
    if (this.#checkpoint?.isSealed) return this.#finish(writer);
    if (this.#isEnding()) return done;
    const next = await this.#nextPage();
    // A walk that is stopped ends like one that is through: only the latter may be sealed.
    if (this.#isEnding()) return done;
    if (next === 'restarted') return this.#progress();
    if (next.done) {
      if (this.#source.info.isEndless && writer.suspend) {
        // It ended, but not for good: the checkpoint stays, and the next run goes on.
        await this.#commitIfPossible();
        return this.#done(await writer.suspend());
      }
      await this.#commit(await writer.seal(), { isSealed: true, ...(this.#last && { position: this.#last.position }) });
      if (this.#checkpoint) this.#tellCommit(true);
      return this.#finish(writer);
    }
    const page = next.value;
    this.#isBegun = true;
    this.#isSinkBusy = true;
    await writer.write({ items: page.items, partition: page.partition, endsPartition: page.endsPartition });
    this.#isSinkBusy = false;
    this.#tally.add(page);
    this.#last = page;
    this.#pace.add(page);
    if (this.#pace.isDue) await this.#commitIfPossible();
    return this.#progress();
  }

  /** Locks, finds out where to go on, and opens what is needed; unless an earlier run has finished, which answers what that has left. */
  async #begin(): Promise<(SinkReport & Pick<ExportReport, 'finishedAt'>) | undefined> {
    const { state, restart = false, sameProject = false } = this.#options;
    this.#release = await state?.lock(this.#ending.signal);
    if (!state) {
      await this.#open({ restart });
      return undefined;
    }
    const { newId, sha256 } = this.#options;
    const search = { info: this.#source.info, sink: this.#sink, state, restart, sameProject, newId, sha256 };
    const { checkpoint, isNew, finished } = await findCheckpoint(search);
    this.#checkpoint = checkpoint;
    if (!restart) this.#tellCommitted(checkpoint);
    const { sinkPosition, isSealed = false, finishedAt } = checkpoint;
    this.#tally.resume(checkpoint);
    if (finished) return { ...finished, ...(finishedAt !== undefined && { finishedAt }) };
    if (!isNew) {
      // Without a place it was killed before its first commit. What lies there was checked to be nobody else's, so it is ours.
      await this.#open(sinkPosition === undefined ? { restart: true } : { resumeAt: { sinkPosition, isSealed } });
      await this.#commitStart();
      this.#isBegun = sinkPosition !== undefined;
      return undefined;
    }
    await this.#sink.check?.(this.#context({ restart }));
    if (restart) await this.#source.info.checkRestart?.(this.#ending.signal);
    await this.#save(checkpoint);
    try {
      await this.#open({ restart });
    } catch (error) {
      // Unless something was left behind, which only this checkpoint says to be ours, there is nothing to go on with.
      const isClean = Promise.resolve(this.#sink.check?.(this.#context({ restart: false })));
      await isClean.then(() => this.#removeCheckpoint()).catch(() => undefined);
      throw error;
    }
    await this.#commitStart();
    return undefined;
  }

  /** Where the sink has a place before its first row, there is something to go back to from now on. */
  async #commitStart(): Promise<void> {
    const { start } = this.#opened;
    if (start !== undefined && this.#checkpoint?.sinkPosition === undefined) await this.#commit(start, {});
  }

  async #open(how: Pick<SinkContext<T>, 'resumeAt'> & { readonly restart?: boolean }): Promise<void> {
    const { concurrency, prefetch } = this.#options;
    const newHistory = this.#newHistory;
    // Asked for before the target is touched, since options that make no sense are refused here.
    const pages = this.#source.pages({
      startAt: this.#checkpoint?.position ?? startOfPlan,
      ...(concurrency !== undefined && { concurrency }),
      ...(prefetch !== undefined && { prefetch }),
      ...(newHistory !== undefined && { newHistory }),
    });
    this.#writer = await this.#sink.open(this.#context(how));
    this.#pages = pages[Symbol.asyncIterator]();
    this.#pace.restart();
  }

  #context(how: Pick<SinkContext<T>, 'resumeAt'> & { readonly restart?: boolean }): SinkContext<T> {
    const { name, schema, isEndless = false } = this.#source.info;
    const { state } = this.#options;
    const folder = state?.folder;
    return {
      ...{ source: name, isEndless, restart: false, signal: this.#ending.signal, ...how },
      ...(schema && { schema }),
      ...(folder !== undefined && { stateFolder: folder }),
      ...(state && {
        log: (of: string) => state.log(of),
        recommit: (sinkPosition: Json) => this.#recommit(sinkPosition),
      }),
    };
  }

  async #nextPage(): Promise<IteratorResult<Page<T>, unknown> | 'restarted'> {
    try {
      const next = abortable(this.#walk.next(), this.#ending.signal);
      // Pages may come in bursts: what was written is not left open to a kill until the next one.
      const left = this.#canCommit ? this.#pace.left : Infinity;
      if (!(await settlesWithin(this.#clock, left, next))) await this.#commitIfPossible();
      return await next;
    } catch (error) {
      // The position knows by now which page came again: a next run then refuses it before it takes its rows.
      if (SluiceError.is(error, 'no-progress') && this.#last) await this.#commitIfPossible().catch(() => undefined);
      if (this.#isEnding() || !(await this.#restartPartition(error))) throw error;
      return 'restarted';
    }
  }

  /** Takes back the rows of a partition whose cursor the API refused, so that it is walked anew. Answers whether it may. */
  async #restartPartition(error: unknown): Promise<boolean> {
    if (this.#options.onExpired !== 'restart-partition' || !SluiceError.is(error, 'cursor-refused')) return false;
    const { partition } = error.details;
    if (typeof partition !== 'number' || !this.#sink.withoutPartition) return false;
    const restarts = (this.#restarts.get(partition) ?? 0) + 1;
    this.#restarts.set(partition, restarts);
    if (restarts > maxRestartsOfPartition) return false;
    if (this.#pace.isBehind) await this.#commitIfPossible();
    const before = this.#checkpoint;
    if (before?.sinkPosition === undefined) return false;
    void this.#stopPages();
    // The checkpoint goes back first: whoever is killed from here on cuts the target back to it.
    const checkpoint = checkpointWithoutPartition(
      before,
      partition,
      this.#sink.withoutPartition(before.sinkPosition, partition),
    );
    this.#checkpoint = checkpoint;
    await this.#save(checkpoint);
    const writer = this.#opened;
    this.#writer = undefined;
    await writer.abort(error, { isResumable: true });
    this.#tally.goBack(checkpoint);
    this.#last = undefined;
    this.#pace.settle();
    const rows = before.begun[partition]?.rows ?? 0;
    this.#options.onWarning?.(`${error.summary} Its ${rows} rows are taken back, and it is walked anew.`);
    await this.#open({ resumeAt: { sinkPosition: checkpoint.sinkPosition ?? null, isSealed: false } });
    return true;
  }

  async #commitIfPossible(): Promise<void> {
    if (!this.#canCommit || this.#opened.isCommittable === false) return;
    const began = this.#clock.monotonic();
    this.#isSinkBusy = true;
    const sinkPosition = await this.#opened.flush();
    this.#isSinkBusy = false;
    // Without a page of this run it is what an earlier one left that has settled meanwhile.
    await this.#commit(sinkPosition, this.#last ? { position: this.#last.position } : {});
    this.#pace.restart(this.#clock.monotonic() - began);
    this.#tellCommit(false);
  }

  /** The rows are durable by now: only then may the checkpoint say so. */
  async #commit(sinkPosition: Json, change: { position?: Position; isSealed?: true }): Promise<void> {
    this.#pace.settle();
    if (!this.#checkpoint) return;
    this.#checkpoint = { ...this.#checkpoint, ...change, sinkPosition, ...this.#tally.kept };
    await this.#save(this.#checkpoint);
    this.#tally.commit();
  }

  /** The rows of the last commit have another place now. */
  async #recommit(sinkPosition: Json): Promise<void> {
    if (!this.#checkpoint) return;
    this.#checkpoint = { ...this.#checkpoint, sinkPosition };
    await this.#save(this.#checkpoint);
  }

  async #finish(writer: SinkWriter<T>): Promise<Step> {
    const report = await writer.close();
    // Without a checkpoint a target that is not in its place is cleared away, so its rows are kept only now.
    if (!this.#checkpoint) this.#tellCommit(true);
    await this.#keepFinished();
    return this.#done(report);
  }

  /**
   * Whoever is killed from here on finds the finished export when it is run again. Where that can't be written, as on a full disk, the
   * target is in place all the same, and no checkpoint says that something is left to do.
   */
  async #keepFinished(): Promise<void> {
    if (!this.#checkpoint || !this.#sink.finished) return this.#removeCheckpoint();
    const finishedAt = new Date(this.#clock.now()).toISOString();
    await this.#save({ ...this.#checkpoint, finishedAt }).catch(() => this.#removeCheckpoint());
  }

  #tellCommit(isSealed: boolean): void {
    const { name, observe } = this.#source.info;
    const { rows, pages } = this.#tally.counts;
    tell(observe, { type: 'commit', source: name, sink: this.#sink.name, rows, pages, isSealed });
  }

  #tellError(error: unknown): void {
    const { name, observe } = this.#source.info;
    tell(observe, { type: 'error', of: 'export', name, error: reportOf(error) });
  }

  #done(report: SinkReport & Pick<ExportReport, 'finishedAt'>): Step {
    this.report = { ...this.#tally.counts, ...report, isDone: true };
    return { done: false, value: this.report };
  }

  async #removeCheckpoint(): Promise<void> {
    if (!this.#checkpoint) return;
    await this.#options.state?.remove(checkpointName);
    this.#tellCommitted(undefined);
  }

  async #save(checkpoint: Checkpoint): Promise<void> {
    try {
      await this.#options.state?.save(checkpointName, checkpoint);
    } catch (error) {
      // Somebody has removed the folder, and the checkpoint with it.
      if (SluiceError.is(error) && error.details['platformCode'] === 'ENOENT') this.#tellCommitted(undefined);
      throw error;
    }
    this.#tellCommitted(checkpoint);
  }

  /** Before its first commit an export has nothing to resume from, though its checkpoint is there; nor has one that finished. */
  #tellCommitted(checkpoint: Checkpoint | undefined): void {
    const isResumable = checkpoint?.sinkPosition !== undefined && checkpoint.finishedAt === undefined;
    this.#options.onCommitted?.(isResumable ? checkpoint : undefined);
  }

  #progress(): Step {
    return { done: false, value: { ...this.#tally.counts, isDone: false } };
  }

  /** Said again until there is something to go on from: whoever is killed before that has begun nothing anew. */
  get #newHistory(): string | undefined {
    if (this.#checkpoint) return this.#checkpoint.isRestart && this.#checkpoint.runId;
    return this.#options.restart ? (this.#options.newId ?? randomId)() : undefined;
  }

  get #canCommit(): boolean {
    return this.#checkpoint !== undefined || this.#isKeptWithoutState;
  }

  /** No checkpoint says how to go on with it, but a source without an end has no better end than where it is stopped. */
  get #isKeptWithoutState(): boolean {
    return !this.#options.state && this.#source.info.isEndless === true;
  }

  /**
   * What lies behind its last commit, an exactly-once sink cuts off. So while no page lies before it there is nothing to keep, and whoever
   * asks for something else next time finds neither rows nor a checkpoint in the way. Others may have passed rows on already.
   */
  get #isWorthKeeping(): boolean {
    if (this.#checkpoint?.sinkPosition === undefined) return false;
    const { pages, isSealed = false } = this.#checkpoint;
    return pages > 0 || isSealed || this.#sink.delivery !== 'exactly-once';
  }

  get #opened(): SinkWriter<T> {
    if (!this.#writer) throw new Error('An export has no open sink.');
    return this.#writer;
  }

  get #walk(): AsyncIterator<Page<T>> {
    if (!this.#pages) throw new Error('An export has no walk.');
    return this.#pages;
  }
}

/** Whether a sink says that nothing is left to go on from. */
function isLost(failure: unknown): boolean {
  return SluiceError.is(failure) && failure.details['isLost'] === true;
}
