import { flagOf } from '../errors/cliTerms.js';
import { apis } from '../input/baseUrl.js';
import { keyVariable, secretVariable } from '../input/secrets.js';
import { progressModes } from '../progress/reporter.js';
import {
  collect,
  collectLists,
  parseDuration,
  parseLatency,
  parseList,
  parseNumber,
  parseRate,
  parseRetryFor,
  parseShares,
  parseSpan,
} from './parse.js';

/** An option of the command line. */
interface OptionSpec {
  /** What stands behind the flag; absent for a switch. */
  readonly value?: `<${string}>`;
  /** Reads the value; an array lists the choices. Default: any text. */
  readonly read?: ((text: string, before: readonly string[] | undefined) => unknown) | readonly string[];
  readonly help: string;
  /** The switch turns off what is on by default: `--no-NAME`. */
  readonly isOff?: true;
  /** Help of a second flag, `--no-NAME`. */
  readonly off?: string;
  /** It says what a single run does, so it cannot be a default: whoever finds it in a file later would not expect it. */
  readonly isForOneRun?: true;
  /** It makes sense only for such a target, or only where state is kept. */
  readonly about?: OptionSubject;
  /** The environment variable that sets the same, and takes precedence over a default. */
  readonly variable?: string;
}

/** What an option can be about, besides what is fetched. */
export type OptionSubject = 'file' | 'webhook' | 'state';

const number = { value: '<n>', read: parseNumber } as const;
const file = { value: '<file>' } as const;
const list = { read: parseList } as const;
const span = { value: '<duration>', read: parseSpan } as const;
const url = { value: '<url>' } as const;
const ifExists = { value: '<what>', read: ['fail', 'overwrite'] } as const;
const show = { value: '<format>', read: ['text', 'json'], help: 'how to show them (default: text)' } as const;
const retry = { value: '<duration>', read: parseRetryFor } as const;
const retryHelp =
  'how long an outage is waited out before it ends the command, not counting pauses that the service asks for: 2m, 0s or forever';

/**
 * All options, by the names that commander gives their values; `NAME of WHAT` is how a command has it where that differs. Everything
 * else about options is derived: flags, help, the types of what commands take, and what the defaults of a configuration may set.
 */
