import type { Meter } from '@opentelemetry/api';

/** Bounds of durations in seconds, as the conventions for HTTP recommend. */
const httpBounds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** The same, as the conventions for databases recommend. */
const databaseBounds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];

/** Waits for a limit or a sink, in seconds: a pause may take an hour. */
const waitBounds = [0.001, 0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 3600];

export type Instruments = ReturnType<typeof createInstruments>;

/**
 * All metrics. The README lists them.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/http/http-metrics/
 * @see https://opentelemetry.io/docs/specs/semconv/database/database-metrics/
 */
export function createInstruments(meter: Meter) {
  const seconds = (name: string, description: string, bounds: number[]) =>
    meter.createHistogram(name, { description, unit: 's', advice: { explicitBucketBoundaries: bounds } });
  return {
    httpDuration: seconds('http.client.request.duration', 'Duration of HTTP client requests.', httpBounds),
    databaseDuration: seconds(
      'db.client.operation.duration',
      'Duration of database client operations.',
      databaseBounds,
    ),
    requests: meter.createCounter('sluice.requests', {
      unit: '{request}',
      description: 'Requests that ended, each with its retries.',
    }),
    retries: meter.createCounter('sluice.retries', {
      unit: '{retry}',
      description: 'Attempts that failed and were repeated.',
    }),
    errors: meter.createCounter('sluice.errors', {
      unit: '{error}',
      description: 'Failures of requests, walks, watches and exports, once for each.',
    }),
    limiterWait: seconds('sluice.limiter.wait.duration', 'Time that an attempt waited for the limiter.', waitBounds),
    limiterPauses: meter.createCounter('sluice.limiter.pauses', {
      unit: '{pause}',
      description: 'Requests that the API refused for now.',
    }),
    limiterQueued: meter.createGauge('sluice.limiter.queued', {
      unit: '{request}',
      description: 'Requests that wait for a permit.',
    }),
    limiterRunning: meter.createGauge('sluice.limiter.running', {
      unit: '{request}',
      description: 'Requests in progress.',
    }),
    limiterUsed: meter.createGauge('sluice.limiter.used', {
      unit: '{request}',
      description: 'Starts, or cost units, within the period of the limit.',
    }),
    limiterLimit: meter.createGauge('sluice.limiter.limit', {
      unit: '{request}',
      description: 'How many may start within the period of the limit.',
    }),
    limiterPaused: meter.createGauge('sluice.limiter.paused', {
      unit: 's',
      description: 'Time until the pause of the limiter ends; 0 without one.',
    }),
    sourceRows: meter.createCounter('sluice.source.rows', { unit: '{row}', description: 'Rows that were received.' }),
    sourcePages: meter.createCounter('sluice.source.pages', {
      unit: '{page}',
      description: 'Pages that were received.',
    }),
    exportRows: meter.createGauge('sluice.export.rows', {
      unit: '{row}',
      description: 'Committed rows of an export, with those of earlier runs.',
    }),
    exportCommits: meter.createCounter('sluice.export.commits', {
      unit: '{commit}',
      description: 'Commits of exports.',
    }),
    exportCalls: seconds('sluice.export.call.duration', 'Duration of the calls of an observed sink.', waitBounds),
    watchChanges: meter.createCounter('sluice.watch.changes', {
      unit: '{change}',
      description: 'Changes that a watch emitted.',
    }),
    watchRows: meter.createUpDownCounter('sluice.watch.rows', {
      unit: '{row}',
      description: 'Rows that a watch knows, by their status.',
    }),
  };
}
