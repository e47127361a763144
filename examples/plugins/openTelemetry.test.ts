// Compares telemetry with what the server saw. After `npm start`: cd examples && npx tsx plugins/openTelemetry.test.ts
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type DataPoint,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import { aptos } from '@sluice/aptos';
import { createClient, exportTo } from '@sluice/core';
import { csv } from '@sluice/exporters/csv';
import { startSandbox, type SandboxOptions } from '@sluice/sandbox';
import { openTelemetry } from './openTelemetry.js';

/** A sandbox, a client of it with telemetry, and what the telemetry recorded. */
async function observed(options: SandboxOptions) {
  const sandbox = await startSandbox(options);
  const ended = new InMemorySpanExporter();
  let started = 0;
  const counting = {
    onStart: () => (started += 1),
    onEnd: () => {},
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  const tracers = new BasicTracerProvider({ spanProcessors: [counting, new SimpleSpanProcessor(ended)] });
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const meters = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] });
  const telemetry = openTelemetry({ tracer: tracers.getTracer('test'), meter: meters.getMeter('test') });
  const { apiKey, aptosUrl, owners } = sandbox;
  const client = createClient({ apiKey, rateLimit: false, retry: { for: 2000, baseDelay: 1 } })
    .use(telemetry)
    .use(aptos({ baseUrl: aptosUrl }));
  const points = (name: string): DataPoint<unknown>[] =>
    exporter
      .getMetrics()
      .flatMap(({ scopeMetrics }) => scopeMetrics)
      .flatMap(({ metrics }) => metrics)
      .flatMap(({ descriptor, dataPoints }): DataPoint<unknown>[] => (descriptor.name === name ? dataPoints : []));
  return {
    ...{ sandbox, client, holdings: client.aptos.walletNfts({ ownerAddresses: owners, pageSize: 50 }) },
    /** All ended spans; throws if one has not ended. */
    spans: (): { requests: ReadableSpan[]; attempts: ReadableSpan[] } => {
      const spans = ended.getFinishedSpans();
      assert.equal(spans.length, started);
      assert.ok(!inspect([spans, exporter.getMetrics()], { depth: 12 }).includes(apiKey));
      const attempts = spans.filter(({ kind }) => kind === SpanKind.CLIENT);
      return { attempts, requests: spans.filter((span) => !attempts.includes(span)) };
    },
    /** A counter's sum, or how many values a histogram has, for a value of one of its attributes or in total. */
    sum: (name: string, attribute?: readonly [name: string, value: unknown]): number => {
      const counted = points(name).filter(({ attributes }) => !attribute || attributes[attribute[0]] === attribute[1]);
      return counted.reduce((sum, { value }) => sum + (typeof value === 'number' ? value : countOf(value)), 0);
    },
    close: async () => {
      await client.close();
      await sandbox.close();
      // Counters are exported once, at the end.
      await meters.shutdown();
    },
  };
}

/** Sends over a connection that the server has closed while it was idle, so the request is sent again. */
function isStale({ attributes }: ReadableSpan): boolean {
  return attributes['error.type'] === 'stale';
}

function countOf(histogram: unknown): number {
  const isOne = typeof histogram === 'object' && histogram !== null && 'count' in histogram;
  return isOne && typeof histogram.count === 'number' ? histogram.count : NaN;
}

