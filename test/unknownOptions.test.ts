import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as aptosPackage from '../packages/aptos/src/index.js';
import * as cluster from '../packages/cluster/src/index.js';
import * as clusterPostgres from '../packages/cluster/src/postgres.js';
import * as config from '../packages/cli/src/config/defineConfig.js';
import * as core from '../packages/core/src/index.js';
import * as define from '../packages/core/src/define/index.js';
import * as health from '../packages/core/src/health/index.js';
import * as kit from '../packages/core/src/kit.js';
import * as node from '../packages/core/src/node/index.js';
import * as dashboardPackage from '../packages/dashboard/src/index.js';
import * as csvPackage from '../packages/exporters/src/csv.js';
import * as jsonlPackage from '../packages/exporters/src/jsonl.js';
import * as parquetPackage from '../packages/exporters/src/parquet.js';
import * as postgresPackage from '../packages/tables/src/postgres.js';
import * as runsPackage from '../packages/tables/src/runs.js';
import * as sqlitePackage from '../packages/tables/src/sqlite.js';
import * as webhookPackage from '../packages/exporters/src/webhook.js';
import * as telemetry from '../packages/opentelemetry/src/index.js';
import * as sandbox from '../packages/sandbox/src/index.js';
import * as streamsPackage from '../packages/streams/src/index.js';
import * as suites from '../packages/testing/src/index.js';
import { expect, test } from 'vitest';
import { checkOptions, nearestName } from '../packages/core/src/checks.js';

const { createClient, createSource, exportTo, memoryState } = core;
const { byCursor, byLink, defineApi, listing, noAuth } = define;

const packages: Readonly<Record<string, object>> = {
  '@sluice/core': core,
  '@sluice/core/define': define,
  '@sluice/core/health': health,
  '@sluice/core/kit': kit,
  '@sluice/core/node': node,
  '@sluice/cluster': cluster,
  '@sluice/exporters/csv': csvPackage,
  '@sluice/exporters/jsonl': jsonlPackage,
  '@sluice/exporters/parquet': parquetPackage,
  '@sluice/tables/postgres': postgresPackage,
  '@sluice/tables/runs': runsPackage,
  '@sluice/tables/sqlite': sqlitePackage,
  '@sluice/exporters/webhook': webhookPackage,
  '@sluice/cluster/postgres': clusterPostgres,
  '@sluice/dashboard': dashboardPackage,
  '@sluice/opentelemetry': telemetry,
  '@sluice/sandbox': sandbox,
  '@sluice/testing': suites,
  '@sluice/streams': streamsPackage,
  '@sluice/aptos': aptosPackage,
  '@sluice/cli/config': config,
};

/** Functions of the packages that take no options, or none that could be misspelt, and why. */
const withoutOptions: Readonly<Record<string, string>> = {
  ...reason('takes a value, not options', [
    'locksEndWithProcess',
    'machineBootClock',
    'isTransient',
    'statusHue',
    'statusTone',
    'differingFields',
    'isChange',
    'isDue',
    'eventOfChange',
    'parseJson',
    'checkCount',
    'hintFor',
    'nearestName',
    'causeOf',
    'healthLevel',
    'healthText',
    'countEvent',
    'noCounts',
    'shownText',
    'isFollowed',
    'checkPlugin',
    'serveListing',
    'cursorOf',
    'apisOf',
    'sourcesOf',
    'decodeCheckpoint',
    'bearer',
    'queryKey',
    'pathKey',
    'bodyKey',
    'sign',
    'decodeFilePosition',
    'withPath',
    'splitLines',
    'readLines',
    'readPieces',
    'readBytes',
    'withFile',
    'writeWhole',
    'unlessAbsent',
    'readWhole',
    'amountOf',
    'tokenPropertiesOf',
    'ownerAddress',
    'resetSocket',
    'secretsInHeader',
    'costsOf',
    'rateUse',
    'rateWindows',
    'findGap',
    'pickGap',
    'joinTotals',
    'inWords',
    'isRecord',
    'isCount',
    'isPlain',
    'tryParseJson',
    'checkRow',
    'fieldReader',
    'checkColumns',
    'chooseColumns',
    'plainText',
    'sortNames',
    'instantText',
    'timestampMicros',
  ]),
  ...reason('takes nothing', ['memoryState', 'onePage', 'statusChanges']),
  ...reason('takes an object that the caller implements', ['guardStore', 'recordState', 'newPermit']),
  ...reason('is what refuses them', ['checkOptions', 'checkText', 'checkLimit']),
  ...reason('returns its argument, which the command checks when it reads it', ['defineConfig']),
};

