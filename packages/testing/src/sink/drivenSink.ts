import { memoryState, SluiceError, type Sink, type StateStore } from '@sluice/core';
import type { Release, SinkContext, SinkPage, SinkWriter } from '@sluice/core/kit';
import { checkNoneLost, checkRows, show, type Failure } from '../check.js';
import { roundTripJson } from '../plainJson.js';
import { Skipped, type Trial } from '../suite.js';
import { DrivenWriter, type Committed } from './drivenWriter.js';
import type { RowSamples, SinkFixture } from './sinkFixture.js';

export type Opening = Partial<Pick<SinkContext<never>, 'resumeAt' | 'restart' | 'isEndless'>>;

/** A target and its sink, driven step by step like an export, so that a crash can follow any step. */
export class DrivenSink {
  /** The sink of the current process. */
  sink: Sink<unknown>;
  readonly #trial: Trial;
  readonly #fixture: SinkFixture<unknown>;
  readonly #samples: RowSamples<unknown>;
  /** For a sink that keeps no checkpoints itself. Survives crashes. */
  readonly #memory: StateStore;
  /** Releases the locks of the current process. */
  readonly #locks = new Set<Release>();

  constructor(trial: Trial, fixture: SinkFixture<unknown>, samples: RowSamples<unknown>) {
    this.#trial = trial;
    this.#fixture = fixture;
    this.#samples = samples;
    this.sink = fixture.sink();
    // Without a lock, because a dead process could not release it.
    this.#memory = { ...memoryState(), lock: () => Promise.resolve(() => Promise.resolve()) };
  }

  /** Stores checkpoints and the logs of the sink. */
  get state(): StateStore {
    return this.sink.state ?? this.#memory;
  }

  /** Whether rows and checkpoint are committed together. */
  get keepsState(): boolean {
    return this.sink.state !== undefined;
  }

  get isExact(): boolean {
    return this.sink.delivery === 'exactly-once';
  }

  context(opening: Opening = {}, signal: AbortSignal = new AbortController().signal): SinkContext<unknown> {
    return {
      source: 'testing.rows',
      restart: false,
      isEndless: false,
      signal,
      ...opening,
      schema: this.#samples.schema,
      log: (name) => this.state.log(name),
    };
  }

  /** @throws Error with the opening if the sink refuses it. */
  async open(opening: Opening = {}, resumed?: Committed): Promise<DrivenWriter> {
    const outcome = await this.tryOpen(opening, resumed);
    if (outcome instanceof DrivenWriter) return outcome;
    const { error } = outcome;
    throw new Error(`open with ${show(opening)} was refused: ${show(error)}`, { cause: error });
  }

  /** Skips the check if the sink refuses. @param what the check needs */
  async openOrSkip(opening: Opening, what: string): Promise<DrivenWriter> {
    const outcome = await this.tryOpen(opening);
    if (outcome instanceof DrivenWriter) return outcome;
    if (SluiceError.is(outcome.error)) throw new Skipped(what);
    throw outcome.error;
  }

  /** A writer, or the error of the sink. */
  async tryOpen(opening: Opening, resumed?: Committed): Promise<DrivenWriter | Failure> {
    const process = new AbortController();
    try {
      const release = await this.inTime(this.lock(process.signal), 'lock');
      let writer: SinkWriter<unknown>;
      try {
        writer = await this.inTime(this.sink.open(this.context(opening, process.signal)), 'open');
      } catch (error) {
        await release();
        throw error;
      }
      const own = this.sink.state && { state: this.sink.state, release };
      const driven = await DrivenWriter.on(writer, { resumed, own });
      this.abortAtEnd(writer, () => {
        process.abort(new Error('The check is over.'));
        return !driven.isEnded;
      });
      return driven;
    } catch (error) {
      return { error };
    }
  }

  /** Locks the state like an export. A sink that keeps its own is connected only then. */
  async lock(signal: AbortSignal = new AbortController().signal): Promise<Release> {
    const release = await this.state.lock(signal);
    this.releaseAtCrash(release);
    return release;
  }

  releaseAtCrash(release: Release): void {
    this.#locks.add(release);
    this.#trial.atEnd(() => this.#releaseAll());
  }

  async #releaseAll(): Promise<void> {
    const locks = [...this.#locks];
    this.#locks.clear();
    for (const release of locks) await release();
  }

  /** Aborts a writer after the check, because it may have open files or connections. */
  abortAtEnd(writer: SinkWriter<unknown>, isOpen: () => boolean = () => true): void {
    this.#trial.atEnd(async () => {
      if (isOpen()) await this.inTime(writer.abort(new Error('The check is over.'), { isResumable: true }), 'abort');
    });
  }

  /** Resumes like an export: after the last commit or, without a commit, from the start. */
  resume(committed: Committed, opening: Pick<Opening, 'isEndless'> = {}): Promise<DrivenWriter> {
    const { sinkPosition } = committed;
    if (sinkPosition === undefined) return this.open({ restart: true, ...opening });
    return this.open({ resumeAt: { sinkPosition, isSealed: false }, ...opening }, committed);
  }

  /** Resumes, writes the pages after the commit, and ends. */
  async resumeAndFinish(committed: Committed, pages: readonly SinkPage<unknown>[]): Promise<void> {
    const writer = await this.resume(committed);
    await writer.finish(pages);
  }

  /** Writes pages, with a commit after each, and ends. */
  async writeAll(pages: readonly SinkPage<unknown>[]): Promise<void> {
    const writer = await this.open();
    await writer.writeAndCommit(...pages);
    await writer.finish();
  }

  /** The process dies, and another one starts. */
  async crash(): Promise<void> {
    await this.#fixture.crash?.();
    await this.#releaseAll();
    this.restart();
  }

  /** Starts another process, without the memory of this one. */
  restart(): void {
    this.sink = this.#fixture.sink();
  }

  async rows(): Promise<readonly unknown[]> {
    return this.#fixture.rows();
  }

  /** The rows of these pages as the target returns them. */
  readBack(pages: readonly SinkPage<unknown>[]): unknown[] {
    return pages.flatMap(({ items }) => items.map((row) => this.#samples.readBack?.(row) ?? roundTripJson(row)));
  }

  /** Checks that each row of these pages is there, once and in order. */
  async checkHolds(pages: readonly SinkPage<unknown>[], when: string): Promise<void> {
    checkRows(await this.rows(), this.readBack(pages), when);
  }

  /** The same after a crash; an at-least-once sink may repeat rows. `written`: all pages that it was given. */
  async checkSurvived(pages: readonly SinkPage<unknown>[], when: string, written = pages): Promise<void> {
    if (this.isExact) return this.checkHolds(pages, when);
    checkNoneLost(await this.rows(), { expected: this.readBack(pages), written: this.readBack(written) }, when);
  }

  inTime<R>(promise: Promise<R>, call: string): Promise<R> {
    return this.#trial.inTime(promise, `${call} did not settle`);
  }
}
