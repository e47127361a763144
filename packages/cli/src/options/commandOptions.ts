import { type Command, InvalidArgumentError, Option } from 'commander';
import { UsageError } from '../errors/errors.js';
import { flagFor, type OptionKey, optionSpec, type OptionsOf } from './table.js';

/** Options under one heading in the help. */
interface Group<Key extends OptionKey> {
  readonly heading: string;
  readonly keys: readonly Key[];
}

function group<const Key extends OptionKey>(heading: string, ...keys: readonly Key[]): Group<Key> {
  return { heading, keys };
}

const wallets = ['owner', 'ownersFile', 'includeCollections', 'excludeCollections', 'pageSize'] as const;
const grouped = ['ownersPerRequest', 'concurrency of wallets'] as const;
const anyRows = ['param', 'pageSize of any source', 'concurrency'] as const;
const webhook = ['secretFile', 'headerFile', 'allowAddress'] as const;
const delivery = ['deliveries', 'batch', 'deadLetters', 'maxDeadLetters', 'onDead'] as const;
const ownApi = ['apiKeyFile', 'timeout', 'retryFor', 'maxRetryAfter', 'config'] as const;
/** Of an API that is not requested. */
const plannedApi = ['apiKeyFile', 'config'] as const;
const api = ['apiKeyFile', 'rate', 'timeout', 'retryFor', 'maxRetryAfter', 'config'] as const;

/** Groups that several commands have. */
const groups = {
  target: group(
    'Target:',
    ...([
      'to',
      'format',
      'columns',
      'gzip',
      'ifExists',
      'guardFormulas',
      'extra',
      'bom',
      'strictTypes',
      'mode',
      'keyColumns',
      'schema',
    ] as const),
  ),
  changeTarget: group(
    'Target:',
    ...(['format of changes', 'to of changes', 'ifExists of changes'] as const),
    ...(['columns of changes', 'keyColumns of changes', 'deletedAt', 'schema'] as const),
  ),
  forward: group('Or forward to a webhook (instead of --to):', 'forward', ...webhook, ...delivery),
  forwardChanges: group('Or forward to a webhook (instead of --to):', 'forward of changes', ...webhook, ...delivery),
  resume: group(
    'Resuming (run the same command again):',
    ...([
      'state',
      'restart',
      'resumeWithin',
      'sameProject',
      'onExpired',
      'breakLock',
      'trustFilesystem',
      'commitEvery',
    ] as const),
  ),
  polls: group('Polls:', 'every', 'jitter', 'polls', 'maxFailures', 'acceptRemovals'),
  watchState: group(
    'State (run the same command to resume):',
    ...(['state of a watch', 'restart', 'sameProject', 'breakLock', 'trustFilesystem'] as const),
  ),
  anyApi: group('Connection:', 'streamsUrl', 'aptosUrl', ...api),
  streamsApi: group('Connection:', 'streamsUrl', ...api),
  aptosApi: group('Connection:', 'aptosUrl', ...api),
  progress: group('Progress, on stderr:', 'progress', 'quiet'),
  run: group(
    'Run (the same command again resumes it):',
    'to of a run',
    'name',
    'trustFilesystem of a run',
    'mode',
    'keyColumns',
    'columns',
    'schema',
    'requireTotal of a run',
  ),
  redis: group('Redis:', 'redis', 'redisUrlFile'),
  dashboard: group('Dashboard:', 'dashboard'),
  watchProgress: group('Progress, on stderr:', 'progress of a watch', 'quiet'),
};

const exportTo = [groups.target, groups.forward, groups.resume];
const watchTo = [groups.polls, groups.changeTarget, groups.forwardChanges, groups.watchState];

const submitTo = [groups.run, groups.redis];