const baseUrl = 'https://api.example.com';
const rows = { path: '/rows', paging: byLink(), rows: '', columns: ['id'] } as const;
const definition = { name: 'rows', identity: 1, schema: { columns: ['id'] } };
const fetch = () => Promise.resolve({ rows: [], next: 'end' as const });
const source = createSource<object>({ ...definition, fetch });
const sink = csvPackage.csv<object>({ path: '/nowhere/rows.csv' });
const every = { every: 1_000 };
const client = () =>
  createClient({ apiKey: 'test-key-1' })
    .use(streamsPackage.streams({ baseUrl }))
    .use(aptosPackage.aptos({ baseUrl }))
    .use(defineApi({ name: 'rows', baseUrl, auth: noAuth, sources: { all: listing(rows) } })());
const endpointFrom = (use: (context: core.PluginContext) => unknown) => {
  let result: unknown;
  createClient({ apiKey: false }).use({ name: 'probe', setup: (context) => ({ result: (result = use(context)) }) });
  return result;
};
const useWith = (auth: define.Auth) =>
  createClient({ apiKey: false, variables: { KEY: 'secret-1' } }).use(
    defineApi({ name: 'mine', baseUrl, auth, sources: { all: listing(rows) } })(),
  );
const run = { url: 'postgres://me@127.0.0.1/none', table: 'rows' };
const table = { path: '/nowhere/rows.sqlite', table: 'rows' };
const suite = { test: () => expect.unreachable(), factory: () => expect.unreachable() };

