import { abortable, abortableBy } from '../abortable.js';
import { settlesWithin, systemClock, type Clock } from '../clock.js';
import { redacted, reportOf } from '../errorReport.js';
import { amend, PaginationError, SluiceError, type SluiceErrorCode } from '../errors.js';
import { newId as randomId } from '../identifiers.js';
import { startOfPlan, type Position, type StatedTotals } from '../position.js';
import type { Json } from '../source/definition.js';
import type { Page } from '../source/page.js';
import type { PageSource } from '../source/pageSource.js';
import { shortListing } from '../source/shortListing.js';
import { tell } from '../source/sourceEvent.js';
import { done } from '../source/cancellable.js';
import { checkpointWithoutPartition, type Checkpoint } from './checkpoint.js';
import { CommitPace } from './commitPace.js';
import { ExportTally } from './exportCounts.js';
import type { ExportOptions, ExportReport, ExportStep } from './exportOptions.js';
import { checkpointName, checkSameKey, findCheckpoint } from './findCheckpoint.js';
import { givenSink, givenStore, isHanging } from './givenSink.js';
import { incrementsOf, type Increments } from './increments.js';
import type { Release } from './lockQueue.js';
import type { Sink, SinkContext, SinkReport, SinkWriter, WalkEnd } from './sink.js';
import type { StateLog, StateStore } from './stateStore.js';

type Step = IteratorResult<ExportStep, undefined>;

/** If a partition's cursor is refused more often, its walk is too slow for the API, and restarts would never end. */
const maxRestartsOfPartition = 3;

/** Default: ms in which a cancelled export commits what it has fetched. */
const usualStop = 2_000;

/** Default: ms after which an interrupted run is not resumed, if its target is refreshed. */
const usualResume = 86_400_000;

/** What resuming may raise, and a new run would not. A run that another one took over raises `lock`. */
const ofResuming: readonly SluiceErrorCode[] = [
  'cursor-refused',
  'rows-moved',
  'no-progress',
  'rows-missing',
  'checkpoint',
];

/** One run of an export: opens, writes page by page, commits, closes. */
export class ExportRun<T> {
  report: ExportReport | undefined;
  readonly #source: PageSource<T>;
  readonly #sink: Sink<T>;
  /** A sink that keeps its own checkpoints has no other state. */
  readonly #state: StateStore | undefined;
  readonly #options: ExportOptions;
  readonly #clock: Clock;
  readonly #pace: CommitPace;
  /** No more pages are requested. */
  readonly #ending = new AbortController();
  readonly #untilEnding = abortableBy(this.#ending.signal);
  /** Calls of the sink must end, too. */
  readonly #cancelled = new AbortController();
  readonly #tally = new ExportTally();
  readonly #restarts = new Map<number, number>();
  readonly #increments: Increments | undefined;
  #release: Release | undefined;
  #writer: SinkWriter<T> | undefined;
  #pages: AsyncIterator<Page<T>> | undefined;
  /** The next page, until it is written. None may be skipped: those after it belong behind it. */
  #next: Promise<IteratorResult<Page<T>, unknown>> | undefined;
  #checkpoint: Checkpoint | undefined;
  #last: Page<T> | undefined;
  /** A page of this run was incomplete. */
  #isIncomplete = false;
  /** Of the listing whose rows are the partitions, if it has fewer than the API says. */
  #shortParents: StatedTotals | undefined;
  /** This run or an earlier one gave the sink something of this plan. */
  #isBegun = false;
  /** The run that this one resumes may be given up for a new one. */
  #mayBeginAgain = false;
  /** A call of the sink is pending or failed: then it can only be aborted. */
  #isSinkBusy = false;
  /** All rows are written, and `seal` is pending, which may take long. */
  #isSealing = false;
  #failure: unknown;
  /** The current step. `end` waits for it, since a write can't be interrupted half-way. */
  #current: Promise<unknown> = Promise.resolve();

