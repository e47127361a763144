import { Observable, Subscription, type OperatorFunction } from 'rxjs';
import { checkCount } from '../checks.js';
import { BackpressureError } from '../errors.js';
import type { RowSchema } from '../source/definition.js';
import type { ExportProgress, ExportReport } from './exportRun.js';
import type { Sink, SinkWriter } from './sink.js';

/** Options of {@link writeTo}. */
export interface WriteOptions<T> {
  /** Rows kept while the sink is busy. Default 10,000. */
  readonly buffer?: number;
  /** What happens to rows that find the buffer full: an error (the default), or the oldest or the newest ones are lost. */
  readonly overflow?: 'error' | 'drop-oldest' | 'drop-newest';
  /** The rows' columns, for sinks that need them and have none of their own. */
  readonly schema?: RowSchema<T>;
}

/**
 * Writes any Observable's rows to a sink, and emits progress and at last the report. There is no resume: for that, export a
 * source. A pushed Observable can't be slowed down, so rows wait in a buffer while the sink is busy.
 *
 * @example source.pipe(filter(isLarge), map(toRow), writeTo(jsonl({ path: 'large.jsonl' }))).subscribe()
 *
 * @throws BackpressureError when the buffer overflows, SinkError if the target can't be written; what was begun is cleared away.
 */
export function writeTo<T>(
  sink: Sink<T>,
  options: WriteOptions<T> = {},
): OperatorFunction<T, ExportProgress | ExportReport> {
  const { buffer = 10_000 } = options;
  checkCount('buffer', buffer);
  return (rows) =>
    new Observable((subscriber) => {
      const upstream = new Subscription();
      subscriber.add(upstream);
      const writing = new BufferedWriting(
        sink,
        { ...options, buffer },
        {
          stop: () => upstream.unsubscribe(),
          progress: (progress) => subscriber.next(progress),
          fail: (error) => subscriber.error(error),
          finish: () => subscriber.complete(),
        },
      );
      subscriber.add(() => writing.abort(undefined));
      upstream.add(
        rows.subscribe({
          next: (row) => writing.push(row),
          error: (error: unknown) => writing.abort(error),
          complete: () => writing.end(),
        }),
      );
    });
}

interface Listener {
  stop(): void;
  progress(progress: ExportProgress | ExportReport): void;
  fail(error: unknown): void;
  finish(): void;
}

/** Takes rows at any time, and writes them one batch after the other. */
class BufferedWriting<T> {
  readonly #sink: Sink<T>;
  readonly #options: WriteOptions<T> & { readonly buffer: number };
  readonly #listener: Listener;
  readonly #stopped = new AbortController();
  #rows: T[] = [];
  #isComplete = false;
  #failure: { readonly error: unknown } | undefined;
  #wake: () => void = () => undefined;

  constructor(sink: Sink<T>, options: WriteOptions<T> & { readonly buffer: number }, listener: Listener) {
    this.#sink = sink;
    this.#options = options;
    this.#listener = listener;
    void this.#run();
  }

  push(row: T): void {
    const { buffer, overflow = 'error' } = this.#options;
    if (this.#failure) return;
    if (this.#rows.length >= buffer) {
      if (overflow === 'drop-newest') return;
      if (overflow === 'error') {
        const message = `The sink ${this.#sink.name} is slower than its source: ${buffer} rows wait already. Pull with exportTo, raise buffer, or choose what to drop with overflow.`;
        this.abort(new BackpressureError(message, { buffer }));
        return;
      }
      this.#rows.shift();
    }
    this.#rows.push(row);
    this.#wake();
  }

  end(): void {
    this.#isComplete = true;
    this.#wake();
  }

  abort(error: unknown): void {
    this.#failure ??= { error };
    this.#stopped.abort();
    this.#listener.stop();
    this.#wake();
  }

  async #run(): Promise<void> {
    let writer: SinkWriter<T> | undefined;
    try {
      const { schema } = this.#options;
      writer = await this.#sink.open({
        source: 'observable',
        restart: false,
        isEndless: false,
        signal: this.#stopped.signal,
        ...(schema && { schema }),
      });
      const report = await this.#writeAll(writer);
      if (report) {
        this.#listener.progress(report);
        this.#listener.finish();
        return;
      }
    } catch (error) {
      this.#failure ??= { error };
    }
    const error = this.#failure?.error;
    await writer?.abort(error, { isResumable: false }).catch(() => undefined);
    this.#listener.fail(error);
  }

  /** Answers nothing if it was given up on the way. */
  async #writeAll(writer: SinkWriter<T>): Promise<ExportReport | undefined> {
    let rows = 0;
    let pages = 0;
    for (;;) {
      if (this.#failure) return undefined;
      const items = this.#rows.splice(0);
      if (items.length > 0) {
        await writer.write({ items, partition: 0, endsPartition: false });
        rows += items.length;
        pages += 1;
        this.#listener.progress({ isDone: false, rows, pages, resumedRows: 0, committedRows: 0 });
      } else if (this.#isComplete) {
        await writer.seal();
        return { rows, pages, resumedRows: 0, committedRows: 0, ...(await writer.close()), isDone: true };
      } else {
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    }
  }
}