/** A call of each function with valid options and more. It refuses them before it does anything. */
const calls: Readonly<Record<string, (more: object) => unknown>> = {
  createClient: (more) => createClient({ apiKey: false, ...more }),
  'createClient: retry': (more) => createClient({ apiKey: false, retry: more }),
  'createClient: timeouts': (more) => createClient({ apiKey: false, timeouts: more }),
  'createClient: limits': (more) => createClient({ apiKey: false, limits: { ...node.budgets('/nowhere'), ...more } }),
  'createClient: rateLimit': (more) => createClient({ apiKey: false, rateLimit: { requests: 1, per: 1, ...more } }),
  'createClient: one of several limits': (more) =>
    createClient({
      apiKey: false,
      rateLimit: [
        { requests: 1, per: 1 },
        { requests: 1, per: 1, ...more },
      ],
    }),
  definePlugin: (more) => core.definePlugin({ name: 'mine', ...more }),
  use: (more) => createClient({ apiKey: false }).use({ name: 'mine', ...more }),
  endpoint: (more) => endpointFrom(({ endpoint }) => endpoint(baseUrl, more)),
  request: (more) =>
    endpointFrom(({ endpoint }) => endpoint(baseUrl).request({ route: 'r', path: '/', query: {}, ...more })),
  defineApi: (more) => defineApi({ name: 'mine', sources: { all: listing(rows) }, ...more }),
  'a defined API': (more) => defineApi({ name: 'mine', sources: { all: listing(rows) } })({ baseUrl, ...more }),
  'get of a defined API': (more) => client().rows.get('/rows', more),
  listing: (more) => listing({ ...rows, ...more }),
  'listing: pageSize': (more) => listing({ ...rows, pageSize: { param: 'limit', default: 5, ...more } }),
  byConnection: (more) => define.byConnection('data.rows', more),
  byCursor: (more) => byCursor({ param: 'cursor', at: 'next', ...more }),
  byHeader: (more) => define.byHeader({ param: 'cursor', header: 'x-next', ...more }),
  byKeyset: (more) => define.byKeyset([{ field: 'id', param: 'after' }], more),
  'byKeyset: a value': (more) => define.byKeyset([{ field: 'id', param: 'after', ...more }]),
  byLink: (more) => byLink(more),
  byOffset: (more) => define.byOffset({ param: 'offset', ...more }),
  byPage: (more) => define.byPage({ param: 'page', ...more }),
  bySince: (more) => define.bySince({ param: 'since', field: 'at', type: 'instant', ...more }),
  'bySince: windows': (more) =>
    define.bySince({
      param: 'since',
      field: 'at',
      type: 'instant',
      begin: '2026-01-01',
      windows: { to: 'to', step: '1d', ...more },
    }),
  rowOf: (more) => define.rowOf({ source: 'parents', params: (parent: object) => ({ ...parent }), ...more }),
  graphqlErrors: (more) => define.graphqlErrors(more),
  basic: (more) => define.basic({ user: 'me', password: 'secret', ...more }),
  header: (more) => define.header('X-Key', 'secret', more),
  login: (more) =>
    define.login({ request: { path: '/login', auth: define.bearer('token-one') }, token: 'id', ...more }),
  'login: request': (more) =>
    define.login({ request: { path: '/login', auth: define.bearer('token-one'), ...more }, token: 'id' }),
  oauth2: (more) => define.oauth2({ tokenUrl: baseUrl, clientId: 'me', ...more }),
  rateLimitHeaders: (more) => define.rateLimitHeaders(more),
  'createSource: schema': (more) => createSource({ ...definition, schema: { ...definition.schema, ...more }, fetch }),
  'pipePages: schema': (more) => source.pipePages((page) => page, { schema: { columns: ['id'], ...more } }),
  'writeTo: schema': (more) => core.writeTo(sink, { schema: { columns: ['id'], ...more } }),
  'bearer: a secret': (more) => useWith(define.bearer({ env: 'KEY', ...more })),
  'queryKey: a secret': (more) => useWith(define.queryKey('key', { env: 'KEY', ...more })),
  'pathKey: a secret': (more) => useWith(define.pathKey('/k-{key}', { env: 'KEY', ...more })),
  'bodyKey: a secret': (more) => useWith(define.bodyKey('key', { env: 'KEY', ...more })),
  'sign: a secret': (more) => useWith(define.sign({ env: 'KEY', ...more }, () => ({}))),
  'basic: a secret': (more) => useWith(define.basic({ user: { id: 'me', get: () => 'secret-1', ...more } })),
  targetRetries: (more) => kit.targetRetries(more),
  createSender: (more) => kit.createSender({ url: baseUrl, ...more }),
  createSource: (more) => createSource({ ...definition, fetch, ...more }),
  pages: (more) => source.pages(more),
  toArray: (more) => source.toArray(more),
  pipePages: (more) => source.pipePages((page) => page, more),
  poll: (more) => core.poll(source, { ...every, ...more }),
  'poll: conditional': (more) => core.poll(source, { ...every, conditional: more }),
  watch: (more) => core.watch(source, { ...every, key: () => 1, ...more }),
  'watch: retry': (more) => core.watch(source, { ...every, key: () => 1, retry: more }),
  changes: (more) => core.changes({ key: () => 1, ...more }),
  exportTo: (more) => exportTo(source, sink, more),
  'exportTo: incremental': (more) => exportTo(source, sink, { state: memoryState(), incremental: more }),
  run: (more) => exportTo(source, sink).run(more),
  writeTo: (more) => core.writeTo(sink, more),
  fileSink: (more) => node.fileSink(csvPackage.csvFormat(), { path: '/nowhere/rows.csv', ...more }),
  'fileSink: gzip': (more) =>
    node.fileSink(csvPackage.csvFormat(), { path: '/nowhere/rows', gzip: { pagesPerMember: 1, ...more } }),
  streamSink: (more) => node.streamSink(csvPackage.csvFormat(), process.stdout, more),
  fileState: (more) => node.fileState('/nowhere', more),
  budgets: (more) => node.budgets('/nowhere', more),
  addressGuard: (more) => node.addressGuard(more),
  csv: (more) => csvPackage.csv({ path: '/nowhere/rows.csv', ...more }),
  csvFormat: (more) => csvPackage.csvFormat(more),
  jsonl: (more) => jsonlPackage.jsonl({ path: '/nowhere/rows.jsonl', ...more }),
  jsonlFormat: (more) => jsonlPackage.jsonlFormat(more),
  parquet: (more) => parquetPackage.parquet({ path: '/nowhere/rows.parquet', ...more }),
  postgres: (more) => postgresPackage.postgres({ ...run, ...more }),
  postgresState: (more) => postgresPackage.postgresState({ url: run.url, name: 'job', ...more }),
  postgresMirror: (more) => postgresPackage.postgresMirror({ ...run, ...more }),
  readTable: (more) =>
    sqlitePackage.readTable({ ...table, signal: AbortSignal.abort(), ...more }, () => Promise.resolve()),
  'readTable: of PostgreSQL': (more) =>
    postgresPackage.readTable({ ...run, signal: AbortSignal.abort(), ...more }, () => Promise.resolve()),
  postgresRunTable: (more) => runsPackage.postgresRunTable({ ...run, ...more }),
  sqlite: (more) => sqlitePackage.sqlite({ ...table, ...more }),
  sqliteMirror: (more) => sqlitePackage.sqliteMirror({ ...table, ...more }),
  readHistory: (more) =>
    sqlitePackage.readHistory({ ...table, signal: AbortSignal.abort(), ...more }, () => Promise.resolve()),
  'readHistory: of PostgreSQL': (more) =>
    postgresPackage.readHistory({ ...run, signal: AbortSignal.abort(), ...more }, () => Promise.resolve()),
  compactHistory: (more) => sqlitePackage.compactHistory({ ...table, keep: 1, signal: AbortSignal.abort(), ...more }),
  'compactHistory: of PostgreSQL': (more) =>
    postgresPackage.compactHistory({ ...run, keep: 1, signal: AbortSignal.abort(), ...more }),
  webhook: (more) => webhookPackage.webhook({ url: baseUrl, secret: `whsec_${'A'.repeat(32)}`, ...more }),
  'webhook: batch': (more) =>
    webhookPackage.webhook({ url: baseUrl, secret: `whsec_${'A'.repeat(32)}`, batch: { count: 2, ...more } }),
  replay: (more) => webhookPackage.replay('/nowhere', { url: baseUrl, secret: `whsec_${'A'.repeat(32)}`, ...more }),
  readDeadLetters: (more) => webhookPackage.readDeadLetters('/nowhere', more).next(),
  streams: (more) => streamsPackage.streams({ baseUrl, ...more }),
  'streams: list': (more) => client().streams.list(more),
  'streams: list.watch': (more) => client().streams.list.watch({}, { ...every, ...more }),
  aptos: (more) => aptosPackage.aptos({ baseUrl, ...more }),
  'aptos: nfts': (more) => client().aptos.nfts({ ownerAddresses: ['0x1'], ...more }),
  'aptos: nfts.watch': (more) => client().aptos.nfts.watch({ ownerAddresses: ['0x1'] }, { ...every, ...more }),
  redisLimiter: (more) => cluster.redisLimiter({ url: 'redis://127.0.0.1:1', name: 'api', ...more }),
  'redisLimiter: limits': (more) =>
    cluster.redisLimiter({ url: 'redis://127.0.0.1:1', name: 'api', limits: { requests: 1, per: 1_000, ...more } }),
  'openCluster: submit': (more) => {
    const to = cluster.segments('/nowhere');
    const submission = { name: 'a', source: 'b', open: () => source, params: [], to };
    return cluster.openCluster({ url: 'redis://127.0.0.1:1' }).submit({ ...submission, ...more });
  },
  'openCluster: work': (more) => cluster.openCluster({ url: 'redis://127.0.0.1:1' }).work({ sources: {}, ...more }),
  openCluster: (more) => cluster.openCluster({ url: 'redis://127.0.0.1:1', ...more }),
  runPartition: (more) =>
    cluster.runPartition({ run: {} as never, partition: 0, signal: AbortSignal.abort(), ...more }),
  segments: (more) => cluster.segments('/nowhere', more),
  sourceOfRun: (more) => cluster.sourceOfRun('/nowhere', more),
  postgresRun: (more) => clusterPostgres.postgresRun({ ...run, ...more }),
  dashboard: (more) => dashboardPackage.dashboard(more),
  openDashboard: (more) => dashboardPackage.openDashboard(more),
  openTelemetry: (more) => telemetry.openTelemetry(more),
  startSandbox: (more) => sandbox.startSandbox(more),
  startReceiver: (more) => sandbox.startReceiver(more),
  testLimiter: (more) => suites.testLimiter({ ...suite, ...more }),
  testPlugin: (more) => suites.testPlugin({ ...suite, ...more }),
  testSink: (more) => suites.testSink({ ...suite, ...more }),
  testSource: (more) => suites.testSource({ ...suite, ...more }),
  testStateStore: (more) => suites.testStateStore({ ...suite, ...more }),
};

