import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createNoopMeter, metrics, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { aptos } from '@sluice/aptos';
import { createClient, exportTo, memoryState, type Sink } from '@sluice/core';
import { bearer, byPage, defineApi, listing, queryKey } from '@sluice/core/define';
import { csv } from '@sluice/exporters/csv';
import { sqlite } from '@sluice/tables/sqlite';
import { startSandbox, type SandboxOptions } from '@sluice/sandbox';
import { streams } from '@sluice/streams';
import { ManualClock } from '@sluice/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { onTestEnd } from '../../../scripts/testScope.js';
import { guarded, startGuardedApi } from '../../../test/kit/guardedApi.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { openTelemetry } from '../src/index.js';
import { type Telemetry, telemetry } from './telemetry.js';

/** A sandbox, and a client of it with telemetry. */
async function observed(options: SandboxOptions, into: Telemetry = telemetry(), rateLimit: false | number = false) {
  const sandbox = await startSandbox(options);
  const { apiKey, aptosUrl, streamsUrl, owners } = sandbox;
  const client = createClient({
    apiKey,
    rateLimit: rateLimit === false ? false : { requests: rateLimit, per: 1000 },
    retry: { for: 2000, baseDelay: 1 },
  })
    .use(openTelemetry(into.options))
    .use(aptos({ baseUrl: aptosUrl }))
    .use(streams({ baseUrl: streamsUrl }));
  const close = async (): Promise<void> => {
    await client.close();
    await sandbox.close();
  };
  onTestEnd(close);
  const holdings = client.aptos.nfts({ ownerAddresses: owners, pageSize: 50 });
  return { sandbox, client, holdings, close, ...into };
}

/** Sent over a connection that the server has closed while it was idle, so the request is sent again. */
function isStale({ attributes }: ReadableSpan): boolean {
  return attributes['error.type'] === 'stale';
}