  constructor(source: PageSource<T>, sink: Sink<T>, options: ExportOptions) {
    const { state, commitEvery, clock = systemClock, incremental } = options;
    const given = { clock, signal: this.#cancelled.signal };
    this.#source = source;
    this.#sink = givenSink(sink, given);
    this.#state = this.#sink.state ?? (state && givenStore(state, 'The state store', given));
    this.#options = options;
    this.#clock = clock;
    this.#pace = new CommitPace(commitEvery, clock);
    if (incremental) this.#increments = incrementsOf(source.info, incremental === true ? {} : incremental);
  }

  step(): Promise<Step> {
    const step = this.report
      ? Promise.resolve(done)
      : this.#advance().catch((error: unknown) => {
          // Sinks know no secrets, and quote rows, which may have them.
          throw redacted(error, this.#source.info);
        });
    this.#current = step.catch((error: unknown) => {
      this.#failure = error;
      if (!this.#isEnding()) this.#emitError(error);
    });
    return step;
  }

  /**
   * Cancels the walk at once, commits what it has fetched, then closes everything.
   *
   * @throws SinkError or PluginError if a call of the sink or the state never ended.
   */
  async end(): Promise<void> {
    this.#ending.abort();
    const cancelTimer = this.#cancelSinkLater();
    const stopped = this.#isDrainable ? undefined : this.#stopPages();
    await this.#current;
    await this.#commitFetched();
    cancelTimer();
    this.#cancelSink();
    const closed = stopped ?? this.#stopPages();
    if (this.#hasOwnState) await closed;
    try {
      if (!this.report) await this.#abort();
      await this.#increments?.close();
    } finally {
      await this.#release?.();
    }
    if (isHanging(this.#failure)) throw this.#failure;
  }

  /** Leaves the sink the time to commit, if something can be committed. */
  #cancelSinkLater(): () => void {
    const { stopWithin = usualStop } = this.#options;
    const canCommit = this.#writer && this.#checkpoint && !this.report && this.#failure === undefined;
    const hasNothing = this.#isSealing && !this.#pace.isBehind;
    if (canCommit && !hasNothing && stopWithin > 0) return this.#clock.after(stopWithin, () => this.#cancelSink());
    this.#cancelSink();
    return () => undefined;
  }

  #cancelSink(): void {
    this.#cancelled.abort(this.#ending.signal.reason);
  }

  /** After a cancel: writes the pages that the walk has fetched, in their order, and commits. */
  async #commitFetched(): Promise<void> {
    if (this.report || this.#failure !== undefined || !this.#writer || !this.#canCommit) return;
    if (this.#checkpoint?.isSealed || this.#isSinkBusy) return;
    try {
      if (this.#isDrainable) await this.#drain();
      if (this.#pace.isBehind) await this.#commitIfPossible();
    } catch (error) {
      // The rows are fetched again by the next run.
      this.#failure = error;
    }
  }

  async #drain(): Promise<void> {
    for (;;) {
      this.#next ??= this.#walk.next();
      // A page that can't be decoded ends it, like the end of the time: what is before it is committed.
      const next = await abortable(this.#next, this.#cancelled.signal).catch(() => done);
      if (next.done) return;
      await this.#write(next.value);
    }
  }

  async #stopPages(): Promise<void> {
    await this.#pages?.return?.().catch(() => undefined);
  }

  /**
   * Aborts the sink. Without a commit it removes its target, and the checkpoint is removed. Rows of an endless source
   * are kept, since it does not emit them again.
   */
  async #abort(): Promise<void> {
    if (!this.#writer) return;
    const isKept = this.#isKeptWithoutState;
    const isResumable = isKept || (this.#isBegun && this.#isWorthKeeping && !isLost(this.#failure));
    if (!isResumable) await this.#forgetSinkPosition().catch(() => undefined);
    // A failure here must not hide the original error.
    if (isKept && this.#pace.isBehind && !this.#isSinkBusy) await this.#commitIfPossible().catch(() => undefined);
    // If this fails, the checkpoint stays: it says that what is left in the target is ours.
    try {
      await this.#writer.abort(this.#failure, { isResumable });
      if (!isResumable) await this.#removeCheckpoint();
    } catch (error) {
      if (!isHanging(error)) return;
      const isCancelled = this.#failure === undefined || this.#failure === this.#cancelled.signal.reason;
      if (isCancelled) this.#failure = error;
      else if (SluiceError.is(this.#failure) && error !== this.#failure) amend(this.#failure, error.summary);
    }
  }

  /**
   * A checkpoint without pages loses its sink position before the target is removed: after a kill in between, it would
   * refer to nothing. If that can't be saved, the target is removed all the same, as it has no rows.
   */
  async #forgetSinkPosition(): Promise<void> {
    if (this.#checkpoint?.pages !== 0) return;
    const { sinkPosition, isSealed = false, ...checkpoint } = this.#checkpoint;
    if (sinkPosition !== undefined || isSealed) await this.#save(checkpoint);
  }

  #isEnding(): boolean {
    return this.#ending.signal.aborted;
  }

  async #advance(): Promise<Step> {
    if (!this.#writer) {
      const finished = await this.#begin();
      if (finished) return this.#done(finished);
      // Before the first request, so that users see at once what was kept.
      if (this.#checkpoint?.sinkPosition !== undefined) return this.#progress();
    }
    const writer = this.#opened;
    if (this.#checkpoint?.isSealed) return this.#complete(writer);
    if (this.#isEnding()) return done;
    const next = await this.#nextPage();
    // A cancelled walk ends like a complete one, but only a complete one may be sealed.
    if (this.#isEnding()) return done;
    if (next === 'restarted') return this.#progress();
    if (next.done) {
      if (this.#source.info.isEndless && writer.suspend) {
        // It ended only for now: the checkpoint stays, and the next run resumes.
        await this.#commitIfPossible();
        return this.#done(await writer.suspend());
      }
      return this.#complete(writer);
    }
    await this.#write(next.value);
    if (this.#pace.isDue || writer.isFull) await this.#commitIfPossible();
    return this.#progress();
  }

  /** Seals what the walk has fetched, and closes the target. */
  async #complete(writer: SinkWriter<T>): Promise<Step> {
    try {
      if (!this.#checkpoint?.isSealed) await this.#seal(writer);
      return await this.#finish(writer);
    } catch (error) {
      if (!this.#isEnding() && (await this.#beginAgain(error))) return this.#progress();
      throw error;
    }
  }

  async #seal(writer: SinkWriter<T>): Promise<void> {
    const end = this.#walkEnd();
    this.#isSealing = true;
    const position = this.#last && { position: this.#last.position };
    await this.#commit(await writer.seal(end), { isSealed: true, ...position });
    if (this.#checkpoint) this.#emitCommit(true);
  }

  /** Compares with the total, before the target gets its name. @throws PaginationError if `requireTotal` is not met. */
  #walkEnd(): WalkEnd {
    const { requireTotal, onWarning } = this.#options;
    const { name } = this.#source.info;
    const short = this.#shortOfTotal;
    if (!requireTotal) {
      if (short) onWarning?.(shortListing(name, short).summary);
      // Of parents that are not listed, there are no rows either.
      const { total, listed } = short ?? this.#shortParents ?? {};
      if (total === undefined || listed === undefined || requireTotal === false)
        return { isIncomplete: this.#lacksRows || this.#isCut };
      return { isIncomplete: true, ...(!this.#lacksRows && { shortOfTotal: { total, listed } }) };
    }
    if (short) throw shortListing(name, short, '', [{ kind: 'restart' }]);
    const isUnknown = this.#position?.totals === undefined && this.#tally.counts.pages > 0;
    if (!isUnknown && !this.#lacksRows) return { isIncomplete: false };
    const why = this.#lacksRows ? 'the API left out rows' : 'the API states none, or the definition has no `total`';
    throw new PaginationError('rows-missing', `${name}: the rows can't be compared with a total, since ${why}.`);
  }

  /** A walk that is incomplete by itself says so already. */
  get #shortOfTotal(): StatedTotals | undefined {
    const totals = this.#position?.totals;
    return totals && totals.short > 0 && !this.#lacksRows ? totals : undefined;
  }

  /** Of the last page, which an earlier run may have had. */
  get #position(): Position | undefined {
    return this.#last?.position ?? this.#checkpoint?.position;
  }

  async #write(page: Page<T>): Promise<void> {
    this.#next = undefined;
    this.#isBegun = true;
    this.#isSinkBusy = true;
    const { items, partition, endsPartition, health, commit, unconfirmed } = page;
    const generation = commit && health?.generation;
    await this.#opened.write({
      items,
      partition,
      endsPartition,
      ...(generation !== undefined && { generation }),
      ...(unconfirmed && { unconfirmed }),
    });
    this.#isSinkBusy = false;
    this.#tally.add(page);
    this.#increments?.add(page);
    if (page.isIncomplete) this.#isIncomplete = true;
    this.#last = page;
    this.#pace.add(page);
  }

  /** Locks the state, finds the checkpoint, opens source and sink. If an earlier run finished, returns its report. */
  async #begin(): Promise<(SinkReport & Pick<ExportReport, 'finishedAt'>) | undefined> {
    const { restart = false } = this.#options;
    const state = this.#state;
    this.#release = await state?.lock(this.#ending.signal);
    if (!state) {
      await this.#open({ restart });
      return undefined;
    }
    const { checkpoint, isNew, finished, abandoned, outdated } = await findCheckpoint(this.#search(state));
    if (abandoned)
      this.#options.onWarning?.(
        `The last incremental export did not finish. Its target was another one: what it left there is not used. Its ${abandoned.rows} rows are exported again.`,
      );
    if (outdated)
      this.#options.onWarning?.(
        `The last commit of the interrupted run (${outdated.savedAt ?? ''}) is too old to resume after. Its ${outdated.rows} rows are exported again.`,
      );
    await this.#take(checkpoint, state);
    if (!restart) this.#reportCommitted(checkpoint);
    if (finished) {
      const { finishedAt } = checkpoint;
      return { ...finished, ...(finishedAt !== undefined && { finishedAt }) };
    }
    await (isNew ? this.#beginNew(checkpoint) : this.#resume(checkpoint));
    return undefined;
  }

  #search(state: StateStore): Parameters<typeof findCheckpoint<T>>[0] {
    const { restart = false, sameProject = false, resumeWithin = usualResume, newId, sha256 } = this.#options;
    const { info } = this.#source;
    const isIncremental = this.#increments !== undefined;
    const resumeSince = this.#clock.now() - resumeWithin;
    return { info, sink: this.#sink, state, restart, resumeSince, sameProject, isIncremental, newId, sha256 };
  }

  async #take(checkpoint: Checkpoint, state: StateStore): Promise<void> {
    this.#checkpoint = checkpoint;
    await this.#beginIncrement(state, this.#options.sameProject ?? false);
    this.#tally.resume(checkpoint);
  }

  async #resume(checkpoint: Checkpoint): Promise<void> {
    const { sinkPosition, isSealed = false } = checkpoint;
    this.#mayBeginAgain = this.#sink.isRefreshed ?? false;
    try {
      // Killed before its first commit. That run had checked the target, so what is there now is ours.
      await this.#open(sinkPosition === undefined ? { restart: true } : { resumeAt: { sinkPosition, isSealed } });
    } catch (error) {
      if (await this.#beginAgain(error)) return;
      throw error;
    }
    await this.#commitStart();
    this.#isBegun = sinkPosition !== undefined;
  }

  /** Gives up the run that this one resumes, if its position is of no use. Returns `false` if it may not. */
  async #beginAgain(error: unknown): Promise<boolean> {
    const state = this.#state;
    if (!state || !this.#mayBeginAgain) return false;
    if (!SluiceError.is(error) || !(ofResuming.includes(error.code) || this.#isOfStart(error))) return false;
    this.#mayBeginAgain = false;
    const stopped = this.#stopPages();
    if (this.#hasOwnState) await stopped;
    const writer = this.#writer;
    this.#writer = undefined;
    // What it left is dropped when the sink opens, after the new checkpoint is saved: a kill in between resumes it again.
    await writer?.abort(error, { isResumable: true });
    const { rows = 0 } = this.#checkpoint ?? {};
    this.#options.onWarning?.(
      `${error.summary} So the interrupted run can't be resumed. Its ${rows} rows are exported again.`,
    );
    await this.#increments?.close();
    const { checkpoint } = await findCheckpoint({ ...this.#search(state), isGivenUp: true });
    await this.#take(checkpoint, state);
    this.#isIncomplete = false;
    this.#isBegun = false;
    this.#isSinkBusy = false;
    this.#isSealing = false;
    this.#last = undefined;
    this.#shortParents = undefined;
    this.#pace.settle();
    await this.#beginNew(checkpoint);
    return true;
  }

  /**
   * The API refused the first request, which has a cursor of the run before, or the sink to publish the rows of that run:
   * the next run would fail alike. A sink that can't be opened says nothing of the rows.
   */
  #isOfStart({ code, details }: SluiceError): boolean {
    if (this.#last !== undefined) return false;
    return code === 'sink' ? this.#writer !== undefined : code === 'http' && details['page'] !== undefined;
  }

  async #beginNew(checkpoint: Checkpoint): Promise<void> {
    const { restart = false } = this.#options;
    await this.#sink.check?.(this.#context({ restart }));
    if (restart) await this.#source.info.checkRestart?.(this.#ending.signal);
    await this.#save(this.#checkpoint ?? checkpoint);
    try {
      await this.#open({ restart });
    } catch (error) {
      // If something was left behind, the checkpoint stays: only it says that this is ours.
      const isClean = Promise.resolve(this.#sink.check?.(this.#context({ restart: false })));
      await isClean.then(() => this.#removeCheckpoint()).catch(() => undefined);
      throw error;
    }
    await this.#commitStart();
  }

  async #beginIncrement(state: StateStore, sameProject: boolean): Promise<void> {
    if (!this.#increments || !this.#checkpoint) return;
    const { increment } = this.#checkpoint;
    const mark = await this.#increments.load(state, increment && this.#checkpoint);
    const advice = { kind: 'set', option: 'full' } as const;
    if (mark && !sameProject) await checkSameKey(mark, this.#source.info, 'The mark of the last increment', advice);
    this.#increments.begin(increment);
    // That of a sealed checkpoint has the next mark.
    if (!increment) this.#checkpoint = { ...this.#checkpoint, increment: this.#increments.progress };
  }

  /** Commits the position before the first row, if the sink has one, so that a run killed from here on resumes. */
  async #commitStart(): Promise<void> {
    const { start } = this.#opened;
    if (start !== undefined && this.#checkpoint?.sinkPosition === undefined) await this.#commit(start, {});
  }

  async #open(how: Pick<SinkContext<T>, 'resumeAt'> & { readonly restart?: boolean }): Promise<void> {
    const { concurrency, prefetch } = this.#options;
    const newHistory = this.#newHistory;
    const log = this.#partitionLog;
    // Before the target is touched, since invalid options are rejected here.
    const pages = this.#source.pages({
      startAt: this.#checkpoint?.position ?? startOfPlan,
      ...(concurrency !== undefined && { concurrency }),
      ...(prefetch !== undefined && { prefetch }),
      ...(newHistory !== undefined && { newHistory }),
      ...(this.#increments && { since: this.#increments.since }),
      ...(log && this.#checkpoint && { partitionLog: { log, runId: this.#checkpoint.runId } }),
      ...(this.#options.requireTotal && { requireTotal: true }),
      // A sink that is not refreshed removes no rows of an earlier run.
      ...(this.#discoversPartitions &&
        this.#sink.isRefreshed && { onShort: (totals: StatedTotals) => (this.#shortParents = totals) }),
      drain: this.#ending.signal,
    });
    this.#next = undefined;
    this.#writer = await this.#sink.open(this.#context(how));
    this.#pages = pages[Symbol.asyncIterator]();
    this.#pace.restart();
  }

  #context(how: Pick<SinkContext<T>, 'resumeAt'> & { readonly restart?: boolean }): SinkContext<T> {
    const { name, schema, isEndless = false } = this.#source.info;
    const { incremental, onWarning } = this.#options;
    const isFull = typeof incremental === 'object' && incremental.full === true;
    const state = this.#state;
    const folder = state?.folder;
    return {
      source: name,
      isEndless,
      restart: false,
      signal: this.#cancelled.signal,
      ...how,
      ...(schema && { schema }),
      ...(onWarning && { warn: onWarning }),
      ...(incremental && { increment: isFull ? 'all' : 'new' }),
      ...(folder !== undefined && { stateFolder: folder }),
      ...(state && {
        log: (of: string) => state.log(of),
        recommit: (sinkPosition: Json) => this.#recommit(sinkPosition),
      }),
    };
  }

  async #nextPage(): Promise<IteratorResult<Page<T>, unknown> | 'restarted'> {
    try {
      this.#next ??= this.#walk.next();
      const next = this.#untilEnding(this.#next);
      // Pages may come in bursts: written rows do not wait for the next page to be committed.
      const left = this.#canCommit ? this.#pace.left : Infinity;
      if (!(await settlesWithin(this.#clock, left, next))) await this.#commitIfPossible();
      return await next;
    } catch (error) {
      if (this.#isEnding() && error === this.#ending.signal.reason) return done;
      // The position records which page was repeated, so the next run refuses it before it takes its rows.
      if (SluiceError.is(error, 'no-progress') && this.#last) await this.#commitIfPossible().catch(() => undefined);
      if (this.#isEnding()) throw error;
      if ((await this.#restartPartition(error)) || (await this.#beginAgain(error))) return 'restarted';
      throw error;
    }
  }

  /** Removes the rows of a partition whose cursor was refused, and walks it again. Returns `false` if it may not. */
  async #restartPartition(error: unknown): Promise<boolean> {
    const { onExpired = this.#source.info.isRepeatable === false ? 'restart-partition' : 'fail' } = this.#options;
    if (onExpired !== 'restart-partition' || !SluiceError.is(error, 'cursor-refused')) return false;
    const { partition } = error.details;
    if (typeof partition !== 'number' || !this.#sink.withoutPartition) return false;
    const restarts = (this.#restarts.get(partition) ?? 0) + 1;
    this.#restarts.set(partition, restarts);
    if (restarts > maxRestartsOfPartition) {
      // What has failed so often is not advised again.
      Object.assign(error, { advice: [] });
      amend(
        error,
        `The partition started over ${maxRestartsOfPartition} times, and was refused again. Its cursors may expire before its walk ends: request larger pages, or smaller partitions.`,
      );
      return false;
    }
    // What the API refuses again and again, it would also refuse a new run.
    this.#mayBeginAgain = false;
    if (this.#pace.isBehind) await this.#commitIfPossible();
    const before = this.#checkpoint;
    if (before?.sinkPosition === undefined) return false;
    const stopped = this.#stopPages();
    if (this.#hasOwnState) await stopped;
    // First the checkpoint: after a kill, the next run truncates the target to it.
    const checkpoint = this.#restartedWith(partition, before).reduce(
      (kept, each) =>
        checkpointWithoutPartition(kept, each, this.#sink.withoutPartition?.(kept.sinkPosition ?? null, each) ?? null),
      before,
    );
    this.#increments?.begin(checkpoint.increment);
    this.#checkpoint = checkpoint;
    await this.#save(checkpoint);
    const writer = this.#opened;
    this.#writer = undefined;
    await writer.abort(error, { isResumable: true });
    this.#tally.rollBack(checkpoint);
    this.#last = undefined;
    this.#pace.settle();
    const rows = before.rows - checkpoint.rows;
    this.#options.onWarning?.(`${error.summary} Its ${rows} rows are removed, and the partition starts over.`);
    await this.#open({ resumeAt: { sinkPosition: checkpoint.sinkPosition ?? null, isSealed: false } });
    return true;
  }

  /** A walk that reopens can't continue any partition whose pages are sent only once, so all of these start over. */
  #restartedWith(partition: number, { position }: Checkpoint): readonly number[] {
    if (this.#source.info.isRepeatable !== false) return [partition];
    const begun = Object.entries(position.begun).filter(([, at]) => at !== 'done');
    return [...new Set([partition, ...begun.map(([each]) => Number(each))])];
  }

  async #commitIfPossible(): Promise<void> {
    if (!this.#canCommit || this.#opened.isCommittable === false) return;
    const began = this.#clock.monotonic();
    this.#isSinkBusy = true;
    const sinkPosition = await this.#opened.flush();
    this.#isSinkBusy = false;
    // Without a page of this run, only what an earlier run left has been committed, and the position stays.
    await this.#commit(sinkPosition, this.#last ? { position: this.#last.position } : {});
    this.#pace.restart(this.#clock.monotonic() - began);
    this.#emitCommit(false);
  }

  /** The rows must be durable before this: only then may the checkpoint refer to them. */
  async #commit(sinkPosition: Json, change: { position?: Position; isSealed?: true }): Promise<void> {
    this.#pace.settle();
    if (!this.#checkpoint) return;
    const { isSealed = false } = change;
    await this.#increments?.prepare(this.#checkpoint.runId);
    const increment = isSealed ? this.#increments?.sealed(this.#checkpoint) : this.#increments?.progress;
    this.#checkpoint = {
      ...this.#checkpoint,
      ...change,
      sinkPosition,
      ...this.#tally.committable,
      ...(increment && { increment }),
      ...(this.#isIncomplete && { isIncomplete: true }),
    };
    await this.#save(this.#checkpoint);
    this.#tally.commit();
  }

  /** The rows of the last commit have another sink position now. */
  async #recommit(sinkPosition: Json): Promise<void> {
    if (!this.#checkpoint) return;
    this.#checkpoint = { ...this.#checkpoint, sinkPosition };
    await this.#save(this.#checkpoint);
  }

  async #finish(writer: SinkWriter<T>): Promise<Step> {
    await this.#removePartitionLog();
    const report = await writer.close();
    // Without a checkpoint, an unpublished target is removed on failure, so only now are its rows kept.
    if (!this.#checkpoint) this.#emitCommit(true);
    await this.#saveFinished();
    return this.#done(report);
  }

  /** Marks the export as finished. */
  async #saveFinished(): Promise<void> {
    const state = this.#state;
    // In this order: a run that is killed in between finds the sealed checkpoint, and repeats what follows.
    if (state && this.#checkpoint?.increment) await this.#increments?.save(state, this.#checkpoint.increment);
    if (!this.#checkpoint || this.#increments || !this.#sink.finished) return this.#removeCheckpoint();
    const finishedAt = new Date(this.#clock.now()).toISOString();
    // If that can't be saved, the sealed checkpoint stays: a repeated run completes the target again, and saves it then.
    await this.#save({ ...this.#checkpoint, finishedAt }).catch(() => this.#reportCommitted(undefined));
  }

  /** What is left of it harms nobody: it names its export. */
  async #removePartitionLog(): Promise<void> {
    await this.#partitionLog?.remove().catch(() => undefined);
  }

  #emitCommit(isSealed: boolean): void {
    const { name, observe } = this.#source.info;
    const { rows, pages } = this.#tally.counts;
    tell(observe, { type: 'commit', source: name, sink: this.#sink.name, rows, pages, isSealed });
  }

  #emitError(error: unknown): void {
    const { name, observe } = this.#source.info;
    tell(observe, { type: 'error', of: 'export', name, error: reportOf(error) });
  }

  #done(report: SinkReport & Pick<ExportReport, 'finishedAt'>): Step {
    const short = this.#shortOfTotal;
    this.report = {
      ...this.#tally.counts,
      ...report,
      isDone: true,
      ...(this.#lacksRows && { isIncomplete: true }),
      ...(short && { shortOfTotal: { total: short.total, listed: short.listed } }),
    };
    return { done: false, value: [this.report] };
  }

  async #removeCheckpoint(): Promise<void> {
    if (!this.#checkpoint) return;
    await this.#state?.remove(checkpointName);
    await this.#removePartitionLog();
    this.#reportCommitted(undefined);
  }

  async #save(checkpoint: Checkpoint): Promise<void> {
    try {
      const savedAt = new Date(this.#clock.now()).toISOString();
      await this.#state?.save(checkpointName, { ...checkpoint, savedAt });
    } catch (error) {
      // The state's folder was removed, and the checkpoint with it.
      if (SluiceError.is(error) && error.details['platformCode'] === 'ENOENT') this.#reportCommitted(undefined);
      throw error;
    }
    this.#reportCommitted(checkpoint);
  }

  /** An export without a commit has nothing to resume from, although it has a checkpoint; nor has a finished one. */
  #reportCommitted(checkpoint: Checkpoint | undefined): void {
    const isResumable = checkpoint?.sinkPosition !== undefined && checkpoint.finishedAt === undefined;
    this.#options.onCommitted?.(isResumable ? checkpoint : undefined);
  }

  #progress(): Step {
    return { done: false, value: [{ isDone: false, ...this.#tally.counts }] };
  }

  /** The id under which a source starts over. Every run of a restarted export passes it: the first may be killed. */
  get #newHistory(): string | undefined {
    if (this.#checkpoint) return this.#checkpoint.isRestart && this.#checkpoint.runId;
    return this.#options.restart ? (this.#options.newId ?? randomId)() : undefined;
  }

  /** A page of this run, or of an earlier one, was incomplete. */
  get #lacksRows(): boolean {
    return this.#isIncomplete || this.#checkpoint?.isIncomplete === true;
  }

  /** The walk ended at `maxRows`, so nobody knows whether there are more. */
  get #isCut(): boolean {
    const { maxRows = Infinity } = this.#source.info;
    const { position = startOfPlan } = this.#last ?? this.#checkpoint ?? {};
    return (position.kept ?? position.rows) >= maxRows;
  }

  get #canCommit(): boolean {
    return this.#checkpoint !== undefined || this.#isKeptWithoutState;
  }

  /** Where the source records the partitions that it discovers. */
  get #partitionLog(): StateLog | undefined {
    return this.#discoversPartitions ? this.#state?.log('partitions') : undefined;
  }

  /** A watch has a log and a lock of its own, and a source that discovers its partitions writes their log. */
  get #hasOwnState(): boolean {
    return this.#source.info.isEndless === true || this.#discoversPartitions;
  }

  get #isDrainable(): boolean {
    return this.#source.info.isDrainable === true;
  }

  get #discoversPartitions(): boolean {
    return this.#source.info.partitions === Infinity;
  }

  /** Without a state store, an endless source has no better end than where it is stopped. */
  get #isKeptWithoutState(): boolean {
    return !this.#state && this.#source.info.isEndless === true;
  }

  /**
   * An exactly-once sink truncates what follows its last commit. If that has no pages, keeping it would only refuse a
   * next export with other settings. Other sinks may have passed rows on.
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

/** Whether a sink reports that nothing is left to resume. */
function isLost(failure: unknown): boolean {
  return SluiceError.is(failure) && failure.details['isLost'] === true;
}
