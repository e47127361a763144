import type { Command } from 'commander';
import { createFlags } from './flags.js';
import { nameFlag, type Option, type OptionSubject } from './option.js';
import { groups, type OptionGroup, type ValuesOf } from './options.js';

/** How a command is called. */
export interface CommandLine {
  readonly help: string;
  /** Help of its arguments, or their choices, by `<name>`, or `[name]` if it may be left out. */
  readonly takes?: Readonly<Record<string, string | readonly string[]>>;
  /** In the order of the help. */
  readonly options: readonly OptionGroup[];
  /** What people do with it. */
  readonly examples: readonly [string, string, ...string[]];
}

const exportTo = [groups.target, groups.forward, groups.resume];
const watchTo = [groups.polls, groups.changeTarget, groups.forwardChanges, groups.watchState];

const source = {
  '<source>': 'API.SOURCE, e.g. streams.list; "sluice sources" lists them; with --help, the flags of its parameters',
};
const runName = 'the name of a run, or the path of its folder (./FOLDER)';
const run = { '<run>': runName };
const deadLetters = { '<file>': 'file of dead letters, or the --state postgres://…?name=NAME that has them' };

/** All commands, in the order of the help. */
export const commands = {
  demo: {
    help: 'run a tour against a local sandbox; needs no API key',
    options: [groups.dashboard],
    examples: ['sluice demo', 'sluice demo --dashboard'],
  },
  'nfts export': {
    help: 'write holdings to a file, or forward them to a webhook',
    options: [
      groups.holdings,
      ...exportTo,
      groups.aptosConnection,
      groups.progress,
      groups.monitoring,
      groups.dashboard,
    ],
    examples: [
      'sluice nfts export --owner 0x1 --to holdings.csv',
      'sluice nfts export --owners-file wallets.txt --concurrency 4 --rate 25/s --to holdings.sqlite#nfts',
    ],
  },
  'nfts watch': {
    help: 'report every change of holdings',
    options: [
      groups.watchedHoldings,
      ...watchTo,
      groups.aptosConnection,
      groups.watchProgress,
      groups.monitoring,
      groups.dashboard,
    ],
    examples: [
      'sluice nfts watch --owner 0x1 --every 1m',
      'sluice nfts watch --owner 0x1 --to changes.jsonl --format jsonl',
    ],
  },
  'streams list': {
    help: 'show all streams with their status',
    options: [groups.streamList, groups.streamsConnection, groups.progress],
    examples: ['sluice streams list', 'sluice streams list --format csv --columns id,status'],
  },
  'streams export': {
    help: 'write streams to a file, or forward them to a webhook',
    options: [
      groups.streams,
      ...exportTo,
      groups.streamsConnection,
      groups.progress,
      groups.monitoring,
      groups.dashboard,
    ],
    examples: [
      'sluice streams export --to streams.jsonl.gz',
      'sluice streams export --to streams.sqlite --mode merge --key-columns id',
    ],
  },
  'streams watch': {
    help: 'report every change of streams, e.g. of their status',
    options: [
      groups.watchedStreams,
      ...watchTo,
      groups.streamsConnection,
      groups.watchProgress,
      groups.monitoring,
      groups.dashboard,
    ],
    examples: [
      'sluice streams watch --only status',
      'sluice streams watch --forward https://hooks.example.com/streams --secret-file secret.txt',
    ],
  },
  export: {
    help: 'export any source, including those of plugins, to any target',
    takes: source,
    options: [groups.rows, ...exportTo, groups.connection, groups.progress, groups.monitoring, groups.dashboard],
    examples: [
      'sluice export streams.list --to streams.csv',
      'sluice export coins.markets --param currency=usd --to sqlite:coins.db',
    ],
  },
  watch: {
    help: 'report every change of any source, including those of plugins',
    takes: source,
    options: [
      groups.watchedRows,
      ...watchTo,
      groups.connection,
      groups.watchProgress,
      groups.monitoring,
      groups.dashboard,
    ],
    examples: ['sluice watch streams.list --every 30s', 'sluice watch coins.markets --param currency=usd --key id'],
  },
  sources: {
    help: 'list the sources that "sluice export" and "sluice watch" accept, or explain one',
    takes: { '[name]': 'API or API.SOURCE: its parameters, credentials, limits, paging and columns' },
    options: [groups.sources],
    examples: ['sluice sources', 'sluice sources aptos.nfts'],
  },
  get: {
    help: 'send one request to an API, and print its JSON',
    takes: {
      '<api>': 'the name of an API, e.g. streams; "sluice sources" lists what there is',
      '<path>': 'below the base URL, e.g. /rate_limit',
    },
    options: [groups.request, groups.connection],
    examples: ['sluice get streams /streams/evm --param limit=10', 'sluice get coins /v1/markets --param currency=usd'],
  },
  report: {
    help: 'write an HTML page about the rows of a file or a table: counts, collections, times, empty columns; or about a history',
    takes: {
      '<file>':
        'what an export wrote: FILE.csv or FILE.jsonl (also with .gz), FILE.parquet, FILE.sqlite#TABLE or postgres://user@host/database?table=TABLE',
    },
    options: [groups.report],
    examples: [
      'sluice report holdings.csv',
      'sluice report holdings.sqlite#nfts --to report.html --if-exists overwrite',
    ],
  },
  log: {
    help: 'print the changes that a history has, as "sluice watch" prints them',
    takes: { '<table>': 'FILE.sqlite#TABLE or postgres://user@host/database?table=TABLE' },
    options: [groups.history],
    examples: [
      'sluice log streams.sqlite#streams --since 1d',
      'sluice log streams.sqlite#streams --key 7 --format jsonl',
    ],
  },
  'history compact': {
    help: 'remove the versions of a history that ended long ago',
    takes: { '<table>': 'FILE.sqlite#TABLE or postgres://user@host/database?table=TABLE' },
    options: [groups.compact],
    examples: [
      'sluice history compact streams.sqlite#streams --keep 90d',
      "sluice history compact 'postgres://me@db.example.com/app?table=streams' --keep 365d",
    ],
  },
  'dlq show': {
    help: 'list dead letters with the responses to them, without changing anything',
    takes: deadLetters,
    options: [groups.letters],
    examples: [
      'sluice dlq show hooks.example.com.dead.jsonl',
      'sluice dlq show hooks.example.com.dead.jsonl --format json',
    ],
  },
  'dlq replay': {
    help: 'send dead letters again',
    takes: deadLetters,
    options: [groups.letterTarget, groups.letterState, groups.lineProgress],
    examples: [
      'sluice dlq replay hooks.example.com.dead.jsonl',
      'sluice dlq replay hooks.example.com.dead.jsonl --to https://hooks.example.com/new --secret-file secret.txt',
    ],
  },
  'checkpoint show': {
    help: 'explain the state, without changing anything',
    takes: {
      '<file>':
        'the target file or table, its .sluice folder, the checkpoint in it, postgres://…?name=NAME, or NAME:TARGET of a plugin',
    },
    options: [groups.checkpoint],
    examples: ['sluice checkpoint show holdings.csv', 'sluice checkpoint show holdings.sqlite#nfts --format json'],
  },
  'cluster submit nfts export': {
    help: 'the holdings of Aptos wallets',
    options: [groups.plannedHoldings, groups.run, groups.redis, groups.plannedAptosConnection],
    examples: [
      'sluice cluster submit nfts export --owners-file wallets.txt --to /mnt/out/holdings',
      'sluice cluster submit nfts export --owner 0x1 0x2 --owners-per-request 1 --to ./holdings --name night',
    ],
  },
  'cluster submit export': {
    help: 'the rows of any source, including those of plugins',
    takes: source,
    options: [groups.plannedRows, groups.run, groups.redis, groups.plannedConnection],
    examples: [
      'sluice cluster submit export streams.list --to /mnt/out/streams',
      'sluice cluster submit export coins.markets --param currency=usd --to /mnt/out/coins',
    ],
  },
  'cluster work': {
    help: 'work on all runs, until SIGTERM',
    options: [
      groups.work,
      groups.sharedLimit,
      groups.redis,
      groups.workerConnection,
      groups.lineProgress,
      groups.workerMonitoring,
    ],
    examples: ['sluice cluster work --rate 25/s', 'sluice cluster work --concurrency 8 --until-done'],
  },
  'cluster status': {
    help: 'show how far a run is and who works on it, or list all runs',
    takes: { '[run]': runName },
    options: [groups.status, groups.redis, groups.dashboard],
    examples: ['sluice cluster status', 'sluice cluster status holdings --wait'],
  },
  'cluster merge': {
    help: 'write the rows of a finished run to one target',
    takes: run,
    options: [groups.target, groups.mergedRows, groups.resume, groups.redis, groups.progress, groups.workerMonitoring],
    examples: [
      'sluice cluster merge holdings --to holdings.csv',
      'sluice cluster merge ./holdings --to holdings.parquet',
    ],
  },
  'cluster cancel': {
    help: 'stop a run for good: nothing more is committed',
    takes: run,
    options: [groups.redis],
    examples: ['sluice cluster cancel holdings', 'sluice cluster cancel ./holdings'],
  },
  'cluster clean': {
    help: 'remove what interrupted workers left behind, and forget a run that ended',
    takes: run,
    options: [groups.redis],
    examples: ['sluice cluster clean holdings', 'sluice cluster clean ./holdings'],
  },
  'cluster limit': {
    help: 'show the rate limit that workers share, or change it for all',
    takes: { '<name>': 'the name of the limit; that of workers is "api" by default' },
    options: [groups.limit, groups.redis],
    examples: ['sluice cluster limit api', 'sluice cluster limit api --set 50/s'],
  },
  sandbox: {
    help: 'run a local server that simulates both APIs',
    options: [groups.server, groups.served, groups.faults],
    examples: ['sluice sandbox', 'sluice sandbox --port 4010 --rate-limit 50/s --fail serverError=0.05,reset=0.01'],
  },
  new: {
    help: 'draft the definition of an API from one of its responses, or from its OpenAPI description',
    takes: { '<name>': 'the name of the API, e.g. coins' },
    options: [groups.draft],
    examples: [
      'sluice new coins --from "https://api.example.com/v1/markets?limit=100"',
      'sluice new shop --from openapi.json --paths /orders,/customers --header-file headers.txt',
    ],
  },
  doctor: {
    help: 'check the settings, and request one row from each API in use',
    options: [groups.connection, groups.findings],
    examples: ['sluice doctor', 'sluice doctor --json'],
  },
  completion: {
    help: 'print a script that completes commands and options in a shell',
    takes: { '<shell>': ['bash', 'zsh', 'fish'] },
    options: [],
    examples: ['source <(sluice completion bash)', 'sluice completion fish > ~/.config/fish/completions/sluice.fish'],
  },
} as const satisfies Readonly<Record<string, CommandLine>>;

