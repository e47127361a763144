import type { SqliteMirrorOptions, SqliteOptions } from '@sluice/tables/sqlite';
import { apis } from '../input/baseUrl.js';
import { keyVariable, pingVariable, redisVariable, secretVariable } from '../input/secretVariables.js';
import { progressModes } from '../progress/reporter.js';
import {
  addresses,
  choices,
  count,
  duration,
  file,
  fileOrNone,
  flag,
  latency,
  list,
  listenAddress,
  lists,
  ofFile,
  type Option,
  type OptionsFor,
  parameters,
  port,
  rate,
  rowsOrShare,
  share,
  shares,
  size,
  span,
  text,
  texts,
  timeOrForever,
  url,
  type ValueOf,
} from './option.js';
import { formatOptions, rowFormatNames, rowFormats, textFiles, textFormats } from './rowFormats.js';

/** Options under one heading in the help, by commander's names for their values. */
export interface OptionGroup {
  readonly heading: string;
  readonly options: Readonly<Record<string, Option<unknown>>>;
}

function group<Options extends OptionGroup['options']>(heading: string, options: Options) {
  return { heading, options };
}

type NameIn<Groups extends OptionGroup> = Groups extends unknown ? keyof Groups['options'] & string : never;

type ValueIn<Groups extends OptionGroup, Name> = Groups extends unknown
  ? Name extends keyof Groups['options']
    ? ValueOf<Groups['options'][Name]>
    : never
  : never;

/** The values of the options of some groups, as commander passes them to a command. Absent if not given. */
export type ValuesOf<Groups extends OptionGroup> = {
  readonly [Name in NameIn<Groups>]?: ValueIn<Groups, Name>;
};

const oneRun = { isForOneRun: true } as const;
const ofTable = { about: 'table', isForOneRun: true } as const;
const ofWebhook = { about: 'webhook' } as const;
const ofState = { about: 'state' } as const;
const ofStateOnce = { about: 'state', isForOneRun: true } as const;

const what = choices('what');
const mode = choices('mode');
const aFormat = choices('format');
const retryHelp =
  'how long to retry during an outage, not counting pauses that the service requests: 2m, 0s or forever';
const noTotalHelp =
  'with --mode replace although the API lists fewer or more rows than it counts: its total counts something else';

// Options that are in several groups.
const wallets = {
  owner: addresses('wallet addresses: 0x and up to 64 hex digits'),
  ownersFile: file('file with one wallet per line; # starts a comment; - for stdin'),
  includeCollections: list('hashes', 'only these collections: a,b,c'),
  excludeCollections: list('hashes', 'all collections except these: a,b,c'),
  pageSize: count('rows per request (default: 100)'),
  ownersPerRequest: count('wallets per request (default: 10, or fewer so that --concurrency is used)'),
};
const walletGroups = { ...wallets, concurrency: count('groups of wallets fetched in parallel (default: 1)') };
const streamPages = { pageSize: count('rows per request, 1 to 100 (default: 100)') };
const params = {
  param: parameters('a parameter of the source, name:=JSON for anything but text; repeatable'),
  pageSize: count('rows per request (default: set by the source)'),
};
const partitions = { ...params, concurrency: count('partitions fetched in parallel (default: 1)') };
const maxRows = count('stop after this many rows', oneRun);
const requireTotal = flag('fail if the API lists fewer or more rows than it counts, or states no total', {
  off: `remove rows ${noTotalHelp}`,
});
const repeats = what(
  ['keep', 'drop', 'fail'],
  'what to do with a row that the API lists again, by its key: keep it, leave it out, or fail (default: keep)',
);

const columns = list('names', 'only these columns, in this order: a,b,c', ofFile);
const fileOptions = {
  columns,
  gzip: flag(
    `${textFormats.map((name) => rowFormats[name].title).join(', ')}: compress with gzip, whatever the file name`,
    ofFile,
  ),
  ifExists: what(['fail', 'overwrite', 'append'], 'what to do if the file exists (default: fail)', ofFile),
};

