import type { SluiceError } from '@sluice/core';
import { nameFlag, toFlag } from './option.js';
import { mirrorOptions, tableOptions } from './options.js';
import { formatOptions } from './rowFormats.js';

/**
 * An error of the library in the terms of the command line: what happened, with options as flags, and what to do.
 *
 * @param hasFlag whether the command has a flag: others are not named, and advice to use them is left out.
 * @param name of the option or settings at fault. Default: their flags.
 */
export function explainInFlags(
  error: SluiceError,
  hasFlag: (flag: string) => boolean,
  name = flagsIn(error, hasFlag),
): string {
  const { code, advice } = error;
  const remedy = advice
    .flatMap(({ kind, option }) => remedies[option === undefined ? kind : `${kind} ${option}`] ?? [])
    .filter((text) => (text.match(/--[a-z-]+/g) ?? []).every(hasFlag))
    .join(', or ');
  const happened = name === undefined ? error.summary : error.summaryWith(name);
  if (remedy === '') return happened;
  // These errors are raised before any file is changed.
  const end = code === 'checkpoint' || code === 'lock' ? ': nothing was changed.' : '.';
  return `${happened} ${remedy.charAt(0).toUpperCase()}${remedy.slice(1)}${end}`;
}

/** What a user of the command line can do, by kind of advice and option. Other advice is left out. */
const remedies: Readonly<Record<string, string>> = {
  wait: 'try again later',
  rerun: 'use the previous settings',
  restart: 'start over with --restart',
  'restart-partition': 'fetch this partition again with --on-expired restart-partition',
  'raise timeouts.connect': 'raise --timeout',
  'raise timeouts.response': 'raise --timeout',
  'raise timeouts.total': 'raise --timeout',
  'raise timeout': 'raise --timeout',
  'raise retry.for': 'raise --retry-for to retry for longer',
  'raise maxRetryAfter': 'raise --max-retry-after to wait longer',
  'raise maxDeadLetters': 'raise --max-dead-letters to continue anyway',
  'lower pageSize': 'ask for smaller pages (--page-size)',
  'lower rateLimit': 'lower --rate',
  'lower deliveries': 'lower --deliveries',
  'set apiKey': 'set SLUICE_API_KEY if it wants one',
  'set full': 'export all rows again with --full',
  'set key': 'name the columns that identify a row with --key-columns',
  'set repeats': "if the API's pages overlap, use --repeats drop",
  'set state': 'keep the state in PostgreSQL (--state postgres://user@host/db)',
  'allow sameProject': 'if it is a new key of the same project, say so with --same-project',
  'allow breakLock': 'if it does not, take the lock with --break-lock',
  'allow trustFileSystem': 'use a local disk, or take the risk with --trust-filesystem',
  'allow ifExists': 'give another name, or replace it with --if-exists overwrite',
  'allow allowAddresses': 'if it is the right place, add that to --allow-address',
  'allow allowInsecure': 'use https',
  'allow requireTotal': 'if the total counts something else, say so with --no-require-total',
  'allow maxRemoved': 'if they are really gone, allow it with --max-removed 100%',
};

/** The flag of the option that is at fault, or those of the settings that have changed. */
function flagsIn(
  { details: { option, changed, source } }: SluiceError,
  hasFlag: (flag: string) => boolean,
): string | undefined {
  if (Array.isArray(changed) && changed.length > 0) return nameSettings(changed.map(String), source);
  if (typeof option !== 'string') return undefined;
  const flag = optionFlags.get(option) ?? toFlag(option);
  return hasFlag(flag) ? flag : undefined;
}

const optionFlags: ReadonlyMap<string, string> = new Map([
  ['ownerAddresses', '--owner'],
  ['allowAddresses', '--allow-address'],
  ['deadLetter', '--dead-letters'],
  ['batch.count', '--batch'],
  ['batch.bytes', '--batch'],
]);

/** The settings in which two plans differ, as flags where there are any. */
function nameSettings(names: readonly string[], source: unknown): string {
  // One change can alter several settings: another listing has other parameters, and `--only` makes another source.
  const decisive = ['source', 'pipePages', 'to'].find((name) => names.includes(name));
  if (decisive !== undefined) return settings.get(decisive) ?? decisive;
  if (names.includes('sink') && names.includes('endpoint')) return '--to or --forward';
  // Another format also changes the settings that only one format has.
  const shown = names.includes('sink') ? ['format', ...names.filter((name) => !ofFormat.has(name))] : names;
  const own = String(source).startsWith('aptos.nfts') ? ofHoldings : ofOthers;
  return [...new Set(shown.map((name) => own.get(name) ?? settings.get(name) ?? name))].join(', ');
}

const settings: ReadonlyMap<string, string> = new Map([
  ['source', 'what is exported'],
  ['pipePages', '--only'],
  ...['to', 'pageSize', 'maxRows', 'format', 'gzip', 'incremental', 'ignore'].map(
    (name) => [name, toFlag(name)] as const,
  ),
  ...Object.entries({ ...formatOptions, ...tableOptions, ...mirrorOptions }).map(
    ([name, option]) => [name, nameFlag(name, option)] as const,
  ),
  ['key', '--key-columns'],
  ['baseUrl', 'the base URL'],
  ['pagesPerMember', '--gzip'],
  ['endpoint', '--forward'],
  ['isAppended', '--if-exists'],
]);

/** For holdings, which have an option for each parameter. */
const ofHoldings: ReadonlyMap<string, string> = new Map([
  // Of one group of owners, or of several.
  ['owner_addresses', '--owner or --owners-per-request'],
  ['partitions', '--owner or --owners-per-request'],
  ['offset', '--offset'],
  ['owners', '--owner'],
  ['include', '--include-collections'],
  ['exclude', '--exclude-collections'],
  ['collection_whitelist', '--include-collections'],
  ['collection_blacklist', '--exclude-collections'],
]);

const ofOthers: ReadonlyMap<string, string> = new Map([
  ['partitions', 'a parameter that decides what is listed'],
  ['offset', 'the first row'],
]);

const ofFormat: ReadonlySet<string> = new Set(['sink', 'format', ...Object.keys(formatOptions)]);
