import { metrics, trace, type Meter, type Tracer } from '@opentelemetry/api';
import { definePlugin, systemClock, type Clock, type Plugin, type Sink } from '@sluice/core';
import { checkOptions } from '@sluice/core/kit';
import { flushProviders } from './flushProviders.js';
import { createInstruments } from './instruments.js';
import { observeSink } from './observedSink.js';
import { requestHooks } from './requestSpans.js';
import { changeHook } from './watchedRows.js';

/** Options of {@link openTelemetry}. */
export interface OpenTelemetryOptions {
  /** Default: that of the provider which the program registered. */
  readonly tracer?: Tracer;
  /** Default: that of the provider which the program registered. */
  readonly meter?: Meter;
}

/** The namespace of {@link openTelemetry}. */
export interface OpenTelemetryApi {
  /**
   * The sink, with a span per export, the duration of its calls, and of its transactions if it is a table. One export
   * may run at a time.
   *
   * @example await exportTo(source, client.openTelemetry.sink(sqlite({ path: 'nfts.sqlite', table: 'nfts' }))).run();
   */
  sink<T>(sink: Sink<T>): Sink<T>;
}

const scope = '@sluice/opentelemetry';

/**
 * Spans and metrics for a client, by the stable conventions for HTTP and databases. The README lists all of them.
 * Create one plugin per client. Without a registered provider nothing is recorded, at almost no cost. When the client
 * closes, the registered providers export what they have, for 5 s at most.
 *
 * @example
 * const client = createClient({ apiKey }).use(openTelemetry()).use(aptos({ baseUrl }));
 * await exportTo(client.aptos.nfts({ ownerAddresses }), client.openTelemetry.sink(csv({ path }))).run();
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Plugin<'openTelemetry', OpenTelemetryApi> {
  checkOptions('openTelemetry()', options, { tracer: true, meter: true });
  const { tracer = trace.getTracer(scope), meter = metrics.getMeter(scope) } = options;
  const instruments = createInstruments(meter);
  const now = (): number => systemClock.monotonic();
  let clock: Clock = systemClock;
  return definePlugin({
    name: 'openTelemetry',
    setup: (context) => {
      clock = context.clock;
      return { sink: (sink) => observeSink(sink, { tracer, instruments, now }) };
    },
    dispose: () => flushProviders(clock),
    hooks: {
      ...requestHooks(tracer, instruments, now),
      limiter({ apis, used, limit, queued, running, paused }) {
        const attributes = { 'sluice.apis': apis.join(',') };
        instruments.limiterQueued.record(queued, attributes);
        instruments.limiterRunning.record(running, attributes);
        instruments.limiterPaused.record(paused / 1000, attributes);
        // Without a limit there is nothing to use up.
        if (limit === Infinity) return;
        instruments.limiterUsed.record(used, attributes);
        instruments.limiterLimit.record(limit, attributes);
      },
      page({ source, rows }) {
        instruments.sourceRows.add(rows, { 'sluice.source': source });
        instruments.sourcePages.add(1, { 'sluice.source': source });
      },
      commit({ source, sink, rows }) {
        const attributes = { 'sluice.source': source, 'sluice.sink': sink };
        instruments.exportRows.record(rows, attributes);
        instruments.exportCommits.add(1, attributes);
      },
      change: changeHook(instruments),
      error({ of, name, error }) {
        const type = error.code ?? error.name;
        instruments.errors.add(1, { 'sluice.level': of, 'sluice.name': name, 'error.type': type });
      },
    },
  });
}