/** What the library calls `key`: a source has a key, too. */
type KeyColumns<Library extends { readonly key?: unknown }> = Library & { readonly keyColumns?: Library['key'] };
const schema = what(
  ['discard', 'freeze', 'evolve'],
  'a table: leave fields out that are not columns, or refuse their row; evolve: leave them out, and add columns that the source has and the table lacks (default: discard)',
  ofTable,
);
const tableModes = ['fail', 'append', 'merge', 'replace'] as const;
const modeHelp = 'what becomes of rows that the table has';
export const runTableOptions = {
  mode: mode(tableModes, `${modeHelp} (default: fail)`, ofTable),
  keyColumns: list('names', 'columns that identify a row for --mode merge, replace or history: a,b', ofTable),
  maxRemoved: rowsOrShare(
    'with --mode replace or history: fail, and change nothing, if more rows than this would be removed: 80% or 0.8 of them, or 200 (default: 50%)',
    { about: 'table' },
  ),
  columns,
  schema,
} satisfies OptionsFor<KeyColumns<SqliteOptions>>;
export const tableOptions = {
  ...runTableOptions,
  mode: mode([...tableModes, 'history'], `${modeHelp}; history: every version of them stays (default: fail)`, ofTable),
  extra: formatOptions.extra,
} satisfies OptionsFor<KeyColumns<SqliteOptions>>;
export const mirrorOptions = {
  columns: list('names', 'only these columns of the table, in this order: a,b,c', ofFile),
  keyColumns: list(
    'names',
    'columns of the table that identify a row: a,b (default: its key, in a column _key)',
    ofTable,
  ),
  mode: mode(
    ['mirror', 'history'],
    'what the table has: the rows as they are now, or every version that they had, with its times (default: mirror)',
    ofTable,
  ),
  deletedAt: flag(
    'keep removed rows in the table, with the time in a column _deleted_at (default: delete them)',
    ofTable,
  ),
  schema,
} satisfies OptionsFor<KeyColumns<SqliteMirrorOptions>>;

const webhook = {
  secretFile: file(
    `file with the signing secret, or with two, one per line; - for stdin [env: ${secretVariable}, the secret itself]`,
    { about: 'webhook', variable: secretVariable },
  ),
  headerFile: file('file with extra headers, one per line, like Authorization: Bearer TOKEN', ofWebhook),
  allowAddress: lists('private or plain-http hosts, addresses or CIDRs to allow: a,b,c; repeatable'),
  deliveryRate: rate('maximum rate of its requests: 10/s, 100/m or unlimited (default: unlimited)', ofWebhook),
};
const delivery = {
  ...webhook,
  deliveries: count('parallel requests (default: 8)', ofWebhook),
  batch: count('records per request, as an array (default: one record, not in an array)', ofWebhook),
  deadLetters: file(
    'file for records that the service refuses permanently (default: HOST.dead.jsonl here, or the state if that is in a database)',
    {
      about: 'webhook',
      isForOneRun: true,
    },
  ),
  maxDeadLetters: count('fail after more dead letters than this (default: 100)', ofWebhook),
  onDead: what(
    ['continue', 'park'],
    'after a dead letter, send later records with its key (continue), or set them aside with it (park) (default: continue)',
    ofWebhook,
  ),
};

const restart = flag('discard the state of an earlier run and start over', ofStateOnce);
const sameProject = flag('resume with a new API key of the same project', ofStateOnce);
const breakLock = flag(
  'break the lock of a process that cannot be checked from here, e.g. on another machine, by NFS',
  ofStateOnce,
);
const trustFilesystem = flag('allow the state on a network file system, at your own risk', ofState);

const { streams, aptos } = apis;
const streamsUrl = url(`base URL of the streams API [env: ${streams.variable}]`, { variable: streams.variable });
const aptosUrl = url(`base URL of the Aptos NFT API [env: ${aptos.variable}]`, { variable: aptos.variable });
const apiKeyFile = file(`file with the API key, - for stdin [env: ${keyVariable}, the key itself]`, {
  variable: keyVariable,
});
const config = fileOrNone(
  'configuration file with plugins and defaults (default: sluice.config.js, .mjs, .ts or .json in this folder)',
  { isForOneRun: true, off: 'ignore the configuration in this folder' },
);
const maxRetryAfter = span(
  'longest pause that the service may request; a longer one is an error (default: 1m, or --retry-for if that is more)',
);
const requests = {
  timeout: span('maximum time for one response (default: 30s)'),
  retryFor: timeOrForever(
    `${retryHelp} (default: 1m; a watch polls on after that, and retries a webhook or a table forever)`,
  ),
  maxRetryAfter,
  config,
};
const api = {
  apiKeyFile,
  rate: rate('maximum request rate, besides limits of a plugin: 25/s, 100/m or unlimited (default: 5/s)'),
  ...requests,
};

