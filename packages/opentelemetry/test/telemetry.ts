import { inspect } from 'node:util';
import { SpanKind } from '@opentelemetry/api';
import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  type MetricData,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import type { OpenTelemetryOptions } from '../src/index.js';

/** Providers of OpenTelemetry's own SDK, and what they have recorded. */
export interface Telemetry {
  readonly options: Required<OpenTelemetryOptions>;
  /** All ended spans; throws if one has not ended. */
  spans(): readonly ReadableSpan[];
  /** The spans of requests, and those of their attempts. */
  requests(): { readonly requests: readonly ReadableSpan[]; readonly attempts: readonly ReadableSpan[] };
  /** The metrics by now. */
  metrics(): Promise<readonly MetricData[]>;
  /**
   * A counter's sum, the sum of the latest values of a gauge, or how many values a histogram has: of all points, or of
   * those with an attribute.
   */
  sum(name: string, attribute?: readonly [name: string, value: unknown]): Promise<number>;
  /** Everything that was recorded, as text. */
  text(): Promise<string>;
}

export function telemetry(): Telemetry {
  const ended = new InMemorySpanExporter();
  let started = 0;
  const counting = {
    onStart: () => void (started += 1),
    onEnd: () => undefined,
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
  const tracers = new BasicTracerProvider({ spanProcessors: [counting, new SimpleSpanProcessor(ended)] });
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  // Its timer is never due: it exports when it is asked to.
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 30 });
  const meters = new MeterProvider({ readers: [reader] });
  const metrics = async (): Promise<readonly MetricData[]> => {
    exporter.reset();
    await reader.forceFlush();
    return exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
  };
  const spans = (): readonly ReadableSpan[] => {
    const all = ended.getFinishedSpans();
    if (all.length !== started) throw new Error(`${String(started - all.length)} spans have not ended.`);
    return all;
  };
  return {
    options: { tracer: tracers.getTracer('test'), meter: meters.getMeter('test') },
    spans,
    requests: () => ({
      requests: spans().filter(({ kind, name }) => kind === SpanKind.INTERNAL && !name.startsWith('export ')),
      attempts: spans().filter(({ attributes }) => attributes['http.request.method'] !== undefined),
    }),
    metrics,
    sum: async (name, attribute) => {
      const found = (await metrics()).filter(({ descriptor }) => descriptor.name === name);
      return found.flatMap((metric) => valuesOf(metric, attribute)).reduce((sum, value) => sum + value, 0);
    },
    text: async () => inspect([spans(), await metrics()], { depth: 12, maxArrayLength: Infinity }),
  };
}

function valuesOf(metric: MetricData, attribute?: readonly [name: string, value: unknown]): number[] {
  const fits = (attributes: Readonly<Record<string, unknown>>): boolean =>
    !attribute || attributes[attribute[0]] === attribute[1];
  switch (metric.dataPointType) {
    case DataPointType.GAUGE:
    case DataPointType.SUM:
      return metric.dataPoints.flatMap(({ attributes, value }) => (fits(attributes) ? [value] : []));
    case DataPointType.HISTOGRAM:
    case DataPointType.EXPONENTIAL_HISTOGRAM:
      return metric.dataPoints.flatMap(({ attributes, value }) => (fits(attributes) ? [value.count] : []));
  }
}
