import { abortable } from '../abortable.js';
import { ConfigError } from '../errors.js';
import { startOfPlan, type Position } from '../position.js';
import type { Page } from '../source/page.js';
import type { PagesOptions, SourceInfo } from '../source/source.js';
import { done } from '../source/stoppable.js';
import { decodeCheckpoint, type Checkpoint, type StateStore } from './checkpoint.js';
import type { Release } from './lockQueue.js';
import { planHash } from './planHash.js';
import type { Sink, SinkContext, SinkReport, SinkWriter } from './sink.js';

/** Options of an export. */
export interface ExportOptions {
  /** Where the checkpoint is kept. Default: nowhere; an export that fails then begins again from the start. */
  readonly state?: StateStore;
  /** Pages between two commits. Default 32. Fewer pages are fetched again after a crash, but each commit waits for the disk. */
  readonly commitEvery?: number;
  /** Parts of the plan walked at once. Default 1. */
  readonly lanes?: number;
  /** Pages fetched ahead of the sink. Default 1. */
  readonly prefetch?: number;
  /** Starts over, whatever an earlier run left behind. Default `false`. */
  readonly restart?: boolean;
}

/** What an export has moved; rows and pages count those of an interrupted run before it too. */
interface ExportCounts {
  readonly rows: number;
  readonly pages: number;
  /** Rows kept from an interrupted run. */
  readonly resumedRows: number;
  /** Rows in the whole listing, where the API says so. */
  readonly total?: number;
}

/** How far an export has come. */
export interface ExportProgress extends ExportCounts {
  readonly isDone: false;
}

/** What an export that reached its end has done. */
export interface ExportReport extends ExportCounts, SinkReport {
  readonly isDone: true;
}

/** What can be exported: anything with pages, whichever copy of the library made it. */
export interface PageSource<T> {
  readonly info: SourceInfo<T>;
  pages(options?: PagesOptions): AsyncIterable<Page<T>>;
}

/** One run of an export: opens, writes page by page, commits, closes. */
export class ExportRun<T> {
  /** Set once the target is in place. */
  report: ExportReport | undefined;
  readonly #source: PageSource<T>;
  readonly #sink: Sink<T>;
  readonly #options: ExportOptions & { readonly commitEvery: number };
  readonly #ending = new AbortController();
  #release: Release | undefined;
  #writer: SinkWriter<T> | undefined;
  #pages: AsyncIterator<Page<T>> | undefined;
  #checkpoint: Checkpoint | undefined;
  #last: Page<T> | undefined;
  #uncommitted = 0;
  /** A page asked for a commit, which may have to wait until the sink allows one. */
  #isAsked = false;
  #rows = 0;
  #pageCount = 0;
  #resumedRows = 0;
  #total: number | undefined;
  #failure: unknown;
  /** The step under way: whoever ends the run waits for it, since a write can't be taken back half-way. */
  #current: Promise<unknown> = Promise.resolve();

  constructor(source: PageSource<T>, sink: Sink<T>, options: ExportOptions & { readonly commitEvery: number }) {
    this.#source = source;
    this.#sink = sink;
    this.#options = options;
  }