const maxTime = span(
  'stop after this time, commit what was fetched, and exit with 75 if something is left, which the same command resumes: 14m (default: never)',
);

const monitoring = {
  ping: url(
    `GET this URL with /start when the command begins, as it is when it succeeds and while a watch is well, and with /fail when it fails; or a URL with {status} in it [env: ${pingVariable}]`,
    { variable: pingVariable },
  ),
  pingFile: file('file with that URL, which is a secret', { variable: pingVariable }),
};

const quiet = flag('show only errors');
const format = aFormat(['text', 'json'], 'output format (default: text)', ofFile);

/** The options of all commands. */
export const groups = {
  holdings: group('Which holdings:', {
    ...walletGroups,
    maxRows,
    requireTotal,
    repeats,
    offset: count('rows to skip at the start', oneRun),
  }),
  watchedHoldings: group('Which holdings:', walletGroups),
  plannedHoldings: group('Which holdings:', wallets),
  streamList: group('Options:', {
    format: aFormat(['table', ...textFormats], 'output format (default: table on a terminal, else csv)', ofFile),
    columns,
    ...streamPages,
  }),
  streams: group('Which streams:', { ...streamPages, maxRows, requireTotal, repeats }),
  watchedStreams: group('Which changes:', {
    only: what(
      ['status'],
      'report only changes of the status and its message; with --mode history: only these write a version (default: all)',
    ),
    ...streamPages,
  }),
  rows: group('Which rows:', {
    ...partitions,
    maxRows,
    requireTotal,
    repeats,
    incremental: flag('only rows that are new or changed since the last such export; needs --state', oneRun),
    since: text(
      'value',
      'with --incremental: start at this value, e.g. 2026-01-31T00:00:00Z, instead of the last one',
      oneRun,
    ),
    until: text(
      'value',
      'with --incremental: only rows before this value; with --since, these come again, and the last one stays',
      oneRun,
    ),
    full: flag('with --incremental: export all rows again, and start from there the next time', oneRun),
  }),
  watchedRows: group('Which rows:', {
    ...partitions,
    key: list('columns', 'columns that identify a row: a,b (default: set by the source)'),
  }),
  plannedRows: group('Which rows:', params),
  mergedRows: group('Which rows:', { requireTotal }),
  target: group('Target:', {
    to: text(
      'target',
      `${textFiles} (add .gz to compress), FILE.parquet, FILE.sqlite#TABLE, postgres://user@host/database?table=TABLE, - for stdout, or NAME:TARGET for a plugin's sink`,
      oneRun,
    ),
    format: aFormat(rowFormatNames, 'format of the rows (default: by the file name)', ofFile),
    ...fileOptions,
    ...formatOptions,
    ...tableOptions,
  }),
  changeTarget: group('Target:', {
    format: aFormat(['text', 'jsonl'], 'text for people, jsonl for programs (default: text)', ofFile),
    to: text(
      'target',
      "append to FILE.jsonl, each change exactly once; or mirror the rows, or their history, in FILE.sqlite#TABLE or postgres://user@host/database?table=TABLE; or NAME:TARGET for a plugin's sink (default: stdout, each at least once)",
      oneRun,
    ),
    ifExists: what(['fail', 'overwrite'], 'what to do if the file is not from this watch (default: fail)', ofFile),
    ...mirrorOptions,
  }),
  forward: group('Or forward to a webhook (instead of --to):', {
    forward: url('POST each row to this URL as JSON, signed per Standard Webhooks, until it is accepted', oneRun),
    ...delivery,
  }),
  forwardChanges: group('Or forward to a webhook (instead of --to):', {
    forward: url('POST each change to this URL as JSON, signed per Standard Webhooks, until it is accepted', oneRun),
    ...delivery,
    maxSpool: size(
      'how much may wait for a slow or dead service while polls go on; then the watch waits, too (default: 1GB)',
      ofWebhook,
    ),
  }),
  resume: group('Resuming (run the same command again):', {
    state: text(
      'folder',
      "with --forward, --incremental or a plugin's sink: folder for the state, postgres://user@host/database?name=NAME, or NAME:TARGET for a plugin's store (default: HOST.sluice here, or NAME.TARGET.sluice)",
      oneRun,
    ),
    restart,
    resumeWithin: timeOrForever(
      'resume an interrupted run whose last commit is younger than this, else begin a new one; half of what lies between two nights, or forever; not for a webhook (default: 12h)',
      ofState,
    ),
    sameProject,
    onExpired: what(
      ['fail', 'restart-partition'],
      'when a cursor has expired: fail, or fetch its partition again (default: fail)',
      ofState,
    ),
    breakLock,
    trustFilesystem,
    commitEvery: count('commit every n pages (default: once per second, at least every 200 pages)', ofState),
    maxTime,
  }),
  polls: group('Polls:', {
    every: span('interval between polls (default: 30s)'),
    jitter: share('delay each poll at random by up to this share of the interval, 0 to 1 (default: 0)'),
    polls: count('stop after this many polls (default: never)', oneRun),
    maxTime,
    maxFailures: count('stop after more consecutive failed polls than this (default: never)'),
    ignore: list('fields', 'do not report a row of which only these fields have changed: a,b', oneRun),
    acceptRemovals: flag('report removals at once, even if the listing shrank suspiciously', oneRun),
    rule: texts('rule')(
      "report rows for which something holds for too long, and again when it no longer does: 'dying: status=error for 20h again 1h deadline 24h'",
    ),
    health: listenAddress(
      'PORT or HOST:PORT: answer health checks: 200 while polls succeed and the target takes their changes, else 503 (default host: 127.0.0.1)',
      oneRun,
    ),
  }),
  watchState: group('State (run the same command to resume):', {
    state: text(
      'folder',
      "folder for the state, postgres://user@host/database?name=NAME, or NAME:TARGET for a plugin's store (default: FILE.sluice or HOST.sluice here; none for stdout)",
      oneRun,
    ),
    restart,
    sameProject,
    breakLock,
    trustFilesystem,
  }),
  connection: group('Connection:', { streamsUrl, aptosUrl, ...api }),
  streamsConnection: group('Connection:', { streamsUrl, ...api }),
  aptosConnection: group('Connection:', { aptosUrl, ...api }),
  /** APIs that are not requested. */
  plannedConnection: group('Connection:', { streamsUrl, aptosUrl, apiKeyFile, config }),
  plannedAptosConnection: group('Connection:', { aptosUrl, apiKeyFile, config }),
  /** All workers share a rate. */
  workerConnection: group('Connection:', { streamsUrl, aptosUrl, apiKeyFile, ...requests }),
  progress: group('Progress, on stderr:', {
    progress: mode(progressModes, 'how to show progress (default: bar on a terminal, else plain)'),
    quiet,
  }),
  watchProgress: group('Progress, on stderr:', {
    progress: mode(['plain', 'json'], 'notable events as lines, or each poll as JSON (default: plain)'),
    quiet,
  }),
  lineProgress: group('Progress, on stderr:', {
    progress: mode(['plain', 'json'], 'how to show progress (default: plain)'),
    quiet,
  }),
  monitoring: group('Monitoring (somebody notices silence):', monitoring),
  workerMonitoring: group('Monitoring (somebody notices silence):', {
    ...monitoring,
    allowAddress: webhook.allowAddress,
  }),
  run: group('Run (the same command again resumes it):', {
    to: text(
      'target',
      'a new or empty folder that all machines see at the same path, or postgres://user@host/database?table=TABLE',
      oneRun,
    ),
    name: text('name', 'name of the run: letters, digits, . - and _ (default: that of the folder)', oneRun),
    trustFilesystem: flag('allow a network file system, which must have exclusive links and durable syncs', ofState),
    ...runTableOptions,
    requireTotal: flag(`remove rows of a table ${noTotalHelp}`, { isOff: true }),
  }),
  redis: group('Redis:', {
    redis: url(
      `URL of Redis without a password [env: ${redisVariable}, with or without one] (default: redis://127.0.0.1:6379)`,
      { variable: redisVariable, ...oneRun },
    ),
    redisUrlFile: file('file with the URL of Redis, if it has a password', oneRun),
  }),
  dashboard: group('Dashboard:', {
    dashboard: port(
      'show a local page of the run, whose address is printed (default port: any free one); needs @sluice/dashboard',
      oneRun,
    ),
  }),
  letterTarget: group('Target:', {
    to: url('address of the service; may differ from the original one', oneRun),
    ...webhook,
    deliveries: count('parallel requests (default: 1)', ofWebhook),
    timeout: span('maximum time for one response (default: 15s)'),
    retryFor: timeOrForever(`${retryHelp} (default: 1m)`),
    maxRetryAfter,
  }),
  letterState: group('Resuming (run the same command again):', {
    breakLock,
    trustFilesystem: flag('allow a network file system, at your own risk', ofState),
    maxTime,
  }),
  sources: group('Options:', { config, format }),
  request: group('Options:', {
    param: parameters('a parameter of the query, name:=JSON for anything but text; repeatable'),
  }),
  report: group('Options:', {
    to: text('file', 'the report (default: the name of the file, with .html); - for stdout', oneRun),
    ifExists: what(['fail', 'overwrite'], 'what to do if the report exists (default: fail)', ofFile),
  }),
  compact: group('Options:', {
    keep: span('how long versions stay after they have ended: 90d', oneRun),
  }),
  history: group('Options:', {
    key: text('key', 'only changes of the row with this key'),
    since: duration('only changes of this time until now: 90m, 12h or 7d (default: all)', oneRun),
    format: aFormat(['text', 'jsonl'], 'text for people, jsonl for programs (default: text)', ofFile),
  }),
  draft: group('Options:', {
    from: text(
      'url|file',
      'the address of a listing that has rows, or an OpenAPI description: its address, a file, or - for stdin',
      oneRun,
    ),
    headerFile: webhook.headerFile,
    paths: list('paths', 'of an OpenAPI description only the listings of these paths: /a,/b', oneRun),
    to: text('file', 'the definition (default: NAME.ts); - for stdout', oneRun),
    ifExists: what(['fail', 'overwrite'], 'what to do if the file exists (default: fail)', ofFile),
  }),
  letters: group('Options:', { format }),
  checkpoint: group('Options:', { format, config }),
  work: group('Work:', {
    concurrency: count('partitions of a run fetched in parallel (default: 4)'),
    untilDone: flag('end when no run is left to work on, instead of waiting for one', oneRun),
    maxTime,
  }),
  sharedLimit: group('Limit:', {
    rate: rate(
      'maximum request rate of all workers together: 25/s, 100/m or unlimited (default: that of the limit, or 5/s)',
    ),
    limit: text('name', 'name of the rate limit that all workers share (default: api)'),
  }),
  status: group('Options:', { format, wait: flag('wait until the run has ended', oneRun) }),
  limit: group('Options:', { set: rate('change the limit for all: 25/s, 100/m or 3600/h', oneRun), format }),
  server: group('Options:', { port: count('port on 127.0.0.1 (default: any free one)') }),
  served: group('What it holds:', {
    seed: count('the same seed gives the same rows (default: 1)'),
    holdings: count('NFT holdings of all wallets together (default: 12345)'),
    owners: count('wallets (default: 3)'),
    streams: count('EVM streams (default: 42)'),
    nasty: share('share of rows with unusual values, 0 to 1 (default: 0.2)'),
    shape: choices('name')(
      ['live', 'reference'],
      'response shape: like the live service, or like the API reference (default: live)',
    ),
  }),
  faults: group('How it behaves:', {
    rateLimit: rate('respond with 429 above this rate, e.g. 50/s (default: unlimited)'),
    latency: latency('delay before each response: 25ms or 5ms..40ms'),
    cursorTtl: span('respond with 400 to cursors older than this, e.g. 5m'),
    fail: shares('inject faults at these rates: serverError=0.05,reset=0.01'),
    statusEvery: duration('time between status changes of a stream, e.g. 5s'),
    cors: flag('allow requests from web pages of any origin (CORS)'),
  }),
  findings: group('Output:', {
    json: flag('print one JSON object, for programs', oneRun),
    quiet: flag('show only failures'),
  }),
};

export type GroupOptions<Name extends keyof typeof groups> = ValuesOf<(typeof groups)[Name]>;
