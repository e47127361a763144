import { Observable, Subscription, type OperatorFunction, type Subscriber } from 'rxjs';
import { checkCount, refuseUnknown } from '../checks.js';
import { systemClock, type Clock } from '../clock.js';
import { BackpressureError } from '../errors.js';
import type { RowSchema } from '../source/definition.js';
import type { ExportProgress, ExportReport } from './exportOptions.js';
import { givenSink } from './givenSink.js';
import type { Sink, SinkWriter } from './sink.js';

/** Options of {@link writeTo}. */
export interface WriteOptions<T> {
  /** Rows buffered while the sink is busy. Default 10,000. */
  readonly buffer?: number;
  /** If the buffer is full: fail (the default), or drop the oldest or newest rows. */
  readonly overflow?: 'error' | 'drop-oldest' | 'drop-newest';
  /** The rows' columns, for sinks that need them. */
  readonly schema?: RowSchema<T>;
  /** Measures how long a call of the sink takes after the end. Default: the machine's clock. */
  readonly clock?: Clock;
}

/**
 * Writes an Observable's rows to a sink; emits progress and finally the report. It can't resume: for that, export a
 * source. A pushed Observable can't be slowed down, so rows are buffered while the sink is busy.
 *
 * @example source.pipe(filter(isLarge), map(toRow), writeTo(jsonl({ path: 'large.jsonl' }))).subscribe()
 *
 * @throws BackpressureError if the buffer overflows, SinkError if the target can't be written; incomplete targets are
 * removed.
 */
export function writeTo<T>(
  sink: Sink<T>,
  options: WriteOptions<T> = {},
): OperatorFunction<T, ExportProgress | ExportReport> {
  refuseUnknown('writeTo()', options, { buffer: true, overflow: true, schema: true, clock: true });
  const { buffer = 10_000 } = options;
  checkCount('buffer', buffer);
  return (rows) =>
    new Observable((subscriber) => {
      const upstream = new Subscription();
      subscriber.add(upstream);
      const writing = new BufferedWriting(sink, { ...options, buffer }, subscriber, upstream);
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

/** Buffers rows and writes one batch after the other. */
class BufferedWriting<T> {
  readonly #sink: Sink<T>;
  readonly #options: WriteOptions<T> & { readonly buffer: number };
  readonly #subscriber: Subscriber<ExportProgress | ExportReport>;
  readonly #upstream: Subscription;
  readonly #stopped = new AbortController();
  #rows: T[] = [];
  #isComplete = false;
  #failure: { readonly error: unknown } | undefined;
  #wake: () => void = () => undefined;

  constructor(
    sink: Sink<T>,
    options: WriteOptions<T> & { readonly buffer: number },
    subscriber: Subscriber<ExportProgress | ExportReport>,
    upstream: Subscription,
  ) {
    const { clock = systemClock } = options;
    this.#sink = givenSink(sink, { clock, signal: this.#stopped.signal });
    this.#options = options;
    this.#subscriber = subscriber;
    this.#upstream = upstream;
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
    this.#upstream.unsubscribe();
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
        this.#subscriber.next(report);
        this.#subscriber.complete();
        return;
      }
    } catch (error) {
      this.abort(error);
    }
    const error = this.#failure?.error;
    await writer?.abort(error, { isResumable: false }).catch(() => undefined);
    this.#subscriber.error(error);
  }

  /** `undefined` if it was aborted. */
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
        this.#subscriber.next({ isDone: false, rows, pages, resumedRows: 0, committedRows: 0 });
      } else if (this.#isComplete) {
        await writer.seal({ isIncomplete: false });
        return { rows, pages, resumedRows: 0, committedRows: 0, ...(await writer.close()), isDone: true };
      } else {
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    }
  }
}