/** The help of words that begin commands. */
export const commandGroups: Readonly<Record<string, string>> = {
  nfts: 'export or watch the NFTs of Aptos wallets',
  streams: 'list, export or watch the EVM streams of a project',
  history: 'keep a table of versions small',
  dlq: 'show or resend dead letters: records that a webhook refused',
  checkpoint: 'show the state of an interrupted export, or of a watch',
  cluster: 'export with several machines; needs @sluice/cluster and Redis',
  'cluster submit': 'let workers do an export',
  'cluster submit nfts': 'the NFTs of Aptos wallets',
};

/** A command, e.g. `nfts export`. */
export type CommandName = keyof typeof commands;

/** The values of arguments by their names. */
type ArgumentsOf<Line> = Line extends { readonly takes: infer Takes }
  ? { readonly [Key in keyof Takes as Key extends `<${infer Name}>` ? Name : never]: string } & {
      readonly [Key in keyof Takes as Key extends `[${infer Name}]` ? Name : never]?: string;
    }
  : unknown;

/** The options and arguments of a command; absent if not given. */
export type CommandOptions<Name extends CommandName> = ValuesOf<(typeof commands)[Name]['options'][number]> &
  ArgumentsOf<(typeof commands)[Name]>;

type AnyGroup = (typeof commands)[CommandName]['options'][number];

