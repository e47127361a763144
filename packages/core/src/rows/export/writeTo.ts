import { Observable, ReplaySubject, takeUntil, type OperatorFunction, type Subscriber } from 'rxjs';
import { checkCount, checkOptions } from '../../checks.js';
import { systemClock, type Clock } from '../../clock.js';
import { newId } from '../../identifiers.js';
import { BackpressureError } from '../../errors.js';
import { checkSchema } from '../columns/columnTypes.js';
import type { RowSchema } from '../source/definition.js';
import type { ExportProgress, ExportReport } from './exportOptions.js';
import { checkSink, guardSink } from '../sink/guardSink.js';
import type { Sink, SinkContext, SinkWriter } from '../sink/sink.js';

/** Options of {@link writeTo}. */
export interface WriteOptions<T> {
  /** Rows buffered while the sink is busy. Default 10,000. */
  readonly buffer?: number | undefined;
  /** If the buffer is full: fail (the default), or drop the oldest or newest rows. */
  readonly overflow?: 'error' | 'drop-oldest' | 'drop-newest' | undefined;
  /** The rows' columns, for sinks that need them. */
  readonly schema?: RowSchema<T> | undefined;
  /** The name of the rows, as of a source: a webhook has it in the `type` of an envelope. Default `observable`. */
  readonly name?: string | undefined;
  /** Measures how long a call of the sink takes after the end. Default: the machine's clock. */
  readonly clock?: Clock | undefined;
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
  checkSink('writeTo()', sink);
  checkOptions('writeTo()', options, { buffer: true, overflow: true, schema: true, name: 'text?', clock: true });
  const { buffer = 10_000, overflow = 'error', schema, name = 'observable', clock = systemClock } = options;
  if (schema) checkSchema('The schema of writeTo()', schema);
  checkCount('buffer', buffer);
  return (rows) =>
    new Observable((subscriber) => {
      const waiting = new WaitingRows<T>();
      const ended = new ReplaySubject<void>(1);
      const stopped = new AbortController();
      const { signal } = stopped;
      const stop = (error: unknown): void => {
        waiting.fail(error);
        stopped.abort();
        ended.next();
      };
      const push = (row: T): void => {
        if (waiting.count < buffer) waiting.push(row);
        else if (overflow === 'drop-oldest') waiting.replaceOldest(row);
        else if (overflow === 'error') stop(tooSlowError(sink.name, buffer));
      };
      subscriber.add(() => stop(undefined));
      const context = { source: name, schema, restart: false, isEndless: false, signal };
      void write(guardSink(sink, { clock, signal }), context, { waiting, stop, subscriber });
      // A subscription could not be cancelled before it is returned, and what emits before that may be endless.
      rows.pipe(takeUntil(ended)).subscribe({ next: push, error: stop, complete: () => waiting.end() });
    });
}

interface Writing<T> {
  readonly waiting: WaitingRows<T>;
  readonly stop: (error: unknown) => void;
  readonly subscriber: Subscriber<ExportProgress | ExportReport>;
}

/** Writes one batch after the other. */
async function write<T>(
  sink: Sink<T>,
  context: SinkContext<T>,
  { waiting, stop, subscriber }: Writing<T>,
): Promise<void> {
  let writer: SinkWriter<T> | undefined;
  const subscription = newId();
  let counts = { rows: 0, pages: 0, resumedRows: 0, committedRows: 0 };
  try {
    writer = await sink.open(context);
    for await (const items of waiting.batches()) {
      const scope = { page: `${subscription}/${counts.pages}` };
      await writer.write({ items, scope, partition: 0, endsPartition: false });
      counts = { ...counts, rows: counts.rows + items.length, pages: counts.pages + 1 };
      subscriber.next({ isDone: false, ...counts });
    }
    await writer.seal({ isIncomplete: false });
    subscriber.next({ ...counts, ...(await writer.close()), isDone: true });
    subscriber.complete();
  } catch (thrown) {
    stop(thrown);
    const error = waiting.failure?.error;
    await writer?.abort(error, { isResumable: false }).catch(() => undefined);
    subscriber.error(error);
  }
}

/** Rows that wait while the sink is busy. */
class WaitingRows<T> {
  /** The first error, after which no row is written. */
  failure: { readonly error: unknown } | undefined;
  #rows: T[] = [];
  #isComplete = false;
  #wake: () => void = () => undefined;

  get count(): number {
    return this.#rows.length;
  }

  push(row: T): void {
    this.#rows.push(row);
    this.#wake();
  }

  replaceOldest(row: T): void {
    this.#rows.shift();
    this.push(row);
  }

  end(): void {
    this.#isComplete = true;
    this.#wake();
  }

  fail(error: unknown): void {
    this.failure ??= { error };
    this.#wake();
  }

  /** @throws the failure. */
  async *batches(): AsyncGenerator<readonly T[], void> {
    for (;;) {
      if (this.failure) throw this.failure.error;
      const items = this.#rows.splice(0);
      if (items.length > 0) yield items;
      else if (this.#isComplete) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

function tooSlowError(sink: string, buffer: number): BackpressureError {
  const message = `The sink ${sink} is slower than its source: ${buffer} rows wait already. Pull with exportTo, raise buffer, or choose what to drop with overflow.`;
  return new BackpressureError(message, { buffer });
}