describe('U4 requests', () => {
  test(
    'U4 each attempt is a child span of its request, and the numbers are those of the server',
    { tags: ['slow'] },
    async () => {
      const { sandbox, holdings, requests, sum, close } = await observed({
        holdings: 2_000,
        seed: 3,
        faults: { serverError: 0.2, reset: 0.1, wrongJson: 0.1 },
      });
      await exportTo(holdings, csv({ path: join(temporaryFolder(), 'holdings.csv') })).run();
      await close();

      const { requests: made, attempts } = requests();
      const { counts } = sandbox;
      expect(made).toHaveLength(40);
      expect(attempts).toHaveLength(counts.requests);
      expect(attempts.length).toBeGreaterThan(50);
      for (const [status, count] of Object.entries(counts.byStatus))
        expect(
          attempts.filter(({ attributes }) => attributes['http.response.status_code'] === Number(status)),
        ).toHaveLength(count);
      for (const request of made) {
        const { spanId } = request.spanContext();
        const own = attempts.filter(({ parentSpanContext }) => parentSpanContext?.spanId === spanId);
        expect(own.map(({ attributes }) => attributes['http.request.resend_count'])).toEqual(
          own.map((_, at) => (at === 0 ? undefined : at)),
        );
        expect(request.name).toBe('aptos.nfts');
        const counted = own.filter((attempt) => !isStale(attempt)).length;
        expect(request.attributes['sluice.attempts']).toBe(counted);
        expect(request.events.filter(({ name }) => name === 'retry')).toHaveLength(counted - 1);
        expect(request.status.code).toBe(SpanStatusCode.UNSET);
      }
      const first = attempts.find(
        ({ attributes: { 'http.response.status_code': status, 'http.request.resend_count': resent } }) =>
          status === 200 && resent === undefined,
      );
      const { port } = new URL(sandbox.aptosUrl);
      expect(first).toMatchObject({ name: 'GET', kind: SpanKind.CLIENT });
      expect(first?.attributes).toEqual({
        'http.request.method': 'GET',
        'http.response.status_code': 200,
        'server.address': '127.0.0.1',
        'server.port': Number(port),
        'url.full': expect.stringMatching(/\/wallets\/nfts\?/),
      });

      expect(await sum('http.client.request.duration')).toBe(counts.requests);
      expect(await sum('http.client.request.duration', ['http.response.status_code', 200])).toBe(counts.byStatus[200]);
      expect(await sum('sluice.limiter.wait.duration')).toBe(counts.requests);
      expect(await sum('sluice.requests', ['sluice.outcome', 'answered'])).toBe(40);
      const stale = attempts.filter(isStale).length;
      expect(await sum('sluice.retries')).toBe(counts.requests - 40 - stale);
      expect(await sum('sluice.source.rows')).toBe(2_000);
      expect(await sum('sluice.source.pages')).toBe(40);
      expect(await sum('sluice.export.rows')).toBe(2_000);
      expect(await sum('sluice.export.commits')).toBeGreaterThan(0);
      expect(await sum('sluice.errors')).toBe(0);
    },
  );

  test('U4 a failed request is a failed span, and an error of each level', async () => {
    const { holdings, requests, sum } = await observed({
      holdings: 500,
      script: ({ n }) => (n === 3 ? { kind: 'status', status: 403 } : undefined),
    });
    await expect(holdings.toArray()).rejects.toMatchObject({ status: 403 });
    const { requests: made, attempts } = requests();
    const request = made.at(-1);
    const attempt = attempts.at(-1);
    expect([made.length, attempts.length]).toEqual([3, 3]);
    expect([attempt?.attributes['error.type'], attempt?.status.code]).toEqual(['403', SpanStatusCode.ERROR]);
    expect([request?.attributes['error.type'], request?.status.code]).toEqual(['http', SpanStatusCode.ERROR]);
    expect(request?.events.map(({ name }) => name)).toEqual(['exception']);
    expect(await sum('sluice.requests', ['error.type', 'http'])).toBe(1);
    expect(await sum('sluice.errors', ['sluice.level', 'request'])).toBe(1);
    expect(await sum('sluice.errors', ['sluice.level', 'walk'])).toBe(1);
  });

  test('U4 a broken connection ends its span', { tags: ['slow'] }, async () => {
    const { sandbox, holdings, requests, sum } = await observed({ holdings: 50, script: () => ({ kind: 'reset' }) });
    await expect(holdings.toArray()).rejects.toMatchObject({ code: 'network' });
    const { requests: made, attempts } = requests();
    expect(made).toHaveLength(1);
    expect(attempts).toHaveLength(sandbox.counts.requests);
    expect(attempts.every(({ attributes }) => attributes['error.type'] === 'network')).toBe(true);
    expect(await sum('http.client.request.duration', ['error.type', 'network'])).toBe(sandbox.counts.requests);
    expect(await sum('sluice.retries', ['error.type', 'network'])).toBe(sandbox.counts.requests - 1);
  });

  test('U4 a cancelled walk leaves no span open, and is not an error', async () => {
    const { sandbox, holdings, close, requests, sum } = await observed({
      holdings: 500,
      script: ({ n }) => (n === 2 ? { kind: 'never' } : undefined),
    });
    for await (const page of holdings.pages()) {
      expect(page.items).toHaveLength(50);
      await sandbox.until(() => sandbox.counts.requests === 2);
      break;
    }
    await close();
    const { requests: made, attempts } = requests();
    expect([made.length, attempts.length]).toEqual([2, 2]);
    expect(made.at(-1)?.attributes['sluice.outcome']).toBe('stopped');
    expect([made.at(-1)?.status.code, attempts.at(-1)?.status.code]).toEqual([0, 0]);
    expect(await sum('sluice.requests', ['sluice.outcome', 'stopped'])).toBe(1);
    expect(await sum('sluice.errors')).toBe(0);
  });
});

describe('U4 limiters', () => {
  test('U4 their limit, their use and their pauses, with the cause', async () => {
    const { sandbox, holdings, requests, sum } = await observed(
      {
        holdings: 500,
        script: ({ n }) => (n === 2 ? { kind: 'status', status: 429, headers: { 'retry-after': '1' } } : undefined),
      },
      telemetry(),
      1000,
    );
    await holdings.toArray();
    expect(await sum('sluice.limiter.limit', ['sluice.apis', 'aptos,streams'])).toBe(1000);
    expect(await sum('sluice.limiter.used')).toBeLessThanOrEqual(sandbox.counts.requests);
    expect(await sum('sluice.limiter.pauses', ['sluice.pause.cause', 'refused'])).toBe(1);
    const paused = requests().requests.flatMap(({ events }) => events.filter(({ name }) => name === 'paused'));
    expect(paused.map(({ attributes }) => attributes)).toEqual([
      { 'sluice.pause.cause': 'refused', 'sluice.delay': 1 },
    ]);
  });
});

