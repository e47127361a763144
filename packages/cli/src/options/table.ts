import { flagOf } from '../errors/cliTerms.js';
import { apis } from '../input/baseUrl.js';
import { keyVariable, redisVariable, secretVariable } from '../input/secrets.js';
import { progressModes } from '../progress/reporter.js';
import {
  collect,
  collectLists,
  parseDuration,
  parseLatency,
  parseList,
  parseNumber,
  parsePort,
  parseRate,
  parseRetryFor,
  parseShares,
  parseSpan,
} from './parse.js';

interface OptionSpec {
  /** The placeholder after the flag, in brackets if it may be left out; absent for a switch. */
  readonly value?: `<${string}>` | `[${string}]`;
  /** Parses the value, or lists the choices. Default: any text. */
  readonly read?: ((text: string, before: readonly string[] | undefined) => unknown) | readonly string[];
  readonly help: string;
  /** The switch is `--no-NAME`: it disables what is on by default. */
  readonly isOff?: true;
  /** Help of a second flag, `--no-NAME`. */
  readonly off?: string;
  /** It is about a single run, so it cannot be a default: nobody would expect it in a configuration file later. */
  readonly isForOneRun?: true;
  /** It applies only to this kind of target, or only if state is stored. */
  readonly about?: OptionSubject;
  /** The environment variable that sets the same. It takes precedence over a default. */
  readonly variable?: string;
}

export type OptionSubject = 'file' | 'table' | 'webhook' | 'state';

const number = { value: '<n>', read: parseNumber } as const;
const file = { value: '<file>' } as const;
const list = { read: parseList } as const;
const span = { value: '<duration>', read: parseSpan } as const;
const url = { value: '<url>' } as const;
const show = { value: '<format>', read: ['text', 'json'], help: 'output format (default: text)' } as const;
const retry = { value: '<duration>', read: parseRetryFor } as const;
const retryHelp =
  'how long to retry during an outage, not counting pauses that the service requests: 2m, 0s or forever';

/**
 * All options, by commander's names for their values. `NAME of WHAT` is a variant for some commands. Flags, help,
 * option types and the allowed defaults of a configuration are derived from this table.
 */