const table = {
  owner: { value: '<address...>', read: collect, help: 'wallets, 0x and up to 64 hex digits' },
  ownersFile: { ...file, help: 'wallets, one a line, # begins a comment, - for stdin' },
  includeCollections: { value: '<hashes>', ...list, help: 'only these collections: a,b,c' },
  excludeCollections: { value: '<hashes>', ...list, help: 'all but these collections: a,b,c' },
  ownersPerRequest: { ...number, help: 'wallets in one group, asked for together (default: 10)' },
  pageSize: { ...number, help: 'rows a request (default: 100)' },
  'pageSize of any source': { ...number, help: 'rows a request (default: as the source says)' },
  'pageSize of streams': { ...number, help: 'rows a request, 1 to 100 (default: 100)' },
  concurrency: { ...number, help: 'partitions fetched at once (default: 1)' },
  'concurrency of wallets': { ...number, help: 'groups of wallets fetched at once (default: 1)' },
  maxRows: { ...number, isForOneRun: true, help: 'end after so many rows' },
  offset: { ...number, isForOneRun: true, help: 'rows to skip at the beginning' },
  param: {
    ...{ value: '<name=value>', read: collect, isForOneRun: true },
    help: 'what the source is asked for, name:=JSON for anything but text; also several times',
  },
  key: { value: '<columns>', ...list, help: 'what tells one row from another: a,b (default: as the source says)' },
  only: { value: '<what>', read: ['status'], help: 'only changes of status and its message (default: all)' },

  to: {
    ...{ value: '<target>', isForOneRun: true },
    help: "F.csv, F.jsonl, either with .gz, - for stdout, or NAME:TARGET for a plugin's sink",
  },
  'to of changes': {
    value: '<target>',
    help: "append to F.jsonl, each change once, or NAME:TARGET for a plugin's sink (default: stdout, each at least once)",
  },
  'to of letters': { ...url, help: 'the address of the service, which may be another one than before' },
  format: { value: '<format>', read: ['csv', 'jsonl'], about: 'file', help: 'where the name does not say it' },
  'format of changes': {
    value: '<format>',
    read: ['text', 'jsonl'],
    help: 'text for people, jsonl for programs (default: text)',
  },
  'format of a table': {
    value: '<format>',
    read: ['table', 'csv', 'jsonl'],
    help: 'how to show them (default: table on a terminal, else csv)',
  },
  'format of a list': show,
  'format of a report': { ...show, help: 'how to show it (default: text)' },
  columns: { value: '<names>', ...list, about: 'file', help: 'only these, in this order: a,b,c' },
  gzip: { about: 'file', help: 'compress, whatever the name says' },
  ifExists: { ...ifExists, about: 'file', help: 'what to do where the file is there (default: fail)' },
  'ifExists of changes': { ...ifExists, help: 'where --to names a file that is not of this watch (default: fail)' },
  guardFormulas: { about: 'file', isOff: true, help: 'CSV: leave text that a spreadsheet would run as it is' },
  extra: { about: 'file', help: 'CSV: a last column with the fields that are not known, as JSON' },
  bom: { about: 'file', help: 'CSV: begin with a byte order mark, for old spreadsheets' },

  forward: {
    ...{ ...url, isForOneRun: true },
    help: 'post each row there as JSON, signed as Standard Webhooks says, until it is taken',
  },
  'forward of changes': {
    ...url,
    help: 'post each change there as JSON, signed as Standard Webhooks says, until it is taken',
  },
  secretFile: {
    ...{ ...file, about: 'webhook', variable: secretVariable },
    help: `file that holds the signing secret, or two on a line each, - for stdin [env: ${secretVariable} holds it itself]`,
  },
  headerFile: {
    ...{ ...file, about: 'webhook' },
    help: 'file with headers to send along, one a line, like Authorization: Bearer TOKEN',
  },
  allowAddress: {
    ...{ value: '<list>', read: collectLists, about: 'webhook' },
    help: 'hosts, addresses or CIDRs that may be private, or without https: a,b,c; also several times',
  },
  deliveries: { ...number, about: 'webhook', help: 'requests under way at once (default: 8)' },
  'deliveries of letters': { ...number, help: 'requests under way at once (default: 1)' },
  batch: { ...number, about: 'webhook', help: 'records in one request (default: one, by itself)' },
  deadLetters: {
    ...{ ...file, about: 'webhook', isForOneRun: true },
    help: 'keeps what the service refuses for good (default: HOST.dead.jsonl here)',
  },
  maxDeadLetters: { ...number, about: 'webhook', help: 'more of them end it (default: 100)' },
  onDead: {
    value: '<what>',
    read: ['continue', 'park'],
    about: 'webhook',
    help: 'later records with the key of a dead letter: continue, or park them too (default: continue)',
  },

  state: {
    ...{ value: '<folder>', isForOneRun: true },
    help: "with --forward or a plugin's sink: keep there what is needed to go on, or NAME:TARGET of a plugin's store (default: HOST.sluice here, or NAME.TARGET.sluice)",
  },
  'state of a watch': {
    value: '<folder>',
    help: 'keep there what is known, also NAME:TARGET of a plugin (default: FILE.sluice or HOST.sluice here, for stdout nowhere)',
  },
  restart: { about: 'state', isForOneRun: true, help: 'start over, whatever an earlier run left behind' },
  'restart of a watch': { help: 'forget what is known, and begin anew' },
  sameProject: {
    ...{ about: 'state', isForOneRun: true },
    help: 'go on with another key: a new one of the same project',
  },
  'sameProject of a watch': { help: 'go on although the key is another one: a new key of the same project' },
  onExpired: {
    value: '<what>',
    read: ['fail', 'restart-partition'],
    about: 'state',
    help: 'where a cursor expired: fail, or do that part over (default: fail)',
  },
  breakLock: {
    ...{ about: 'state', isForOneRun: true },
    help: 'take the lock from a process that can not be seen from here',
  },
  trustFilesystem: { about: 'state', help: 'keep the state on a network file system too, at your own risk' },
  'trustFilesystem of letters': { help: 'work on a network file system too, at your own risk' },
  commitEvery: {
    ...{ ...number, about: 'state' },
    help: 'pages between two commits (default: a second of them, 200 at most)',
  },

  every: { ...span, help: 'from one poll to the next (default: 30s)' },
  jitter: {
    ...{ value: '<share>', read: parseNumber },
    help: 'put each poll off by up to this share of it, 0 to 1 (default: 0)',
  },
  polls: { ...number, isForOneRun: true, help: 'end after so many polls (default: never)' },
  maxFailures: { ...number, help: 'failed polls in a row that are survived (default: any number)' },
  acceptRemovals: {
    isForOneRun: true,
    help: 'believe that rows are gone, also where the listing shrank suspiciously',
  },

  streamsUrl: {
    ...{ ...url, variable: apis.streams.variable },
    help: `base address of the streams interface [env: ${apis.streams.variable}]`,
  },
  aptosUrl: {
    ...{ ...url, variable: apis.aptos.variable },
    help: `base address of the Aptos NFT interface [env: ${apis.aptos.variable}]`,
  },
  apiKeyFile: {
    ...{ ...file, variable: keyVariable },
    help: `file that holds the API key, - for stdin [env: ${keyVariable} holds the key itself]`,
  },
  rate: { value: '<rate>', read: parseRate, help: 'most requests: 25/s, 100/m or unlimited (default: 5/s)' },
  timeout: { ...span, help: 'longest time for one answer (default: 30s)' },
  'timeout of letters': { ...span, help: 'longest time for one answer (default: 15s)' },
  retryFor: { ...retry, help: `${retryHelp} (default: 1m, and forever where it watches)` },
  'retryFor of letters': { ...retry, help: `${retryHelp} (default: 1m)` },
  config: {
    ...{ ...file, isForOneRun: true },
    help: 'plugins and defaults (default: sluice.config.js, .mjs, .ts or .json in this folder)',
    off: 'none of them, whatever lies in this folder',
  },

  progress: {
    ...{ value: '<mode>', read: progressModes },
    help: 'how it is shown (default: bar on a terminal, else plain)',
  },
  'progress of a watch': {
    value: '<mode>',
    read: ['plain', 'json'],
    help: 'lines where there is something to say, or each poll as JSON (default: plain)',
  },
  'progress of letters': { value: '<mode>', read: ['plain', 'json'], help: 'how it is shown (default: plain)' },
  quiet: { help: 'nothing but faults' },
  'quiet of doctor': { help: 'only what fails' },

  port: { ...number, help: 'port on 127.0.0.1 (default: any free one)' },
  seed: { ...number, help: 'the same seed gives the same rows (default: 1)' },
  holdings: { ...number, help: 'NFT holdings over all owners (default: 12345)' },
  owners: { ...number, help: 'wallets that hold them (default: 3)' },
  streams: { ...number, help: 'streams of the project (default: 42)' },
  nasty: { value: '<share>', read: parseNumber, help: 'rows with awkward values, 0 to 1 (default: 0.2)' },
  shape: {
    value: '<name>',
    read: ['live', 'reference'],
    help: "answers as the live service gives them, or as the API's reference shows them (default: live)",
  },
  rateLimit: { value: '<rate>', read: parseRate, help: '429 beyond so many requests: 50/s (default: unlimited)' },
  latency: { value: '<duration>', read: parseLatency, help: 'before each answer: 25ms or 5ms..40ms' },
  cursorTtl: { ...span, help: '400 for cursors that are older: 5m' },
  fail: { value: '<shares>', read: parseShares, help: 'faults by rate: serverError=0.05,reset=0.01' },
  statusEvery: { value: '<duration>', read: parseDuration, help: 'how often a stream changes its status: 5s' },
  cors: { help: 'answers pages of any origin, as browsers want it' },
} as const satisfies Readonly<Record<string, OptionSpec>>;

