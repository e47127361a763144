import type { Client, PageSource } from '@sluice/core';
import type { Config, Invocation } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { UsageError } from '../errors/errors.js';
import { exitCodeAfter } from '../errors/exitCode.js';
import type { GroupOptions } from '../options/commandOptions.js';
import type { OptionsOf } from '../options/table.js';
import { afterWarning } from '../progress/notices.js';
import { openClient, withClient } from '../source/openClient.js';
import type { Target } from '../target/target.js';
import { resolveTarget } from '../target/resolveTarget.js';
import { exportRows } from './exportRows.js';
import { resumptionOf } from './resume.js';
import { rowSink } from './rowSink.js';

/** Options of every command that exports rows. */
type ExportCommandOptions = GroupOptions<'target' | 'forward' | 'resume' | 'anyApi' | 'progress'>;

/** What is exported. */
export interface ExportedRows<Added, T> {
  /** Adds to a client what the rows come from. */
  readonly add: (client: Client) => Client & Added;
  readonly source: (client: Client & Added) => PageSource<T>;
  readonly concurrency?: number | undefined;
  /** Rows can't be more than this, where somebody knows. */
  readonly maxRows?: number | undefined;
  /** What people are told before anything is asked for. */
  readonly hint?: string | undefined;
}

/**
 * Exports rows to where the command line says, and answers the exit code.
 *
 * @throws UsageError if an option makes no sense; what the export raises.
 */
export async function runExport<Added, T extends object>(
  { add, source, concurrency, maxRows, hint }: ExportedRows<Added, T>,
  options: ExportCommandOptions,
  environment: Environment,
  { args, config }: Invocation,
): Promise<number> {
  const target = await rowTargetOf<T>(options, environment, config);
  const resumption = resumptionOf(options, target, args, config, environment);
  const { name, kind, format, forwarding } = target;
  return withClient(openClient(options, environment, config, add), environment, async (client, notices) => {
    const job = {
      client,
      notices: afterWarning(notices, { hint, warning: target.warning, isQuiet: options.quiet }, environment),
      source: () => source(client),
      sink: await target.open(client),
    };
    const { report } = await exportRows(
      { ...job, target: name, kind, format, forwarding, concurrency, resumption, maxRows },
      options,
      environment,
    );
    return exitCodeAfter(report);
  });
}

/** The target of rows that a command line asks for. @throws UsageError if there is none, or an option does not go with it. */
function rowTargetOf<T extends object>(
  options: ExportCommandOptions,
  environment: Environment,
  config: Config,
): Promise<Target<T>> {
  return resolveTarget<T>(options, environment, config, () => {
    if (options.state !== undefined)
      throw new UsageError("--state goes with --forward, or with a plugin's sink: a file has its state beside it.");
    return rowSink<T>(options, environment);
  });
}

/** Refuses a bound that a concurrency above 1 would reach by chance. @throws UsageError. */
export function checkConcurrency({ maxRows, concurrency = 1 }: OptionsOf<'maxRows' | 'concurrency'>): void {
  if (maxRows === undefined || concurrency <= 1) return;
  throw new UsageError(
    '--max-rows goes with --concurrency 1 only: with a concurrency above 1 it would be chance which rows come.',
  );
}