const table = {
  owner: { value: '<address...>', read: collect, help: 'wallet addresses: 0x and up to 64 hex digits' },
  ownersFile: { ...file, help: 'file with one wallet per line; # starts a comment; - for stdin' },
  includeCollections: { value: '<hashes>', ...list, help: 'only these collections: a,b,c' },
  excludeCollections: { value: '<hashes>', ...list, help: 'all collections except these: a,b,c' },
  ownersPerRequest: { ...number, help: 'wallets per request (default: 10)' },
  pageSize: { ...number, help: 'rows per request (default: 100)' },
  'pageSize of any source': { ...number, help: 'rows per request (default: set by the source)' },
  'pageSize of streams': { ...number, help: 'rows per request, 1 to 100 (default: 100)' },
  concurrency: { ...number, help: 'partitions fetched in parallel (default: 1)' },
  'concurrency of wallets': { ...number, help: 'groups of wallets fetched in parallel (default: 1)' },
  maxRows: { ...number, isForOneRun: true, help: 'stop after this many rows' },
  offset: { ...number, isForOneRun: true, help: 'rows to skip at the start' },
  param: {
    value: '<name=value>',
    read: collect,
    isForOneRun: true,
    help: 'a parameter of the source, name:=JSON for anything but text; repeatable',
  },
  'param of a request': {
    value: '<name=value>',
    read: collect,
    isForOneRun: true,
    help: 'a parameter of the query, name:=JSON for anything but text; repeatable',
  },
  incremental: {
    isForOneRun: true,
    help: 'only rows that are new or changed since the last such export; needs --state',
  },
  since: {
    value: '<value>',
    isForOneRun: true,
    help: 'with --incremental: start at this value, e.g. 2026-01-31T00:00:00Z, instead of the last one',
  },
  full: { isForOneRun: true, help: 'with --incremental: export all rows again, and start from there the next time' },
  key: { value: '<columns>', ...list, help: 'columns that identify a row: a,b (default: set by the source)' },
  only: { value: '<what>', read: ['status'], help: 'report only changes of the status and its message (default: all)' },

  to: {
    value: '<target>',
    isForOneRun: true,
    help: "FILE.csv or FILE.jsonl (add .gz to compress), FILE.parquet, FILE.sqlite#TABLE, postgres://user@host/database?table=TABLE, - for stdout, or NAME:TARGET for a plugin's sink",
  },
  'to of changes': {
    value: '<target>',
    help: "append to FILE.jsonl, each change exactly once; or mirror the rows in FILE.sqlite#TABLE or postgres://user@host/database?table=TABLE; or NAME:TARGET for a plugin's sink (default: stdout, each at least once)",
  },
  'to of a report': { value: '<file>', help: 'the report (default: the name of the file, with .html); - for stdout' },
  'to of letters': { ...url, help: 'address of the service; may differ from the original one' },
  format: {
    value: '<format>',
    read: ['csv', 'jsonl', 'parquet'],
    about: 'file',
    help: 'format of the rows (default: by the file name)',
  },
  'format of changes': {
    value: '<format>',
    read: ['text', 'jsonl'],
    help: 'text for people, jsonl for programs (default: text)',
  },
  'format of a table': {
    value: '<format>',
    read: ['table', 'csv', 'jsonl'],
    help: 'output format (default: table on a terminal, else csv)',
  },
  'to of a run': {
    value: '<target>',
    isForOneRun: true,
    help: 'a new or empty folder that all machines see at the same path, or postgres://user@host/database?table=TABLE',
  },
  name: {
    value: '<name>',
    isForOneRun: true,
    help: 'name of the run: letters, digits, . - and _ (default: that of the folder)',
  },
  'format of a list': show,
  columns: { value: '<names>', ...list, about: 'file', help: 'only these columns, in this order: a,b,c' },
  gzip: { about: 'file', help: 'CSV, JSON Lines: compress with gzip, whatever the file name' },
  'ifExists of a report': {
    value: '<what>',
    read: ['fail', 'overwrite'],
    help: 'what to do if the report exists (default: fail)',
  },
  ifExists: {
    value: '<what>',
    read: ['fail', 'overwrite', 'append'],
    about: 'file',
    help: 'what to do if the file exists (default: fail)',
  },
  'ifExists of changes': {
    value: '<what>',
    read: ['fail', 'overwrite'],
    help: 'what to do if the file is not from this watch (default: fail)',
  },
  mode: {
    value: '<mode>',
    read: ['fail', 'append', 'merge', 'replace'],
    about: 'table',
    isForOneRun: true,
    help: 'what becomes of rows that the table has (default: fail)',
  },
  keyColumns: {
    value: '<names>',
    ...list,
    about: 'table',
    isForOneRun: true,
    help: 'columns that identify a row for --mode merge or replace: a,b',
  },
  schema: {
    about: 'table',
    isForOneRun: true,
    value: '<what>',
    read: ['discard', 'freeze'],
    help: 'a table: leave fields out that are not columns, or refuse their row (default: discard)',
  },
  'columns of changes': { value: '<names>', ...list, help: 'only these columns of the table, in this order: a,b,c' },
  'keyColumns of changes': {
    value: '<names>',
    ...list,
    help: 'columns of the table that identify a row: a,b (default: its key, in a column _key)',
  },
  deletedAt: {
    about: 'table',
    isForOneRun: true,
    help: 'keep removed rows in the table, with the time in a column _deleted_at (default: delete them)',
  },
  guardFormulas: {
    about: 'file',
    isOff: true,
    help: 'CSV: do not escape text that a spreadsheet would run as a formula',
  },
  extra: { about: 'file', help: 'CSV: add a last column with unknown fields, as JSON' },
  bom: { about: 'file', help: 'CSV: start with a byte order mark, for old spreadsheets' },
  strictTypes: {
    about: 'file',
    help: 'Parquet: refuse a value that its column can not hold (default: the whole column is text, with a warning)',
  },

  forward: {
    ...url,
    isForOneRun: true,
    help: 'POST each row to this URL as JSON, signed per Standard Webhooks, until it is accepted',
  },
  'forward of changes': {
    ...url,
    help: 'POST each change to this URL as JSON, signed per Standard Webhooks, until it is accepted',
  },
  secretFile: {
    ...file,
    about: 'webhook',
    variable: secretVariable,
    help: `file with the signing secret, or with two, one per line; - for stdin [env: ${secretVariable}, the secret itself]`,
  },
  headerFile: {
    ...file,
    about: 'webhook',
    help: 'file with extra headers, one per line, like Authorization: Bearer TOKEN',
  },
  allowAddress: {
    value: '<list>',
    read: collectLists,
    about: 'webhook',
    help: 'private or plain-http hosts, addresses or CIDRs to allow: a,b,c; repeatable',
  },
  deliveries: { ...number, about: 'webhook', help: 'parallel requests (default: 8)' },
  'deliveries of letters': { ...number, help: 'parallel requests (default: 1)' },
  batch: {
    ...number,
    about: 'webhook',
    help: 'records per request, as an array (default: one record, not in an array)',
  },
  deadLetters: {
    ...file,
    about: 'webhook',
    isForOneRun: true,
    help: 'file for records that the service refuses permanently (default: HOST.dead.jsonl here)',
  },
  maxDeadLetters: { ...number, about: 'webhook', help: 'fail after more dead letters than this (default: 100)' },
  onDead: {
    value: '<what>',
    read: ['continue', 'park'],
    about: 'webhook',
    help: 'after a dead letter, send later records with its key (continue), or set them aside with it (park) (default: continue)',
  },

  state: {
    value: '<folder>',
    isForOneRun: true,
    help: "with --forward, --incremental or a plugin's sink: folder for the state, or NAME:TARGET for a plugin's store (default: HOST.sluice here, or NAME.TARGET.sluice)",
  },
  'state of a watch': {
    value: '<folder>',
    help: "folder for the state, or NAME:TARGET for a plugin's store (default: FILE.sluice or HOST.sluice here; none for stdout)",
  },
  restart: { about: 'state', isForOneRun: true, help: 'discard the state of an earlier run and start over' },
  resumeWithin: {
    value: '<duration>',
    read: parseDuration,
    about: 'state',
    help: 'with --mode merge or replace: resume an interrupted run whose last commit is younger than this, else begin a new one (default: 1d)',
  },
  sameProject: {
    about: 'state',
    isForOneRun: true,
    help: 'resume with a new API key of the same project',
  },
  onExpired: {
    value: '<what>',
    read: ['fail', 'restart-partition'],
    about: 'state',
    help: 'when a cursor has expired: fail, or fetch its partition again (default: fail)',
  },
  requireTotal: {
    help: 'fail if the API lists fewer rows than it counts, or does not say how many there are',
    off: 'remove rows with --mode replace although the API counts more than it lists: its total counts something else',
  },
  'requireTotal of a run': {
    isOff: true,
    help: 'remove rows of a table with --mode replace although the API counts more than it lists: its total counts something else',
  },
  breakLock: {
    about: 'state',
    isForOneRun: true,
    help: 'break the lock of a process that cannot be checked from here, e.g. in another container',
  },
  trustFilesystem: { about: 'state', help: 'allow the state on a network file system, at your own risk' },
  'trustFilesystem of a run': {
    help: 'allow a network file system, which must have exclusive links and durable syncs',
  },
  'trustFilesystem of letters': { help: 'allow a network file system, at your own risk' },
  commitEvery: {
    ...number,
    about: 'state',
    help: 'commit every n pages (default: once per second, at least every 200 pages)',
  },

  every: { ...span, help: 'interval between polls (default: 30s)' },
  jitter: {
    value: '<share>',
    read: parseNumber,
    help: 'delay each poll at random by up to this share of the interval, 0 to 1 (default: 0)',
  },
  polls: { ...number, isForOneRun: true, help: 'stop after this many polls (default: never)' },
  maxFailures: { ...number, help: 'stop after more consecutive failed polls than this (default: never)' },
  acceptRemovals: {
    isForOneRun: true,
    help: 'report removals at once, even if the listing shrank suspiciously',
  },

  redis: {
    ...url,
    variable: redisVariable,
    help: `URL of Redis without a password [env: ${redisVariable}, with or without one] (default: redis://127.0.0.1:6379)`,
  },
  redisUrlFile: { ...file, help: 'file with the URL of Redis, if it has a password' },
  'concurrency of a worker': { ...number, help: 'partitions of a run fetched in parallel (default: 4)' },
  limit: { value: '<name>', help: 'name of the rate limit that all workers share (default: api)' },
  'rate of workers': {
    value: '<rate>',
    read: parseRate,
    help: 'maximum request rate of all workers together: 25/s, 100/m or unlimited (default: that of the limit, or 5/s)',
  },
  untilDone: { isForOneRun: true, help: 'end when no run is left to work on, instead of waiting for one' },
  wait: { isForOneRun: true, help: 'wait until the run has ended' },
  set: { value: '<rate>', read: parseRate, isForOneRun: true, help: 'change the limit for all: 25/s, 100/m or 3600/h' },
  'progress of a worker': { value: '<mode>', read: ['plain', 'json'], help: 'how to show progress (default: plain)' },

  streamsUrl: {
    ...url,
    variable: apis.streams.variable,
    help: `base URL of the streams API [env: ${apis.streams.variable}]`,
  },
  aptosUrl: {
    ...url,
    variable: apis.aptos.variable,
    help: `base URL of the Aptos NFT API [env: ${apis.aptos.variable}]`,
  },
  apiKeyFile: {
    ...file,
    variable: keyVariable,
    help: `file with the API key, - for stdin [env: ${keyVariable}, the key itself]`,
  },
  rate: {
    value: '<rate>',
    read: parseRate,
    help: 'maximum request rate, besides limits of a plugin: 25/s, 100/m or unlimited (default: 5/s)',
  },
  timeout: { ...span, help: 'maximum time for one response (default: 30s)' },
  'timeout of letters': { ...span, help: 'maximum time for one response (default: 15s)' },
  retryFor: { ...retry, help: `${retryHelp} (default: 1m; in a watch: forever)` },
  maxRetryAfter: {
    ...span,
    help: 'longest pause that the service may request; a longer one is an error (default: 1m, or --retry-for if that is more)',
  },
  'retryFor of letters': { ...retry, help: `${retryHelp} (default: 1m)` },
  config: {
    ...file,
    isForOneRun: true,
    help: 'configuration file with plugins and defaults (default: sluice.config.js, .mjs, .ts or .json in this folder)',
    off: 'ignore the configuration in this folder',
  },

  progress: {
    value: '<mode>',
    read: progressModes,
    help: 'how to show progress (default: bar on a terminal, else plain)',
  },
  'progress of a watch': {
    value: '<mode>',
    read: ['plain', 'json'],
    help: 'notable events as lines, or each poll as JSON (default: plain)',
  },
  'progress of letters': { value: '<mode>', read: ['plain', 'json'], help: 'how to show progress (default: plain)' },
  dashboard: {
    value: '[port]',
    read: parsePort,
    isForOneRun: true,
    help: 'show a local page of the run, whose address is printed (default port: any free one); needs @sluice/dashboard',
  },
  quiet: { help: 'show only errors' },
  json: { help: 'print one JSON object, for programs' },
  'quiet of doctor': { help: 'show only failures' },

  port: { ...number, help: 'port on 127.0.0.1 (default: any free one)' },
  seed: { ...number, help: 'the same seed gives the same rows (default: 1)' },
  holdings: { ...number, help: 'NFT holdings of all wallets together (default: 12345)' },
  owners: { ...number, help: 'wallets (default: 3)' },
  streams: { ...number, help: 'EVM streams (default: 42)' },
  nasty: { value: '<share>', read: parseNumber, help: 'share of rows with unusual values, 0 to 1 (default: 0.2)' },
  shape: {
    value: '<name>',
    read: ['live', 'reference'],
    help: 'response shape: like the live service, or like the API reference (default: live)',
  },
  rateLimit: {
    value: '<rate>',
    read: parseRate,
    help: 'respond with 429 above this rate, e.g. 50/s (default: unlimited)',
  },
  latency: { value: '<duration>', read: parseLatency, help: 'delay before each response: 25ms or 5ms..40ms' },
  cursorTtl: { ...span, help: 'respond with 400 to cursors older than this, e.g. 5m' },
  fail: { value: '<shares>', read: parseShares, help: 'inject faults at these rates: serverError=0.05,reset=0.01' },
  statusEvery: { value: '<duration>', read: parseDuration, help: 'time between status changes of a stream, e.g. 5s' },
  cors: { help: 'allow requests from web pages of any origin (CORS)' },
} as const satisfies Readonly<Record<string, OptionSpec>>;