describe('U4 watches', () => {
  test('U4 count changes, and the rows of each status', async () => {
    const { sandbox, client, sum } = await observed({ streams: 30 });
    const before = sandbox.stream(7).status;
    let polls = 0;
    for await (const page of client.streams.list.watch({}, { every: 1, polls: 6 }).pages()) {
      polls += page.health?.outcome === 'polled' ? 1 : 0;
      if (polls === 1) sandbox.setStream(7, { status: before === 'error' ? 'paused' : 'error' });
      if (polls === 2) sandbox.removeStream(3);
      if (polls === 3) sandbox.addStream();
    }
    const change = 'sluice.change';
    expect(await sum('sluice.watch.changes', [change, 'initial'])).toBe(30);
    expect(await sum('sluice.watch.changes', [change, 'changed'])).toBe(1);
    expect(await sum('sluice.watch.changes', [change, 'removed'])).toBe(1);
    expect(await sum('sluice.watch.changes', [change, 'added'])).toBe(1);
    const rows = await client.streams.list().toArray();
    expect(await sum('sluice.watch.rows')).toBe(rows.length);
    for (const status of new Set(rows.map((row) => row.status)))
      expect(await sum('sluice.watch.rows', ['sluice.status', status])).toBe(
        rows.filter((row) => row.status === status).length,
      );
  });

  test('U4 a watch that resumes counts each row once', async () => {
    const { client, sum } = await observed({ streams: 12 });
    const state = memoryState();
    for (let run = 0; run < 3; run += 1) {
      const watch = client.streams.list.watch({}, { every: 1, polls: 2, state });
      for await (const page of watch.pages()) expect(page.health?.outcome).not.toBe('failed');
    }
    expect(await sum('sluice.watch.rows')).toBe(12);
    expect(await sum('sluice.watch.changes')).toBe(12);
  });
});

describe('U4 exports', () => {
  test('U4 into a table: each transaction is an operation on a database, and a child of its export', async () => {
    const { client, holdings, spans, sum } = await observed({ holdings: 500 });
    const path = join(temporaryFolder(), 'nfts.sqlite');
    const sink = client.openTelemetry.sink(sqlite({ path, table: 'nfts' }));
    await exportTo(holdings, sink, { commitEvery: 3 }).run();
    const [run, ...others] = spans().filter(({ name }) => name === 'export aptos.nfts');
    expect(others).toEqual([]);
    expect(run?.attributes).toEqual({
      'sluice.source': 'aptos.nfts',
      'sluice.sink': 'sqlite',
      'sluice.outcome': 'finished',
      'sluice.export.rows': 500,
    });
    const commits = spans().filter(({ name }) => name === 'COMMIT nfts');
    expect(commits.every(({ kind }) => kind === SpanKind.CLIENT)).toBe(true);
    expect(commits.at(0)?.attributes).toEqual({
      'db.system.name': 'sqlite',
      'db.operation.name': 'COMMIT',
      'db.collection.name': 'nfts',
    });
    const sizes = commits.flatMap(({ attributes }) => attributes['db.operation.batch.size'] ?? []);
    expect(sizes).toEqual([150, 150, 150, 50]);
    const { spanId } = run?.spanContext() ?? {};
    expect(commits.filter(({ parentSpanContext }) => parentSpanContext?.spanId === spanId).length).toBeGreaterThan(3);
    expect(await sum('db.client.operation.duration', ['db.collection.name', 'nfts'])).toBe(commits.length);
    expect(await sum('sluice.export.call.duration', ['sluice.call', 'write'])).toBe(10);
    expect(await sum('sluice.export.call.duration', ['sluice.call', 'close'])).toBe(1);
  });

  test('U4 a sink fails, is stopped, or can not be opened: its span ends and says so', async () => {
    const { client, holdings, spans, sum } = await observed({ holdings: 500 });
    const full = new RangeError('The disk at /home/me is full.');
    const failing = (call: 'open' | 'write'): Sink<object> => ({
      name: 'failing',
      identity: null,
      delivery: 'at-least-once',
      open: async () => {
        if (call === 'open') throw full;
        return {
          write: () => Promise.reject(full),
          flush: () => Promise.resolve(null),
          seal: () => Promise.resolve(null),
          close: () => Promise.resolve({ target: 'nowhere' }),
          abort: () => Promise.resolve(),
        };
      },
    });
    for (const call of ['open', 'write'] as const)
      await expect(exportTo(holdings, client.openTelemetry.sink(failing(call))).run()).rejects.toMatchObject({
        cause: full,
      });
    const stop = new AbortController();
    const path = join(temporaryFolder(), 'nfts.csv');
    const stopped = exportTo(holdings, client.openTelemetry.sink(csv({ path })));
    await expect(stopped.run({ signal: stop.signal, onProgress: () => stop.abort('enough') })).rejects.toBe('enough');
    const runs = spans().filter(({ name }) => name.startsWith('export '));
    expect(runs.map(({ attributes }) => [attributes['sluice.outcome'], attributes['error.type']])).toEqual([
      ['failed', 'RangeError'],
      ['failed', 'sink'],
      ['stopped', undefined],
    ]);
    expect(runs.map(({ status }) => status.code)).toEqual([SpanStatusCode.ERROR, SpanStatusCode.ERROR, 0]);
    expect(await sum('sluice.export.call.duration', ['error.type', 'RangeError'])).toBe(1);
  });

  test('U4 an observed sink resumes like the sink itself', async () => {
    const { client, holdings } = await observed({
      holdings: 500,
      script: ({ n }) => (n === 6 ? { kind: 'status', status: 403 } : undefined),
    });
    const path = join(temporaryFolder(), 'nfts.sqlite');
    const sink = (): Sink<object> => client.openTelemetry.sink(sqlite({ path, table: 'nfts' }));
    const run = () => exportTo(holdings, sink(), { commitEvery: 2 }).run();
    await expect(run()).rejects.toMatchObject({ status: 403 });
    expect(await run()).toMatchObject({ rows: 500, resumedRows: 200 });
    // Finished: it requests and writes nothing.
    expect(await run()).toMatchObject({ rows: 500, finishedAt: expect.any(String) });
  });
});