test.for(Object.entries(calls))(
  'R10 A10 an option that %s does not know is refused by its name',
  async ([title, call]) => {
    const refused = /(no option|no parameter) "misspelt"/;
    await expect((async () => call({ misspelt: 1 }))()).rejects.toThrow(refused);
    // Parameters of a source that are `undefined` count as not given.
    if (title.includes(': ')) return;
    await expect((async () => call({ misspelt: undefined }))()).rejects.toThrow(refused);
  },
);

test.for(Object.entries(packages))(
  'each function of %s refuses unknown options, or says why it takes none',
  ([, all]) => {
    const functions = Object.entries<unknown>({ ...all }).filter(
      ([, value]) => typeof value === 'function' && !/^class\b/.test(Function.prototype.toString.call(value)),
    );
    const unlisted = functions.map(([name]) => name).filter((name) => !(name in calls) && !(name in withoutOptions));
    expect(unlisted).toEqual([]);
  },
);

test.for(Object.keys(calls).filter((title) => title !== 'readDeadLetters' && functionNamed(title)))(
  'A10 %s takes nothing but what it is for, and says so in words',
  async (name) => {
    const call = functionNamed(name);
    for (const given of [null, 1]) {
      const refused = await Promise.resolve()
        .then(() => call?.(given))
        .then(
          (result) => result,
          (error: unknown) => error,
        );
      expect(refused, String(given)).toBeInstanceOf(Error);
      expect(refused, String(given)).not.toBeInstanceOf(TypeError);
    }
  },
);

