import { SluiceError } from '@sluice/core';
import type { Command } from 'commander';
import { type Config, type Invocation, noConfig } from '../config/config.js';
import { applyDefaults } from '../config/defaults.js';
import { loadConfig } from '../config/loadConfig.js';
import type { Environment } from '../environment/environment.js';
import { sentenceOf } from '../errors/cliTerms.js';
import { UsageError } from '../errors/errors.js';
import type { OptionsOf } from '../options/table.js';
import { namedTarget } from '../target/namedTarget.js';

/** A command that takes plugins and defaults, about to run. */
interface ConfiguredCommand<Options> {
  readonly command: Command;
  /** Its arguments by name. */
  readonly given: Readonly<Record<string, unknown>>;
  readonly args: readonly string[];
  /** Does its work with its options, defaults included. */
  readonly run: (options: Options, environment: Environment, invocation: Invocation) => Promise<number>;
  /** It tells itself what is wrong with the configuration. */
  readonly reportsErrors: boolean;
}

/**
 * Loads the configuration, gives the command its defaults and runs it.
 *
 * @returns the exit code.
 * @throws UsageError if something is wrong with the configuration; what the command raises.
 */
export async function runConfigured<Options extends object>(
  { command, given, args, run, reportsErrors }: ConfiguredCommand<Options>,
  environment: Environment,
): Promise<number> {
  let config = noConfig;
  let used: ReadonlySet<string> = new Set();
  let configError: UsageError | undefined;
  try {
    config = await loadConfig(command.opts<OptionsOf<'config'>>(), environment);
    const isSink = (target: string): boolean => namedTarget(target, 'sinks', config) !== undefined;
    used = applyDefaults(command, configurable(command), config, { variables: environment.variables, isSink });
  } catch (error) {
    if (!(reportsErrors && error instanceof UsageError)) throw error;
    configError = error;
  }
  try {
    const options = { ...given, ...command.opts<Options>() };
    const invocation = { args, config, ...(configError && { configError }) };
    return await amongPlugins(config, environment, (among) => run(options, among, invocation));
  } catch (error) {
    throw withPlace(error, used, config);
  }
}

/** All commands of the program that take defaults. */
function configurable(command: Command): Command[] {
  let root = command;
  while (root.parent) root = root.parent;
  const below = (one: Command): Command[] => [one, ...one.commands.flatMap(below)];
  return below(root).filter(({ options }) => options.some((option) => option.attributeName() === 'config'));
}

/** The library says which option is wrong, but not that nobody has typed it. */
function withPlace(error: unknown, used: ReadonlySet<string>, { file }: Config): unknown {
  if (!file || !SluiceError.is(error, 'config')) return error;
  const { option } = error.details;
  if (typeof option !== 'string' || !used.has(option)) return error;
  return new UsageError(`${sentenceOf(error)} It stands in defaults.${option} of ${file.name}.`);
}

/** Does work that the plugins of a configuration take part in: in an environment whose signal aborts when one of them fails. */
export function amongPlugins<R>(
  { file, plugins }: Pick<Config, 'file' | 'plugins'>,
  environment: Environment,
  work: (environment: Environment) => Promise<R>,
): Promise<R> {
  if (!file || plugins.length === 0) return work(environment);
  return environment.runningPlugins(file.name, environment.signal, (signal) => work({ ...environment, signal }));
}
