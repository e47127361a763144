import type { SinkPage, SinkReport, SinkWriter } from '../../sink/sink.js';
import type { Json } from '../../source/definition.js';
import { check, checkPlainJson, shown } from '../check.js';

/** What a checkpoint would say: the place, if there is one yet, and the pages before it. */
export interface Committed {
  readonly place: Json | undefined;
  readonly pages: number;
}

/** A writer, and how far it came. */
export class DrivenWriter<T> {
  /** The last commit: at first the place before the first row, where the sink has one. */
  committed: Committed;
  /** No call is allowed any more. */
  isEnded = false;
  readonly #writer: SinkWriter<T>;
  #pages: number;

  /** @param resumed where it goes on; absent on a new target. */
  constructor(writer: SinkWriter<T>, resumed?: Committed) {
    this.#writer = writer;
    this.committed = resumed ?? {
      place: writer.start === undefined ? undefined : readAgain(writer.start, 'start'),
      pages: 0,
    };
    this.#pages = this.committed.pages;
  }

  get canSuspend(): boolean {
    return this.#writer.suspend !== undefined;
  }

  async write(...pages: readonly SinkPage<T>[]): Promise<void> {
    for (const page of pages) await this.#writer.write(page);
    this.#pages += pages.length;
  }

  /** Commits if a commit may fall here, and answers whether it could. */
  async commit(): Promise<boolean> {
    if (this.#writer.isCommittable === false) return false;
    this.committed = { place: readAgain(await this.#writer.flush(), 'flush'), pages: this.#pages };
    return true;
  }

  /** Writes pages, with a commit behind each. */
  async writeAndCommit(...pages: readonly SinkPage<T>[]): Promise<void> {
    for (const page of pages) {
      await this.write(page);
      await this.commit();
    }
  }

  /** Writes those of all pages that are not committed yet, and ends. */
  async finish(pages: readonly SinkPage<T>[] = []): Promise<void> {
    await this.write(...pages.slice(this.committed.pages));
    await this.seal();
    await this.close();
  }

  async seal(): Promise<Json> {
    return readAgain(await this.#writer.seal(), 'seal');
  }

  async close(): Promise<SinkReport> {
    this.isEnded = true;
    return checkReport(await this.#writer.close(), 'close');
  }

  async suspend(): Promise<void> {
    this.isEnded = true;
    if (this.#writer.suspend) checkReport(await this.#writer.suspend(), 'suspend');
  }

  async abort(isResumable: boolean): Promise<void> {
    this.isEnded = true;
    await this.#writer.abort(new Error('The export is given up.'), { isResumable });
  }
}

/** A place as the next process has it. */
function readAgain(place: Json, call: string): Json {
  checkPlainJson(place, `The place of ${call}`);
  return structuredClone(place);
}

function checkReport(report: SinkReport, call: string): SinkReport {
  const { target, bytes } = report;
  check(
    typeof target === 'string' && target !== '',
    `${call} has to say where the rows are (target), and not ${shown(target)}.`,
  );
  const isCount = bytes === undefined || (Number.isSafeInteger(bytes) && bytes >= 0);
  check(isCount, `The bytes that ${call} tells of have to be a number of them, and not ${shown(bytes)}.`);
  return report;
}
