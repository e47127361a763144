import { dirname, resolve } from 'node:path';
import { inspect } from 'node:util';
import { nearestName } from '@sluice/core/kit';
import { type Command, InvalidArgumentError, type Option } from 'commander';
import type { Variables } from '../environment/environment.js';
import { toFlag } from '../options/option.js';
import { UsageError } from '../errors/errors.js';
import { postgresUrl } from '../input/postgresUrl.js';
import { standardInput } from '../input/readInput.js';
import { formatOf, guessFormat, standardOutput } from '../options/rowFormats.js';
import { findOption, type OptionsOf } from '../options/commands.js';
import type { Config } from './config.js';

interface DefaultsContext {
  readonly variables: Variables;
  /** Whether a target is a plugin's sink. */
  readonly isSink: (target: string) => boolean;
}

/**
 * Sets the options of a command that have a default and are set neither on its command line nor in the environment.
 * Checks all defaults, so that every command reports an invalid one.
 *
 * @param commands all commands that use defaults.
 * @returns the options that were set.
 */
export function applyDefaults(
  command: Command,
  commands: readonly Command[],
  { file, defaults }: Pick<Config, 'file' | 'defaults'>,
  { variables, isSink }: DefaultsContext,
): ReadonlySet<string> {
  const used = new Set<string>();
  if (!file) return used;
  const given = Object.fromEntries(
    Object.entries(command.opts()).filter(([name]) => command.getOptionValueSource(name) === 'cli'),
  );
  for (const [name, value] of Object.entries(defaults)) {
    const place = `defaults.${name} of ${file.name}`;
    const parsed = commands.flatMap((other) => parseFor(other, name, value));
    if (parsed.length === 0) throw unknownOption(name, file.name, commands);
    const { isForOneRun, variable = '', isPath } = findOption(name) ?? {};
    if (isForOneRun)
      throw new UsageError(`${place}: ${toFlag(name)} is for a single run. Give it on the command line instead.`);
    const errors = parsed.flatMap((result) => ('error' in result ? [result.error] : []));
    if (errors[0] !== undefined && errors.length === parsed.length)
      throw new UsageError(`${place} is ${shown(value)}. ${errors[0]}`);
    const [own] = parseFor(command, name, value);
    if (!own || 'error' in own || own.value === undefined || name in given) continue;
    if ((variables[variable] ?? '').trim() !== '') continue;
    if (!isApplicable(name, own.value, given, isSink)) continue;
    // Paths are relative to the configuration's folder.
    const isFile = isPath && typeof own.value === 'string' && own.value !== standardInput;
    const set = isFile ? resolve(dirname(file.path), own.value) : own.value;
    command.setOptionValueWithSource(name, set, 'config');
    used.add(name);
  }
  return used;
}

type ParseResult = { readonly value: unknown } | { readonly error: string };

/** Parses a value as a command does; empty if the command does not have the option. */
function parseFor(command: Command, name: string, value: unknown): ParseResult[] {
  const [option, off] = command.options.filter((candidate) => candidate.attributeName() === name);
  // With two flags, neither is the default.
  if (off && typeof value === 'boolean' && option?.isBoolean()) return [{ value }];
  return option ? [parseOption(value, option)] : [];
}

function parseOption(value: unknown, option: Option): ParseResult {
  if (option.isBoolean() || option.negate) {
    if (typeof value !== 'boolean') return { error: 'Give true or false.' };
    return { value: value === option.negate ? undefined : value };
  }
  const isList = Array.isArray(value);
  const items: readonly unknown[] = isList ? value : [value];
  if (!items.every((item) => typeof item === 'string' || typeof item === 'number'))
    return { error: isList ? 'Give a list of texts.' : 'Give it as a text, as on the command line.' };
  const { parseArg, variadic } = option;
  try {
    const texts = items.map(String);
    const text = texts.join(',');
    const read: unknown = variadic ? texts : parseArg ? parseArg<unknown>(text, undefined) : text;
    return isList && !Array.isArray(read) ? { error: 'Give one value, not a list.' } : { value: read };
  } catch (error) {
    if (error instanceof InvalidArgumentError) return { error: error.message };
    throw error;
  }
}

function unknownOption(name: string, file: string, commands: readonly Command[]): UsageError {
  const known = commands.flatMap(({ options }) => options.map((option) => option.attributeName()));
  const meant = nearestName(name, known);
  return new UsageError(
    `defaults of ${file} has an unknown option ${JSON.stringify(name)}. ${
      meant === undefined
        ? 'They are named like the long options, --page-size for example as pageSize.'
        : `Did you mean ${meant}?`
    }`,
  );
}

/** A value, shortened: it may be a secret. */
function shown(value: unknown): string {
  const text =
    typeof value === 'string' ? JSON.stringify(value) : inspect(value, { compact: true, breakLength: Infinity });
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

/** The options of a command line that decide which defaults apply. */
type GivenTarget = Readonly<
  Partial<
    Record<
      keyof OptionsOf<'to' | 'forward' | 'format' | 'state' | 'maxRows' | 'mode' | 'incremental' | 'ping' | 'pingFile'>,
      unknown
    >
  >
>;

/**
 * Whether a default applies to the target of a command line. One that does not apply is ignored, whereas an option on
 * the command line is refused.
 */
function isApplicable(
  option: string,
  value: unknown,
  given: GivenTarget,
  isSink: (target: string) => boolean,
): boolean {
  const kind = chooseKind(given, isSink);
  const target = typeof given.to === 'string' ? given.to : standardOutput;
  const about = findOption(option)?.about;
  if (about === 'webhook') return kind === 'webhook';
  if (option === 'ping' || option === 'pingFile') return given.ping === undefined && given.pingFile === undefined;
  if (option === 'onExpired') return kind === 'file';
  if (option === 'resumeWithin') return kind !== 'webhook' && kind !== 'stdout';
  if (about === 'table') return given.mode === 'replace' || given.mode === 'history';
  if (about === 'state') return kind !== 'stdout' || given.state !== undefined;
  if (option === 'repeats') return given.incremental === undefined;
  if (option === 'concurrency') return given.maxRows === undefined;
  if (about !== 'file') return true;
  if (kind === 'webhook' || kind === 'sink') return false;
  if (isTable(target)) return option === 'columns';
  const format = given.format ?? guessFormat(target) ?? 'csv';
  switch (option) {
    case 'ifExists':
      return kind === 'file';
    case 'format':
      return kind === 'stdout' || (value !== 'text' && guessFormat(target) === undefined);
    case 'gzip':
      return format !== 'parquet';
    default:
      return (formatOf(option) ?? format) === format;
  }
}

/** Whether a target is a table, which has no format. */
function isTable(target: string): boolean {
  return postgresUrl.test(target) || /\.(?:sqlite3?|db)(?:#|$)/i.test(target);
}

function chooseKind(
  { to, forward }: GivenTarget,
  isSink: (target: string) => boolean,
): 'webhook' | 'stdout' | 'sink' | 'file' {
  if (forward !== undefined) return 'webhook';
  if (typeof to !== 'string' || to === standardOutput) return 'stdout';
  return isSink(to) ? 'sink' : 'file';
}
