import {
  memoryState,
  type Sink,
  type SinkContext,
  type SinkPage,
  type SinkWriter,
  type StateStore,
} from '@sluice/core';
import { checkNoneLost, checkRows, shown } from '../check.js';
import { inTime } from '../waiting.js';
import { throughJson } from '../plainJson.js';
import type { Trial } from '../suite.js';
import { DrivenWriter, type Committed } from './drivenWriter.js';
import type { RowSamples, SinkFixture } from './sinkFixture.js';

export type Opening = Partial<Pick<SinkContext<never>, 'resumeAt' | 'restart' | 'isEndless'>>;

export interface SinkTrial<T> extends Trial<SinkFixture<T>> {
  readonly samples: RowSamples<T>;
}

/** One target and its sink, driven by hand the way an export drives them, so that any step can be the last one before a crash. */
export class DrivenSink<T> {
  /** Of the process that runs now. */
  sink: Sink<T>;
  /** What an export would keep its checkpoint in. It survives crashes, and so does what the sink logs there. */
  readonly state: StateStore;
  readonly #fixture: SinkFixture<T>;
  readonly #trial: SinkTrial<T>;

  private constructor(trial: SinkTrial<T>, fixture: SinkFixture<T>) {
    this.#trial = trial;
    this.#fixture = fixture;
    this.sink = fixture.sink();
    // A dead process releases no lock, so there is none.
    this.state = { ...memoryState(), lock: () => Promise.resolve(() => Promise.resolve()) };
  }

  static async on<T>(trial: SinkTrial<T>): Promise<DrivenSink<T>> {
    return new DrivenSink(trial, await trial.fixture());
  }

  get isExact(): boolean {
    return this.sink.delivery === 'exactly-once';
  }

  context(opening: Opening = {}, signal: AbortSignal = new AbortController().signal): SinkContext<T> {
    const { schema } = this.#trial.samples;
    return {
      ...{ source: 'testing.rows', restart: false, isEndless: false, signal, ...opening },
      ...(schema && { schema }),
      log: (name) => this.state.log(name),
    };
  }

  /** @throws Error naming how it was opened, if the sink refuses. */
  async open(opening: Opening = {}, resumed?: Committed): Promise<DrivenWriter<T>> {
    const outcome = await this.tryOpen(opening, resumed);
    if (outcome instanceof DrivenWriter) return outcome;
    const { refusal } = outcome;
    throw new Error(`open with ${shown(opening)} was refused: ${shown(refusal)}`, { cause: refusal });
  }

  /** A writer, or why there is none. */
  async tryOpen(opening: Opening, resumed?: Committed): Promise<DrivenWriter<T> | { readonly refusal: unknown }> {
    try {
      return await this.#open(opening, resumed);
    } catch (refusal) {
      return { refusal };
    }
  }

  async #open(opening: Opening, resumed: Committed | undefined): Promise<DrivenWriter<T>> {
    const process = new AbortController();
    const writer = await this.inTime(this.sink.open(this.context(opening, process.signal)), 'open');
    const driven = new DrivenWriter(writer, resumed);
    this.letGoAtEnd(writer, () => {
      process.abort(new Error('The check is over.'));
      return !driven.isEnded;
    });
    return driven;
  }

  /** Ends a writer that died when it makes no difference any more: it may hold files or connections open. */
  letGoAtEnd(writer: SinkWriter<T>, isOpen: () => boolean = () => true): void {
    this.#trial.atEnd(async () => {
      if (isOpen()) await this.inTime(writer.abort(new Error('The check is over.'), { isResumable: true }), 'abort');
    });
  }

  /** Goes on as an export does: behind its last commit, and without one by starting over. */
  resume(committed: Committed, opening: Pick<Opening, 'isEndless'> = {}): Promise<DrivenWriter<T>> {
    const { sinkPosition } = committed;
    if (sinkPosition === undefined) return this.open({ restart: true, ...opening });
    return this.open({ resumeAt: { sinkPosition, isSealed: false }, ...opening }, committed);
  }

  /** The process dies, and another one starts. */
  async crash(): Promise<void> {
    await this.#fixture.crash?.();
    this.startAnew();
  }

  /** Another process, which remembers nothing. */
  startAnew(): void {
    this.sink = this.#fixture.sink();
  }

  async rows(): Promise<readonly unknown[]> {
    return this.#fixture.rows();
  }

  /** What these pages look like when they are read back. */
  readBack(pages: readonly SinkPage<T>[]): unknown[] {
    const { samples } = this.#trial;
    return pages.flatMap(({ items }) => items.map((row) => samples.readBack?.(row) ?? throughJson(row)));
  }

  /** Each row of these pages is there, once and in order. */
  async checkHolds(pages: readonly SinkPage<T>[], when: string): Promise<void> {
    checkRows(await this.rows(), this.readBack(pages), when);
  }

  /** The same after a crash, or at least that none is lost where the sink promises no more. `written`: all that ever were given to it. */
  async checkSurvived(pages: readonly SinkPage<T>[], when: string, written = pages): Promise<void> {
    if (this.isExact) {
      await this.checkHolds(pages, when);
      return;
    }
    checkNoneLost(await this.rows(), { expected: this.readBack(pages), written: this.readBack(written) }, when);
  }

  inTime<R>(promise: Promise<R>, call: string): Promise<R> {
    return inTime(promise, `${call} did not settle`, this.#trial.timeout);
  }
}
