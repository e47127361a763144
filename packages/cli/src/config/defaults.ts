import { dirname, resolve } from 'node:path';
import { inspect } from 'node:util';
import { type Command, InvalidArgumentError, type Option } from 'commander';
import type { Variables } from '../environment/environment.js';
import { flagOf } from '../errors/cliTerms.js';
import { UsageError } from '../errors/errors.js';
import { standardInput } from '../input/readInput.js';
import { formatOfName, standardOutput } from '../options/checkTarget.js';
import { optionSpec, type OptionsOf } from '../options/table.js';
import type { Config } from './config.js';

/** What decides whether a default is used. */
interface DefaultsContext {
  readonly variables: Variables;
  /** Whether a target is that of a sink with a name. */
  readonly isSink: (target: string) => boolean;
}

/**
 * Gives a command the defaults that it has an option for, where neither its command line nor the environment says something else. All of
 * them are looked at, so that a wrong one shows whichever command is run.
 *
 * @param commands all commands that take defaults.
 * @returns the options that were set.
 * @throws UsageError if one is unknown, or has a value that no command takes.
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
    const parsed = commands.flatMap((other) => readings(name, value, other));
    if (parsed.length === 0) throw unknownOption(name, file.name, commands);
    const { isForOneRun, variable = '', value: valueName } = optionSpec(name) ?? {};
    if (isForOneRun)
      throw new UsageError(`${place}: ${flagOf(name)} is for a single run. Give it on the command line instead.`);
    const [fault] = parsed.flatMap((reading) => ('fault' in reading ? [reading.fault] : []));
    if (fault !== undefined && parsed.every((reading) => 'fault' in reading))
      throw new UsageError(`${place} is ${shown(value)}. ${fault}`);
    const [own] = readings(name, value, command);
    if (!own || 'fault' in own || own.value === undefined || name in given) continue;
    if ((variables[variable] ?? '').trim() !== '') continue;
    if (!isFitting(name, own.value, given, isSink)) continue;
    // Paths of files begin where the configuration is.
    const isPath = valueName === '<file>' && typeof own.value === 'string' && own.value !== standardInput;
    command.setOptionValueWithSource(name, isPath ? resolve(dirname(file.path), own.value) : own.value, 'config');
    used.add(name);
  }
  return used;
}

type Reading = { readonly value: unknown } | { readonly fault: string };

/** How a command reads a value; nothing if it has no such option. */
function readings(name: string, value: unknown, command: Command): Reading[] {
  const option = command.options.find((candidate) => candidate.attributeName() === name);
  return option ? [readingOf(value, option)] : [];
}

function readingOf(value: unknown, option: Option): Reading {
  if (option.isBoolean() || option.negate) {
    if (typeof value !== 'boolean') return { fault: 'Give true or false.' };
    return { value: value === option.negate ? undefined : value };
  }
  const isList = Array.isArray(value);
  const items: readonly unknown[] = isList ? value : [value];
  if (!items.every((item) => typeof item === 'string' || typeof item === 'number'))
    return { fault: isList ? 'Give a list of texts.' : 'Give it as a text, as on the command line.' };
  try {
    const texts = items.map(String);
    const read: unknown = option.variadic ? texts : parsed(texts.join(','), option);
    return isList && !Array.isArray(read) ? { fault: 'Give one value, not a list.' } : { value: read };
  } catch (error) {
    if (error instanceof InvalidArgumentError) return { fault: error.message };
    throw error;
  }
}

function parsed(text: string, { parseArg }: Option): unknown {
  return parseArg ? parseArg<unknown>(text, undefined) : text;
}

function unknownOption(name: string, file: string, commands: readonly Command[]): UsageError {
  const plain = (text: string): string => text.replace(/[-_]/g, '').toLowerCase();
  const known = commands.flatMap(({ options }) => options.map((option) => option.attributeName()));
  const meant = known.find((other) => plain(other) === plain(name));
  return new UsageError(
    `defaults of ${file} has an unknown option ${JSON.stringify(name)}. ${
      meant === undefined
        ? 'They are named like the long options, --page-size for example as pageSize.'
        : `Did you mean ${meant}?`
    }`,
  );
}

/** A value, cut: somebody may have put there what nobody should see. */
function shown(value: unknown): string {
  const text =
    typeof value === 'string' ? JSON.stringify(value) : inspect(value, { compact: true, breakLength: Infinity });
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

/** What a command line says of its target. */
type GivenTarget = Readonly<
  Partial<Record<keyof OptionsOf<'to' | 'forward' | 'format' | 'state' | 'maxRows'>, unknown>>
>;

/**
 * Whether a default goes with what was given: one that does not is left out, as if it were not there. What people give themselves is
 * refused instead.
 *
 * @param isSink whether a target is that of a sink with a name.
 */
function isFitting(option: string, value: unknown, given: GivenTarget, isSink: (target: string) => boolean): boolean {
  const kind = kindOf(given, isSink);
  const target = typeof given.to === 'string' ? given.to : standardOutput;
  const about = optionSpec(option)?.about;
  if (about === 'webhook') return kind === 'webhook';
  if (option === 'onExpired') return kind === 'file';
  if (about === 'state') return kind !== 'stdout' || given.state !== undefined;
  if (option === 'concurrency') return given.maxRows === undefined;
  if (about !== 'file') return true;
  if (kind === 'webhook' || kind === 'sink') return false;
  switch (option) {
    case 'ifExists':
      return kind === 'file';
    case 'format':
      return kind === 'stdout' || (value !== 'text' && formatOfName(target) === undefined);
    case 'extra':
    case 'bom':
      return (given.format ?? formatOfName(target)) !== 'jsonl';
    default:
      return true;
  }
}

function kindOf(
  { to, forward }: GivenTarget,
  isSink: (target: string) => boolean,
): 'webhook' | 'stdout' | 'sink' | 'file' {
  if (forward !== undefined) return 'webhook';
  if (typeof to !== 'string' || to === standardOutput) return 'stdout';
  return isSink(to) ? 'sink' : 'file';
}
