import { SluiceError } from '@sluice/core';
import type { Command } from 'commander';
import { type Config, noConfig, type RunWith } from '../config/config.js';
import { applyDefaults } from '../config/defaults.js';
import { loadConfig } from '../config/loadConfig.js';
import type { Environment } from '../environment/environment.js';
import { withinTime } from '../environment/withinTime.js';
import { explainInFlags } from '../options/cliTerms.js';
import { UsageError } from '../errors/errors.js';
import type { OptionsOf } from '../options/commands.js';
import { matchNamed } from '../target/namedTarget.js';

/** A command that uses plugins and defaults. */
interface ConfiguredCommand<Options> {
  readonly command: Command;
  /** Its positional arguments. */
  readonly namedArguments: Readonly<Record<string, unknown>>;
  readonly args: readonly string[];
  /** Its options include the defaults. */
  readonly run: RunWith<Options>;
  /** The command itself reports what is wrong with the configuration. */
  readonly reportsErrors: boolean;
  /** The configuration, if it is loaded already. */
  readonly config: Config | undefined;
}

/** Loads the configuration, applies its defaults, runs the command, and returns the exit code. */
export async function runConfigured<Options extends object>(
  { command, namedArguments, args, run, reportsErrors, config: loaded }: ConfiguredCommand<Options>,
  environment: Environment,
): Promise<number> {
  let config = noConfig;
  let used: ReadonlySet<string> = new Set();
  let configError: UsageError | undefined;
  try {
    config = loaded ?? (await loadConfig(command.opts<OptionsOf<'config'>>(), environment));
    const isSink = (target: string): boolean => matchNamed(target, 'sinks', config) !== undefined;
    used = applyDefaults(command, configurable(command), config, { variables: environment.variables, isSink });
  } catch (error) {
    if (!(reportsErrors && error instanceof UsageError)) throw error;
    configError = error;
  }
  try {
    const options = { ...namedArguments, ...command.opts<Options>() };
    const invocation = { args, config, configError };
    const { maxTime } = command.opts<OptionsOf<'maxTime'>>();
    const runInTime = (pinging: Environment): Promise<number> =>
      withinTime(maxTime, pinging, (limited) =>
        supervisePlugins(config, limited, (supervised) => run(options, supervised, invocation)),
      );
    if (!hasOption(command, 'ping')) return await runInTime(environment);
    const { withPings } = await import('./withPings.js');
    return await withPings(command.opts(), environment, runInTime);
  } catch (error) {
    throw withLocation(error, used, config, environment);
  }
}

/** The configuration of a command line, and the source that it names; `undefined` if it names none that there is. */
export async function describeNamedSource(words: readonly string[], environment: Environment) {
  const { knownApis } = await import('../source/describe.js');
  const at = words.findLastIndex((word) => /^--(no-config|config(=.*)?)$/s.test(word));
  const choice = words[at] === '--config' ? words[at + 1] : words[at]?.replace('--config=', '');
  const config = await loadConfig(
    choice === undefined ? {} : { config: choice !== '--no-config' && choice },
    environment,
  );
  const { sources } = await supervisePlugins(config, environment, (supervised) => knownApis(config, supervised));
  // The first one counts: others may be values of options.
  const name = words.find((word) => sources.some((source) => source.name === word));
  return { config, source: sources.find((source) => source.name === name) };
}

function hasOption({ options }: Command, name: keyof OptionsOf<'ping' | 'config'>): boolean {
  return options.some((option) => option.attributeName() === name);
}

/** All commands of the program that use defaults. */
function configurable(command: Command): Command[] {
  let root = command;
  while (root.parent) root = root.parent;
  const below = (one: Command): Command[] => [one, ...one.commands.flatMap(below)];
  return below(root).filter((each) => hasOption(each, 'config'));
}

/** Adds where an invalid option comes from if it is a default: the user has not typed it. */
function withLocation(error: unknown, used: ReadonlySet<string>, { file }: Config, { hasFlag }: Environment): unknown {
  if (!file || !SluiceError.is(error, 'config')) return error;
  const { option } = error.details;
  if (typeof option !== 'string' || !used.has(option)) return error;
  return new UsageError(`${explainInFlags(error, hasFlag)} It stands in defaults.${option} of ${file.name}.`);
}

/** Runs `work` in an environment whose signal also aborts when a plugin fails outside of its hooks. */
export function supervisePlugins<R>(
  { file, plugins }: Pick<Config, 'file' | 'plugins'>,
  environment: Environment,
  work: (environment: Environment) => Promise<R>,
): Promise<R> {
  if (!file || plugins.length === 0) return work(environment);
  return environment.runningPlugins(file.name, environment.signal, (signal) => work({ ...environment, signal }));
}