  step(): Promise<IteratorResult<ExportProgress | ExportReport, undefined>> {
    const step = this.report ? Promise.resolve(done) : this.#advance();
    this.#current = step.catch((error: unknown) => {
      this.#failure = error;
    });
    return step;
  }

  /** Stops the walk at once, then closes what is open. */
  async end(): Promise<void> {
    this.#ending.abort();
    // Not every source stops as fast as ours: what it still does concerns nobody any more.
    this.#pages?.return?.().catch(() => undefined);
    await this.#current;
    try {
      if (!this.report) await this.#giveUp();
    } finally {
      await this.#release?.();
    }
  }

  /** Without a commit there is nothing to go on from: the sink clears away what it began, and no checkpoint speaks of it. */
  async #giveUp(): Promise<void> {
    if (!this.#writer) return;
    const isResumable = this.#checkpoint?.place !== undefined;
    // That this may fail too must not hide why. Then the checkpoint stays, and says that what is left is ours.
    const isGivenUp = await this.#writer.abort(this.#failure, { isResumable }).then(
      () => true,
      () => false,
    );
    if (isGivenUp && !isResumable && this.#checkpoint)
      await this.#options.state?.remove('checkpoint').catch(() => undefined);
  }

  #isEnding(): boolean {
    return this.#ending.signal.aborted;
  }

  async #advance(): Promise<IteratorResult<ExportProgress | ExportReport, undefined>> {
    const writer = this.#writer ?? (await this.#open());
    if (this.#checkpoint?.isSealed) return this.#finish(writer);
    if (this.#isEnding()) return done;
    const next = this.#pages && (await abortable(this.#pages.next(), this.#ending.signal));
    // A walk that is stopped ends like one that is through: only the latter may be sealed.
    if (this.#isEnding()) return done;
    if (!next || next.done) {
      await this.#commit(await writer.seal(), { isSealed: true, ...(this.#last && { position: this.#last.position }) });
      return this.#finish(writer);
    }
    const page = next.value;
    await writer.write({ items: page.items, part: page.part, endsPart: page.endsPart });
    this.#rows += page.items.length;
    this.#pageCount += 1;
    this.#last = page;
    this.#uncommitted += 1;
    this.#total = page.total ?? this.#total;
    this.#isAsked ||= page.commit === true;
    const isDue = this.#isAsked || this.#uncommitted >= this.#options.commitEvery;
    if (this.#options.state && isDue && writer.isCommittable !== false) {
      await this.#commit(await writer.flush(), { position: page.position });
    }
    return { done: false, value: { ...this.#counts(), isDone: false } };
  }

  async #open(): Promise<SinkWriter<T>> {
    const { state, lanes, prefetch } = this.#options;
    this.#release = await state?.lock(this.#ending.signal);
    const context = await this.#begin();
    const position = this.#checkpoint?.position ?? startOfPlan;
    // Asked for before the target is touched, since options that make no sense are refused here.
    const pages = this.#source.pages({
      startAt: position,
      ...(lanes !== undefined && { lanes }),
      ...(prefetch !== undefined && { prefetch }),
    });
    this.#writer = await this.#sink.open(context);
    this.#rows = this.#resumedRows = this.#checkpoint?.rows ?? 0;
    this.#pageCount = this.#checkpoint?.pages ?? 0;
    this.#pages = pages[Symbol.asyncIterator]();
    return this.#writer;
  }

  /** Finds the checkpoint of this plan, or writes the first one before the sink touches its target. */
  async #begin(): Promise<SinkContext<T>> {
    const { state, restart = false } = this.#options;
    const { name, schema } = this.#source.info;
    const context: SinkContext<T> = { source: name, restart, signal: this.#ending.signal, ...(schema && { schema }) };
    if (!state) return context;
    const hash = await this.#planHash();
    const record = restart ? undefined : await state.load('checkpoint');
    if (record === undefined) {
      await this.#sink.check?.(context);
      this.#checkpoint = { v: 1, runId: crypto.randomUUID(), planHash: hash, position: startOfPlan, rows: 0, pages: 0 };
      await state.save('checkpoint', this.#checkpoint);
      return context;
    }
    this.#checkpoint = decodeCheckpoint(record, hash);
    const { place, isSealed = false } = this.#checkpoint;
    // Without a place it was killed before its first commit. What lies there was checked to be nobody else's, so it is ours.
    return place === undefined ? { ...context, restart: true } : { ...context, resumeAt: { place, isSealed } };
  }

  #planHash(): Promise<string> {
    const { name, identity, schema, isUnversioned } = this.#source.info;
    if (isUnversioned) {
      throw new ConfigError(
        "A checkpoint can't tell whether the operator given to perPage is still the same: name it with perPage(operator, { version }).",
      );
    }
    const columns = schema?.columns ?? null;
    return planHash({ source: name, identity, columns, sink: this.#sink.name, target: this.#sink.identity });
  }

  /** The rows are durable by now: only then may the checkpoint say so. */
  async #commit(
    place: Awaited<ReturnType<SinkWriter<T>['flush']>>,
    change: { position?: Position; isSealed?: true },
  ): Promise<void> {
    this.#uncommitted = 0;
    this.#isAsked = false;
    if (!this.#checkpoint) return;
    this.#checkpoint = { ...this.#checkpoint, ...change, place, rows: this.#rows, pages: this.#pageCount };
    await this.#options.state?.save('checkpoint', this.#checkpoint);
  }

  async #finish(writer: SinkWriter<T>): Promise<IteratorResult<ExportReport, undefined>> {
    const report = await writer.close();
    await this.#options.state?.remove('checkpoint');
    this.report = { ...this.#counts(), ...report, isDone: true };
    return { done: false, value: this.report };
  }

  #counts(): ExportCounts {
    return {
      rows: this.#rows,
      pages: this.#pageCount,
      resumedRows: this.#resumedRows,
      ...(this.#total !== undefined && { total: this.#total }),
    };
  }
}