test('each attempt is a child span of its request, and the numbers match those of the server', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
  const { sandbox, holdings, spans, sum, close } = await observed({
    ...{ holdings: 2_000, seed: 3, faults: { serverError: 0.2, reset: 0.1, wrongJson: 0.1 } },
  });
  await exportTo(holdings, csv({ path: join(folder, 'holdings.csv') })).run();
  await close();
  rmSync(folder, { recursive: true });

  const { requests, attempts } = spans();
  const { counts } = sandbox;
  assert.equal(requests.length, 40);
  assert.equal(attempts.length, counts.requests);
  assert.ok(attempts.length > 50);
  for (const [status, count] of Object.entries(counts.byStatus))
    assert.equal(
      attempts.filter(({ attributes }) => attributes['http.response.status_code'] === Number(status)).length,
      count,
    );
  for (const request of requests) {
    const own = attempts.filter(({ parentSpanContext }) => parentSpanContext?.spanId === request.spanContext().spanId);
    assert.deepEqual(
      own.map(({ attributes }) => attributes['http.request.resend_count']),
      own.map((_, at) => (at === 0 ? undefined : at)),
    );
    assert.equal(request.name, 'aptos.walletNfts');
    const counted = own.filter((attempt) => !isStale(attempt)).length;
    assert.equal(request.attributes['sluice.attempts'], counted);
    assert.equal(request.events.filter(({ name }) => name === 'retry').length, counted - 1);
    assert.equal(request.status.code, SpanStatusCode.UNSET);
  }
  const first = attempts.find(({ attributes: { 'http.response.status_code': status, ...others } }) => {
    return status === 200 && others['http.request.resend_count'] === undefined;
  });
  const { port } = new URL(sandbox.aptosUrl);
  assert.equal(first?.name, 'GET');
  assert.deepEqual(
    { ...first.attributes, 'url.full': String(first.attributes['url.full']).split('?')[0] },
    {
      'http.request.method': 'GET',
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
      'server.port': Number(port),
      'url.full': `${sandbox.aptosUrl}/wallets/nfts`,
    },
  );

  assert.equal(sum('http.client.request.duration'), counts.requests);
  assert.equal(sum('http.client.request.duration', ['http.response.status_code', 200]), counts.byStatus[200]);
  assert.equal(sum('sluice.limiter.wait'), counts.requests);
  assert.equal(sum('sluice.requests', ['sluice.outcome', 'answered']), 40);
  const stale = attempts.filter(isStale).length;
  assert.ok(stale > 0);
  assert.equal(sum('sluice.retries'), counts.requests - 40 - stale);
  assert.equal(sum('sluice.rows'), 2_000);
  assert.equal(sum('sluice.rows.committed'), 2_000);
  assert.equal(sum('sluice.errors'), 0);
});

test('a failed request is a failed span, and an error of each level', async () => {
  const { holdings, spans, sum, close } = await observed({
    holdings: 500,
    script: ({ n }) => (n === 3 ? { kind: 'status', status: 403 } : undefined),
  });
  await assert.rejects(holdings.toArray());
  await close();

  const { requests, attempts } = spans();
  const [request, attempt] = [requests.at(-1), attempts.at(-1)];
  assert.deepEqual([requests.length, attempts.length], [3, 3]);
  assert.deepEqual([attempt?.attributes['error.type'], attempt?.status.code], ['403', SpanStatusCode.ERROR]);
  assert.deepEqual([request?.attributes['error.type'], request?.status.code], ['http', SpanStatusCode.ERROR]);
  assert.deepEqual(
    request?.events.map(({ name }) => name),
    ['exception'],
  );
  assert.equal(sum('sluice.requests', ['error.type', 'http']), 1);
  assert.equal(sum('sluice.errors', ['sluice.level', 'request']), 1);
  assert.equal(sum('sluice.errors', ['sluice.level', 'walk']), 1);
});

test('a broken connection ends its span', async () => {
  const { sandbox, holdings, spans, sum, close } = await observed({ holdings: 50, script: () => ({ kind: 'reset' }) });
  await assert.rejects(holdings.toArray());
  await close();

  const { requests, attempts } = spans();
  assert.equal(requests.length, 1);
  assert.equal(attempts.length, sandbox.counts.requests);
  assert.ok(attempts.every(({ attributes }) => attributes['error.type'] === 'network'));
  assert.equal(sum('http.client.request.duration', ['error.type', 'network']), sandbox.counts.requests);
  assert.equal(sum('sluice.retries', ['error.type', 'network']), sandbox.counts.requests - 1);
});

test('a cancelled walk leaves no span open, and is not an error', async () => {
  const { sandbox, holdings, spans, sum, close } = await observed({
    holdings: 500,
    script: ({ n }) => (n === 2 ? { kind: 'never' } : undefined),
  });
  for await (const page of holdings.pages()) {
    assert.equal(page.items.length, 50);
    await sandbox.until(() => sandbox.counts.requests === 2);
    break;
  }
  await close();

  const { requests, attempts } = spans();
  assert.deepEqual([requests.length, attempts.length], [2, 2]);
  for (const span of [requests.at(-1), attempts.at(-1)]) {
    assert.equal(span?.attributes['sluice.outcome'], 'stopped');
    assert.equal(span.status.code, SpanStatusCode.UNSET);
  }
  assert.equal(sum('sluice.requests', ['sluice.outcome', 'stopped']), 1);
  assert.equal(sum('sluice.errors'), 0);
});