/** A row of the table. */
export type OptionKey = keyof typeof table;

type NameOf<Key> = Key extends `${infer Name} of ${string}` ? Name : Key;

type ValueOf<Spec> = Spec extends { readonly off: string }
  ? string | boolean
  : Spec extends { readonly read: (...args: never) => infer Value }
    ? Value
    : Spec extends { readonly read: readonly (infer Choice)[] }
      ? Choice
      : Spec extends { readonly value: string }
        ? string
        : boolean;

/** The values of options, as commander hands them to a command; an option that was not given is absent. */
export type OptionsOf<Key extends OptionKey> = { readonly [K in Key as NameOf<K>]?: ValueOf<(typeof table)[K]> };

/** Names of options that say what a single run does. */
export type OptionForOneRun = {
  [K in OptionKey]: (typeof table)[K] extends { readonly isForOneRun: true } ? K : never;
}[OptionKey];

const specs: ReadonlyMap<string, OptionSpec> = new Map(Object.entries(table));

/** What the table says of an option; of one by its plain name what holds for it in every command. */
export function optionSpec(key: string): OptionSpec | undefined {
  return specs.get(key);
}

/** The first option given that is about this, as a flag. */
export function flagAbout(subject: OptionSubject, options: object): string | undefined {
  for (const [name, value] of Object.entries(options)) {
    const { about, isOff } = specs.get(name) ?? {};
    // What is on by default is given once it is off.
    if (about === subject && value !== undefined && !(isOff && value === true)) return flagFor(name, isOff);
  }
  return undefined;
}

/** @example flagFor('pageSize') // '--page-size'; flagFor('guardFormulas', true) // '--no-guard-formulas' */
export function flagFor(name: string, isOff = false): string {
  return flagOf(isOff ? `no-${name}` : name);
}