export type OptionKey = keyof typeof table;

type NameOf<Key> = Key extends `${infer Name} of ${string}` ? Name : Key;

type ValueOf<Spec> = Spec extends { readonly off: string; readonly value: string }
  ? string | boolean
  : Spec extends { readonly value: `[${string}]`; readonly read: (...args: never) => infer Value }
    ? Value | true
    : Spec extends { readonly read: (...args: never) => infer Value }
      ? Value
      : Spec extends { readonly read: readonly (infer Choice)[] }
        ? Choice
        : Spec extends { readonly value: string }
          ? string
          : boolean;

/** The values of options, as commander passes them to a command. Absent if not given. */
export type OptionsOf<Key extends OptionKey> = { readonly [K in Key as NameOf<K>]?: ValueOf<(typeof table)[K]> };

/** Options that are about a single run. */
export type OptionForOneRun = {
  [K in OptionKey]: (typeof table)[K] extends { readonly isForOneRun: true } ? K : never;
}[OptionKey];

const specs: ReadonlyMap<string, OptionSpec> = new Map(Object.entries(table));

/** The table's entry for an option. */
export function optionSpec(key: string): OptionSpec | undefined {
  return specs.get(key);
}

/** The flag of the first given option that is about this subject. */
export function flagAbout(subject: OptionSubject, options: object): string | undefined {
  for (const [name, value] of Object.entries(options)) {
    const { about, isOff } = specs.get(name) ?? {};
    // An option that is on by default counts as given only if it is off.
    if (about === subject && value !== undefined && !(isOff && value === true)) return flagFor(name, isOff);
  }
  return undefined;
}

/** @example flagFor('pageSize') // '--page-size'; flagFor('guardFormulas', true) // '--no-guard-formulas' */
export function flagFor(name: string, isOff = false): string {
  return flagOf(isOff ? `no-${name}` : name);
}