test('U4 no secret is in any attribute', async () => {
  const into = telemetry();
  const { sandbox, client, holdings } = await observed(
    { holdings: 200, script: ({ n }) => (n === 2 ? { kind: 'status', status: 503 } : undefined) },
    into,
  );
  await holdings.toArray();
  const secrets = ['qk&4411=x+y/z%', 'bearer-secret-5512'] as const;
  const sources = {
    rows: listing({
      path: `/nothing/${secrets[1]}`,
      rows: 'result',
      columns: ['name'],
      paging: byPage({ param: 'page' }),
    }),
  };
  const keyed = defineApi({
    name: 'keyed',
    baseUrl: sandbox.aptosUrl,
    auth: queryKey('api_key', secrets[0]),
    sources,
  });
  const withToken = defineApi({ name: 'withToken', baseUrl: sandbox.aptosUrl, auth: bearer(secrets[1]), sources });
  const both = client.use(keyed()).use(withToken());
  await expect(both.keyed.get('/nothing')).rejects.toMatchObject({ code: 'http' });
  await expect(both.withToken.rows().toArray()).rejects.toMatchObject({ code: 'http' });
  const text = await into.text();
  for (const secret of [sandbox.apiKey, ...secrets, ...secrets.map(encodeURIComponent)])
    expect(text).not.toContain(secret);
});

test('R8 U4 nor is one of an API with several, whose server repeats them', async () => {
  const into = telemetry();
  const { baseUrl, secrets } = await startGuardedApi();
  const client = createClient({ apiKey: false, retry: { baseDelay: 1 } })
    .use(openTelemetry(into.options))
    .use(guarded({ baseUrl }));
  expect(await client.guarded.rows().toArray()).toHaveLength(3);
  await expect(client.guarded.get('/refused')).rejects.toMatchObject({ status: 400 });
  await client.close();
  const text = await into.text();
  expect(text).toContain('guarded.rows');
  expect(secrets().length).toBeGreaterThan(10);
  for (const secret of secrets()) expect(text).not.toContain(secret);
});