/** The options of each command, in the order of its help. */
const commandOptions = {
  demo: [groups.dashboard],
  'nfts export': [
    group('Which holdings:', ...wallets, ...grouped, 'maxRows', 'requireTotal', 'offset'),
    ...exportTo,
    groups.aptosApi,
    groups.progress,
    groups.dashboard,
  ],
  'nfts watch': [
    group('Which holdings:', ...wallets, ...grouped),
    ...watchTo,
    groups.aptosApi,
    groups.watchProgress,
    groups.dashboard,
  ],
  'streams list': [
    group('Options:', 'format of a table', 'columns', 'pageSize of streams'),
    groups.streamsApi,
    groups.progress,
  ],
  'streams export': [
    group('Which streams:', 'pageSize of streams', 'maxRows', 'requireTotal'),
    ...exportTo,
    groups.streamsApi,
    groups.progress,
    groups.dashboard,
  ],
  'streams watch': [
    group('Which changes:', 'only', 'pageSize of streams'),
    ...watchTo,
    groups.streamsApi,
    groups.watchProgress,
    groups.dashboard,
  ],
  export: [
    group('Which rows:', ...anyRows, 'maxRows', 'requireTotal', 'incremental', 'since', 'full'),
    ...exportTo,
    groups.anyApi,
    groups.progress,
    groups.dashboard,
  ],
  watch: [group('Which rows:', ...anyRows, 'key'), ...watchTo, groups.anyApi, groups.watchProgress, groups.dashboard],
  sources: [group('Options:', 'config', 'format of a list')],
  get: [group('Options:', 'param of a request'), groups.anyApi],
  'cluster submit nfts export': [
    group('Which holdings:', ...wallets, 'ownersPerRequest'),
    ...submitTo,
    group('Connection:', 'aptosUrl', ...plannedApi),
  ],
  'cluster submit export': [
    group('Which rows:', 'param', 'pageSize of any source'),
    ...submitTo,
    group('Connection:', 'streamsUrl', 'aptosUrl', ...plannedApi),
  ],
  'cluster work': [
    group('Work:', 'concurrency of a worker', 'untilDone'),
    group('Limit:', 'rate of workers', 'limit'),
    groups.redis,
    group('Connection:', 'streamsUrl', 'aptosUrl', ...ownApi),
    group('Progress, on stderr:', 'progress of a worker', 'quiet'),
  ],
  'cluster status': [group('Options:', 'format of a list', 'wait'), groups.redis, groups.dashboard],
  'cluster merge': [groups.target, group('Which rows:', 'requireTotal'), groups.resume, groups.redis, groups.progress],
  'cluster cancel': [groups.redis],
  'cluster clean': [groups.redis],
  'cluster limit': [group('Options:', 'set', 'format of a list'), groups.redis],
  'dlq show': [group('Options:', 'format of a list')],
  'dlq replay': [
    group(
      'Target:',
      'to of letters',
      ...webhook,
      'deliveries of letters',
      'timeout of letters',
      'retryFor of letters',
      'maxRetryAfter',
    ),
    group('Resuming (run the same command again):', 'breakLock', 'trustFilesystem of letters'),
    group('Progress, on stderr:', 'progress of letters', 'quiet'),
  ],
  report: [group('Options:', 'to of a report', 'ifExists of a report')],
  'checkpoint show': [group('Options:', 'format of a list', 'config')],
  sandbox: [
    group('Options:', 'port'),
    group('What it holds:', 'seed', 'holdings', 'owners', 'streams', 'nasty', 'shape'),
    group('How it behaves:', 'rateLimit', 'latency', 'cursorTtl', 'fail', 'statusEvery', 'cors'),
  ],
  completion: [],
  doctor: [groups.anyApi, group('Output:', 'json', 'quiet of doctor')],
};

type KeysOf<Groups extends readonly Group<OptionKey>[]> = Groups[number]['keys'][number];

/** A command with options, e.g. `nfts export`. */
export type CommandName = keyof typeof commandOptions;

export type CommandOptions<Name extends CommandName> = OptionsOf<KeysOf<(typeof commandOptions)[Name]>>;

export type GroupOptions<Name extends keyof typeof groups> = OptionsOf<(typeof groups)[Name]['keys'][number]>;

export function addOptions(command: Command, name: CommandName): Command {
  for (const { heading, keys } of commandOptions[name]) {
    command.optionsGroup(heading);
    for (const option of keys.flatMap(optionsFor)) command.addOption(option);
  }
  return command;
}

/** Tells the flags that a command line's command has; all, if it calls none that has options. */
export function hasFlagOf(args: readonly string[]): (flag: string) => boolean {
  // Its advice is for the export whose checkpoint it shows.
  if (args[0] === 'checkpoint') return () => true;
  const command = Object.entries(commandOptions).find(([name]) =>
    name.split(' ').every((word, at) => word === args[at]),
  );
  const flags = command?.[1].flatMap(({ keys }) => keys.flatMap(optionsFor)).map(({ long }) => long);
  return (flag) => flags?.includes(flag) ?? true;
}

function optionsFor(key: OptionKey): Option[] {
  const { value, read, help, isOff = false, off } = optionSpec(key) ?? { help: '' };
  const [name = key] = key.split(' of ');
  const option = new Option([flagFor(name, isOff), ...(value ? [value] : [])].join(' '), help);
  if (typeof read === 'function') option.argParser(readBy(read));
  else if (read) option.choices(read);
  return off === undefined ? [option] : [option, new Option(flagFor(name, true), off)];
}

/** Turns a UsageError into commander's own, so that it adds the option's name. */
function readBy(read: (text: string, before: readonly string[] | undefined) => unknown) {
  return (text: string, before: unknown): unknown => {
    try {
      return read(text, Array.isArray(before) ? before.map(String) : undefined);
    } catch (error) {
      throw error instanceof UsageError ? new InvalidArgumentError(error.message) : error;
    }
  };
}
