import type { Json, StateStore } from '@sluice/core';
import type { Release, SinkPage, SinkReport, SinkWriter } from '@sluice/core/kit';
import { check, checkPlainJson, show } from '../check.js';

/** The content of a checkpoint: the position, if there is one yet, and the pages before it. */
export interface Committed {
  readonly sinkPosition: Json | undefined;
  readonly pages: number;
}

/** What a sink that keeps its own checkpoints needs of an export. */
interface OwnState {
  readonly state: StateStore;
  readonly release: Release;
}

export class DrivenWriter {
  /** The last commit; at first the position before the first row, if the sink has one. */
  committed: Committed;
  isEnded = false;
  readonly #writer: SinkWriter<unknown>;
  #pages: number;
  readonly #own: OwnState | undefined;

  private constructor(writer: SinkWriter<unknown>, { resumed, own }: DrivenOptions) {
    this.#writer = writer;
    this.#own = own;
    this.committed = resumed ?? {
      sinkPosition: writer.start === undefined ? undefined : readAgain(writer.start, 'start'),
      pages: 0,
    };
    this.#pages = this.committed.pages;
  }

  /** Commits the position before the first row, if there is one, as an export does. */
  static async on(writer: SinkWriter<unknown>, options: DrivenOptions): Promise<DrivenWriter> {
    const driven = new DrivenWriter(writer, options);
    if (!options.resumed && writer.start !== undefined) await driven.#save();
    return driven;
  }

  get canSuspend(): boolean {
    return this.#writer.suspend !== undefined;
  }

  async write(...pages: readonly SinkPage<unknown>[]): Promise<void> {
    for (const page of pages) await callWriter(() => this.#writer.write(page), 'write', describeTask(page));
    this.#pages += pages.length;
  }

  /** Commits if the writer allows it here, and returns whether it did. */
  async commit(): Promise<boolean> {
    if (this.#writer.isCommittable === false) return false;
    this.committed = {
      sinkPosition: readAgain(await callWriter(() => this.#writer.flush(), 'flush'), 'flush'),
      pages: this.#pages,
    };
    await this.#save();
    return true;
  }

  /** Writes pages, with a commit after each. */
  async writeAndCommit(...pages: readonly SinkPage<unknown>[]): Promise<void> {
    for (const page of pages) {
      await this.write(page);
      await this.commit();
    }
  }

  /** Writes the pages that are not committed yet, seals and closes. */
  async finish(pages: readonly SinkPage<unknown>[] = []): Promise<void> {
    await this.write(...pages.slice(this.committed.pages));
    await this.seal();
    await this.close();
  }

  async seal(): Promise<Json> {
    const sinkPosition = readAgain(await callWriter(() => this.#writer.seal({ isIncomplete: false }), 'seal'), 'seal');
    await this.#save({ sinkPosition, pages: this.#pages });
    return sinkPosition;
  }

  async close(): Promise<SinkReport> {
    this.isEnded = true;
    const report = checkReport(await callWriter(() => this.#writer.close(), 'close'), 'close');
    await this.#own?.release();
    return report;
  }

  async suspend(): Promise<void> {
    this.isEnded = true;
    const { suspend } = this.#writer;
    if (suspend) checkReport(await callWriter(() => suspend.call(this.#writer), 'suspend'), 'suspend');
    await this.#own?.release();
  }

  async abort(isResumable: boolean): Promise<void> {
    this.isEnded = true;
    const reason = new Error('The export is aborted.');
    await callWriter(
      () => this.#writer.abort(reason, { isResumable }),
      'abort',
      `release its target (isResumable: ${isResumable})`,
    );
    await this.#own?.release();
  }

  /** With it, a sink that keeps its own checkpoints commits its rows. */
  async #save({ sinkPosition, pages }: Committed = this.committed): Promise<void> {
    await this.#own?.state.save('checkpoint', { sinkPosition, pages });
  }
}

interface DrivenOptions {
  /** Where it resumes; absent on a new target. */
  readonly resumed: Committed | undefined;
  readonly own: OwnState | undefined;
}

/** @throws Error with the name of the call if it fails, because no call may. */
async function callWriter<R>(call: () => Promise<R>, name: string, what = 'do what it is called for'): Promise<R> {
  try {
    return await call();
  } catch (error) {
    throw new Error(`${name} failed for no reason: it must ${what}. It threw ${show(error)}`, {
      cause: error,
    });
  }
}

/** Describes a page in a message: the sink may have failed because of its rows or its shape. */
function describeTask({ items, partition, endsPartition }: SinkPage<unknown>): string {
  const first = items.length === 0 ? '' : `, the first of which is ${show(items[0])}`;
  return `take a page of ${items.length} rows of partition ${partition}${endsPartition ? ', which ends here' : ''}${first}`;
}

/** A position as the next process reads it. */
function readAgain(sinkPosition: Json, call: string): Json {
  checkPlainJson(sinkPosition, `The position of ${call}`);
  return structuredClone(sinkPosition);
}

function checkReport(report: SinkReport, call: string): SinkReport {
  const { target, bytes } = report;
  check(
    typeof target === 'string' && target !== '',
    `${call} must say where the rows are (target), not ${show(target)}.`,
  );
  const isCount = bytes === undefined || (Number.isSafeInteger(bytes) && bytes >= 0);
  check(isCount, `The bytes that ${call} reports must be a number, not ${show(bytes)}.`);
  return report;
}
