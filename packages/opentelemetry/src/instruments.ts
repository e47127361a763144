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
  const counter = (name: string, unit: string, description: string) => meter.createCounter(name, { unit, description });
  const gauge = (name: string, unit: string, description: string) => meter.createGauge(name, { unit, description });
  return {
    httpDuration: seconds('http.client.request.duration', 'Duration of HTTP client requests.', httpBounds),
    databaseDuration: seconds(
      'db.client.operation.duration',
      'Duration of database client operations.',
      databaseBounds,
    ),
    requests: counter('sluice.requests', '{request}', 'Requests that ended, each with its retries.'),
    retries: counter('sluice.retries', '{retry}', 'Attempts that failed and were repeated.'),
    errors: counter('sluice.errors', '{error}', 'Failures of requests, walks, watches and exports, once for each.'),
    limiterWait: seconds('sluice.limiter.wait.duration', 'Time that an attempt waited for the limiter.', waitBounds),
    limiterPauses: counter('sluice.limiter.pauses', '{pause}', 'Requests that the API refused for now.'),
    limiterQueued: gauge('sluice.limiter.queued', '{request}', 'Requests that wait for a permit.'),
    limiterRunning: gauge('sluice.limiter.running', '{request}', 'Requests in progress.'),
    limiterUsed: gauge('sluice.limiter.used', '{request}', 'Starts, or cost units, within the period of the limit.'),
    limiterLimit: gauge('sluice.limiter.limit', '{request}', 'How many may start within the period of the limit.'),
    limiterPaused: gauge('sluice.limiter.paused', 's', 'Time until the pause of the limiter ends; 0 without one.'),
    sourceRows: counter('sluice.source.rows', '{row}', 'Rows that were received.'),
    sourcePages: counter('sluice.source.pages', '{page}', 'Pages that were received.'),
    exportRows: gauge('sluice.export.rows', '{row}', 'Committed rows of an export, with those of earlier runs.'),
    exportCommits: counter('sluice.export.commits', '{commit}', 'Commits of exports.'),
    exportCalls: seconds('sluice.export.call.duration', 'Duration of the calls of an observed sink.', waitBounds),
    watchChanges: counter('sluice.watch.changes', '{change}', 'Changes that a watch emitted.'),
    watchRows: meter.createUpDownCounter('sluice.watch.rows', {
      unit: '{row}',
      description: 'Rows that a watch knows, by their status.',
    }),
  };
}