/** The values of options by name, whatever the command. */
export type OptionsOf<Name extends keyof ValuesOf<AnyGroup>> = Pick<ValuesOf<AnyGroup>, Name>;

const lines: ReadonlyMap<string, CommandLine> = new Map(Object.entries(commands));

/** The options of all commands by name, whose traits do not depend on the command. */
const named: ReadonlyMap<string, Option<unknown>> = new Map(
  [...lines.values()].flatMap(({ options }) => options.flatMap((each) => Object.entries(each.options))),
);

/** An option of this name; `undefined` if no command has one. */
export function findOption(name: string): Option<unknown> | undefined {
  return named.get(name);
}

/** The flag of the first given option that is about this subject. */
export function flagAbout(subject: OptionSubject, options: object): string | undefined {
  for (const [name, value] of Object.entries(options)) {
    const option = named.get(name);
    // An option that is on by default counts as given only if it is off.
    if (option?.about === subject && value !== undefined && !(option.isOff && value === true))
      return nameFlag(name, option);
  }
  return undefined;
}

/** How a command is called; `undefined` if there is none of this name. */
export function findCommand(name: string): CommandLine | undefined {
  return lines.get(name);
}

/** Adds the options of a command, under their headings. */
export function addOptions(command: Command, name: string): Command {
  for (const { heading, options } of lines.get(name)?.options ?? []) {
    command.optionsGroup(heading);
    for (const [option, spec] of Object.entries(options))
      for (const each of createFlags(option, spec)) command.addOption(each);
  }
  return command;
}

/** Tells the flags that a command line's command has; all, if it calls none that has options. */
export function flagsKnownTo(args: readonly string[]): (flag: string) => boolean {
  // Its advice is for the export whose checkpoint it shows.
  if (args[0] === 'checkpoint') return () => true;
  const name = [...lines.keys()].find((each) => each.split(' ').every((word, at) => word === args[at]));
  const flags = lines
    .get(name ?? '')
    ?.options.flatMap(({ options }) => Object.entries(options).flatMap(([name, option]) => createFlags(name, option)))
    .map(({ long }) => long);
  return (flag) => flags?.includes(flag) ?? true;
}
