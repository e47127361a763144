import { context, SpanKind, SpanStatusCode, trace, type Attributes, type Span, type Tracer } from '@opentelemetry/api';
import { SluiceError, type Sink, type StateStore } from '@sluice/core';
import type { SinkWriter } from '@sluice/core/kit';
import type { Instruments } from './instruments.js';

interface Observation {
  readonly tracer: Tracer;
  readonly instruments: Pick<Instruments, 'databaseDuration' | 'exportCalls'>;
  /** A monotonic clock in ms. */
  readonly now: () => number;
}

/** The name of a database in the conventions, by the name of the sink that writes into it. */
const databases: Readonly<Record<string, string>> = { postgres: 'postgresql', sqlite: 'sqlite' };

/**
 * The sink, with a span per export, and the duration of each of its calls. The transactions of a table are operations
 * by the conventions for databases.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/database/database-spans/
 */
export function observeSink<T>(sink: Sink<T>, observation: Observation): Sink<T> {
  const { name, identity, target, delivery, state } = sink;
  const run: ExportRun = { uncommitted: 0, rows: 0 };
  const { check, withoutPartition, finished, isRefreshed, addsColumns } = sink;
  return {
    name,
    identity,
    delivery,
    target,
    state: state && observeState(state, sink, run, observation),
    check: check?.bind(sink),
    withoutPartition: withoutPartition?.bind(sink),
    finished: finished?.bind(sink),
    isRefreshed,
    addsColumns,
    async open(context) {
      const attributes = { 'sluice.source': context.source, 'sluice.sink': name };
      run.span = observation.tracer.startSpan(`export ${context.source}`, { attributes });
      Object.assign(run, { uncommitted: 0, rows: 0 });
      try {
        return observeWriter(await sink.open(context), name, run, observation);
      } catch (error) {
        endSpan(run, 'failed', error);
        throw error;
      }
    },
  };
}

/** The run of a sink that is open. */
interface ExportRun {
  span?: Span;
  /** Rows since the last transaction. */
  uncommitted: number;
  /** Rows of this run. */
  rows: number;
}

function observeWriter<T>(
  writer: SinkWriter<T>,
  sink: string,
  run: ExportRun,
  observation: Observation,
): SinkWriter<T> {
  const { exportCalls } = observation.instruments;
  const call = async <R>(name: string, work: () => Promise<R>): Promise<R> => {
    const attributes = { 'sluice.sink': sink, 'sluice.call': name };
    return measure(work, observation.now, (seconds, failure) =>
      exportCalls.record(seconds, { ...attributes, ...failure }),
    );
  };
  /** The last call of a run. */
  const last = async <R>(name: string, work: () => Promise<R>): Promise<R> => {
    const result = await call(name, work);
    endSpan(run, name === 'close' ? 'finished' : 'suspended');
    return result;
  };
  const { start, suspend } = writer;
  return {
    start,
    get isFull() {
      return writer.isFull ?? false;
    },
    get isCommittable() {
      return writer.isCommittable ?? true;
    },
    failed: writer.failed,
    async write(page) {
      await call('write', () => writer.write(page));
      run.rows += page.items.length;
      run.uncommitted += page.items.length;
    },
    async flush() {
      const position = await call('flush', () => writer.flush());
      run.span?.addEvent('flush', { 'sluice.export.rows': run.rows });
      return position;
    },
    seal: (end) => call('seal', () => writer.seal(end)),
    suspend: suspend && (() => last('suspend', suspend.bind(writer))),
    close: () => last('close', () => writer.close()),
    async abort(reason, options) {
      try {
        await writer.abort(reason, options);
      } finally {
        endSpan(run, reason === undefined ? 'stopped' : 'failed', reason);
      }
    },
  };
}

/** The state of a table, whose `save` is a transaction with the rows since the last one. */
function observeState<T>(
  state: StateStore,
  { name, target = '' }: Pick<Sink<T>, 'name' | 'target'>,
  run: ExportRun,
  { tracer, instruments, now }: Observation,
): StateStore {
  const collection = target.includes('#') ? target.slice(target.lastIndexOf('#') + 1) : undefined;
  const operation: Attributes = {
    'db.system.name': databases[name] ?? 'other_sql',
    'db.operation.name': 'COMMIT',
    ...(collection !== undefined && { 'db.collection.name': collection }),
  };
  return {
    folder: state.folder,
    lock: (...holder) => state.lock(...holder),
    load: (record) => state.load(record),
    remove: (record) => state.remove(record),
    log: (log) => state.log(log),
    async save(record, value) {
      const rows = run.uncommitted;
      run.uncommitted = 0;
      const span = tracer.startSpan(
        collection === undefined ? 'COMMIT' : `COMMIT ${collection}`,
        {
          kind: SpanKind.CLIENT,
          // By the conventions, one row is not a batch.
          attributes: { ...operation, ...(rows > 1 && { 'db.operation.batch.size': rows }) },
        },
        run.span && trace.setSpan(context.active(), run.span),
      );
      await measure(
        () => state.save(record, value),
        now,
        (seconds, failure) => {
          instruments.databaseDuration.record(seconds, { ...operation, ...failure });
          span.setAttributes(failure);
          if ('error.type' in failure) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        },
      );
    },
  };
}

/** Makes a call, and reports how long it took, and why it failed. */
async function measure<R>(
  work: () => Promise<R>,
  now: () => number,
  report: (seconds: number, failure: Attributes) => void,
): Promise<R> {
  const began = now();
  try {
    const result = await work();
    report((now() - began) / 1000, {});
    return result;
  } catch (error) {
    report((now() - began) / 1000, { 'error.type': errorType(error) });
    throw error;
  }
}

function endSpan(run: ExportRun, outcome: 'finished' | 'suspended' | 'stopped' | 'failed', error?: unknown): void {
  const { span, rows } = run;
  if (!span) return;
  delete run.span;
  span.setAttributes({ 'sluice.outcome': outcome, 'sluice.export.rows': rows });
  if (outcome === 'failed') {
    span.setAttributes({ 'error.type': errorType(error) });
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}

/** Never its message, which may be any text. */
function errorType(error: unknown): string {
  if (SluiceError.is(error)) return error.code;
  return error instanceof Error ? error.name : '_OTHER';
}