test('R10 every entry point of a package is looked at, and no function that there is not', () => {
  const folder = join(import.meta.dirname, '../packages');
  const entryPoints = readdirSync(folder).flatMap((name) => {
    const text = readFileSync(join(folder, name, 'package.json'), 'utf8');
    const described = JSON.parse(text) as { readonly name: string; readonly exports?: object };
    const paths = Object.keys(described.exports ?? {}).filter((path) => path !== './package.json');
    return paths.map((path) => described.name + path.slice(1));
  });
  expect(Object.keys(packages).toSorted()).toEqual(entryPoints.toSorted());
  const exported = new Set(Object.values(packages).flatMap((all) => Object.keys(all)));
  expect(Object.keys(withoutOptions).filter((name) => !exported.has(name))).toEqual([]);
});

test('A10 a misspelt option is refused with the nearest known one', () => {
  const refusal = (call: () => unknown): string => {
    try {
      call();
    } catch (error) {
      return String(error);
    }
    return 'accepted';
  };
  const api = { name: 'mine', sources: { all: listing(rows) } };
  const cases: readonly [() => unknown, string][] = [
    [() => defineApi({ ...api, ratelimit: { requests: 1, per: 40 } } as never), 'Did you mean rateLimit?'],
    [() => defineApi({ ...api, rate_limit: false } as never), 'Did you mean rateLimit?'],
    [() => listing({ ...rows, totals: 'count' } as never), 'Did you mean total?'],
    [() => listing({ ...rows, pagesize: 5 } as never), 'Did you mean pageSize?'],
    [() => listing({ ...rows, colunms: ['id'] } as never), 'Did you mean columns?'],
    [() => define.byPage({ param: 'page', frist: 0 } as never), 'Did you mean first?'],
    [() => createClient({ apikey: 'key-1' } as never), 'Did you mean apiKey?'],
    [() => createClient({ apiKey: false, timeouts: { conect: 1 } } as never), 'Did you mean connect?'],
    [() => exportTo(source, sink, { comitEvery: 3 } as never), 'Did you mean commitEvery?'],
    [() => useWith(define.bearer({ evn: 'KEY' } as never)), 'Did you mean env?'],
    [() => useWith(define.bearer({ id: 'me', gte: () => 'secret-1' } as never)), 'Did you mean get?'],
    [() => createSource({ ...definition, schema: { columns: ['id'], keys: 1 } as never, fetch }), 'Did you mean key?'],
    [
      () => define.byOffset({ param: 'offset', zzz: 1 } as never),
      'Available: param, into, header, more, last, first, step.',
    ],
    [() => createClient({ apiKey: false, __proto__x: 1 } as never), 'Available: '],
  ];
  expect(cases.map(([call]) => refusal(call))).toEqual(cases.map(([, hint]) => expect.stringContaining(hint)));
});

test('symbols and inherited properties are not options', () => {
  class Options {
    readonly param = 'page';
    get misspelt(): string {
      return this.param;
    }
  }
  expect(() => define.byPage(Object.assign(new Options(), { [Symbol('misspelt')]: 1 }))).not.toThrow();
  expect(() => checkOptions('f()', JSON.parse('{"__proto__":1}') as object, {} as never)).toThrow('"__proto__"');
  expect(() => checkOptions('f()', { toString: 1 }, {} as never)).toThrow('"toString"');
});

test('the nearest name is the one with the fewest edits, without case and separators', () => {
  const names = ['retry', 'retries', 'maxDelay', 'baseDelay'];
  expect(['retry_', 'retrys', 'MAX-DELAY', 'baseDleay', 'timeout', ''].map((name) => nearestName(name, names))).toEqual(
    ['retry', 'retry', 'maxDelay', 'baseDelay', undefined, undefined],
  );
});

function functionNamed(name: string): ((...given: unknown[]) => unknown) | undefined {
  const found: unknown = Object.values(packages).flatMap((all) => (name in all ? [Reflect.get(all, name)] : []))[0];
  return typeof found === 'function' ? (...given) => Reflect.apply(found, undefined, given) : undefined;
}

function reason(why: string, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, why]));
}