test('U4 the README lists every span, event and metric that is emitted, with its unit and attributes', async () => {
  const into = telemetry();
  const { holdings, client, sandbox, close } = await observed(
    {
      holdings: 500,
      streams: 5,
      script: ({ n }) => {
        if (n === 2) return { kind: 'status', status: 429, headers: { 'retry-after': '1' } };
        return n === 4 ? { kind: 'status', status: 503 } : undefined;
      },
    },
    into,
    1000,
  );
  const path = join(temporaryFolder(), 'nfts.sqlite');
  await exportTo(holdings, client.openTelemetry.sink(sqlite({ path, table: 'nfts' }))).run();
  for await (const { health } of client.streams.list.watch({}, { every: 1, polls: 1 }).pages())
    expect(health).toBeDefined();
  await close();
  // A request that is refused, a table whose transactions fail, and a sink that fails.
  const { client: other, holdings: again } = await observed(
    { holdings: 100, script: ({ n }) => (n === 1 ? { kind: 'status', status: 403 } : undefined) },
    into,
  );
  await expect(again.toArray()).rejects.toMatchObject({ status: 403 });
  const failing: Sink<object> = {
    name: 'postgres',
    target: 'db.example.com/nfts#nfts',
    identity: null,
    delivery: 'exactly-once',
    state: { ...memoryState(), save: () => Promise.reject(new Error('full')) },
    open: () => Promise.reject(new Error('full')),
  };
  await expect(exportTo(again, other.openTelemetry.sink(failing)).run()).rejects.toThrow('full');
  const unwritable = other.openTelemetry.sink<object>({
    name: 'failing',
    identity: null,
    delivery: 'at-least-once',
    open: () =>
      Promise.resolve({
        write: () => Promise.reject(new Error('full')),
        flush: () => Promise.resolve(null),
        seal: () => Promise.resolve(null),
        close: () => Promise.resolve({ target: 'nowhere' }),
        abort: () => Promise.resolve(),
      }),
  });
  await expect(exportTo(again, unwritable).run()).rejects.toThrow('full');
  expect(sandbox.counts.requests).toBeGreaterThan(10);

  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
  const listed = (section: string): string[][] =>
    (readme.split(`\n| ${section} `)[1]?.split('\n\n')[0] ?? '')
      .split('\n')
      .slice(2)
      .map((line) => [...line.matchAll(/\| ([^|]+) /g)].map(([, cell = '']) => cell.trim().replaceAll('`', '')));

  const metrics = (await into.metrics()).map(({ descriptor, dataPointType, dataPoints, ...metric }) => [
    descriptor.name,
    dataPointType === DataPointType.SUM
      ? 'isMonotonic' in metric && metric.isMonotonic
        ? 'counter'
        : 'up-down counter'
      : dataPointType === DataPointType.GAUGE
        ? 'gauge'
        : 'histogram',
    descriptor.unit,
    namesIn(dataPoints.map(({ attributes }) => attributes)),
  ]);
  expect(metrics.toSorted(byName)).toEqual(sorted(listed('metric')));

  const kinds = new Map<string, ReadableSpan[]>();
  for (const span of into.spans()) {
    const kind = kindOf(span);
    kinds.set(kind, [...(kinds.get(kind) ?? []), span]);
  }
  const spans = [...kinds].map(([name, all]) => [
    name,
    SpanKind[all[0]?.kind ?? 0] ?? '',
    namesIn(all.map(({ attributes }) => attributes)),
  ]);
  expect(spans.toSorted(byName)).toEqual(sorted(listed('span')));

  const events = new Map<string, string[]>();
  for (const span of into.spans())
    for (const { name, attributes = {} } of span.events) {
      const of = kindOf(span);
      const known = events.get(`${name} of ${of}`)?.[2] ?? '';
      const names = namesIn([attributes, Object.fromEntries(known.split(', ').map((each) => [each, 1]))]);
      events.set(`${name} of ${of}`, [name, of, names]);
    }
  expect([...events.values()].toSorted(byName)).toEqual(sorted(listed('event')));
});

function kindOf({ name, attributes }: ReadableSpan): string {
  if (attributes['http.request.method'] !== undefined) return '{method}';
  if (name.startsWith('export ')) return 'export {source}';
  return name.startsWith('COMMIT ') ? 'COMMIT {table}' : '{route}';
}

/** The names of all attributes, in alphabetical order. */
function namesIn(attributes: readonly object[]): string {
  const names = new Set(attributes.flatMap((each) => Object.keys(each)).filter((name) => name !== ''));
  return [...names].toSorted().join(', ');
}

function byName([one = '']: readonly string[], [other = '']: readonly string[]): number {
  return one < other ? -1 : 1;
}

function sorted(rows: readonly (readonly string[])[]): string[][] {
  return rows
    .map((row) => [...row.slice(0, -1), (row.at(-1) ?? '').split(', ').toSorted().join(', ')])
    .toSorted(byName);
}

describe('U4 when the client closes', () => {
  test('U4 the registered providers export what they have, and one that hangs holds nothing up', async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 30 });
    metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
    onTestFinished(() => metrics.disable());
    const { apiKey, streamsUrl } = sandbox;
    const client = createClient({ apiKey })
      .use(openTelemetry())
      .use(streams({ baseUrl: streamsUrl }));
    await client.streams.list().toArray();
    expect(exporter.getMetrics()).toEqual([]);
    await client.close();
    const names = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
    expect(names.map(({ descriptor }) => descriptor.name)).toContain('sluice.requests');

    metrics.disable();
    const clock = new ManualClock();
    const never = { getMeter: () => createNoopMeter(), forceFlush: () => new Promise<void>(() => undefined) };
    metrics.setGlobalMeterProvider(never);
    const closed = createClient({ apiKey, clock }).use(openTelemetry()).close();
    await clock.asked(5_000);
    await clock.advance(5_000);
    await closed;
  });
});
