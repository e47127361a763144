import type { Client, PageSource } from '@sluice/core';
import type { Environment } from '../environment.js';
import type { Invocation } from '../invocation.js';
import { openClient, withClient, type ConnectionOptions } from '../settings/openClient.js';
import { afterWarning } from '../terminal/notesOf.js';
import { exitCodeAfter } from './exitCodeAfter.js';
import { exportRows, type ProgressOptions } from './exportRows.js';
import { resumptionOf, type ResumeOptions } from './resumption.js';
import { rowTargetOf, type RowTargetOptions } from './rowTargetOf.js';

/** Options of every command that exports rows. */
export interface ExportCommandOptions extends RowTargetOptions, ResumeOptions, ConnectionOptions, ProgressOptions {}

/** What is exported. */
export interface ExportedRows<Added, T> {
  /** Adds to a client what the rows come from. */
  readonly add: (client: Client) => Client & Added;
  readonly source: (client: Client & Added) => PageSource<T>;
  readonly lanes?: number | undefined;
  /** Rows can't be more than this, where somebody knows. */
  readonly mostRows?: number | undefined;
  /** What people are told before anything is asked for. */
  readonly hint?: string | undefined;
}

/**
 * Exports rows to where the command line says, and answers the exit code.
 *
 * @throws UsageError if an option makes no sense; what the export raises.
 */
export async function runExport<Added, T extends object>(
  { add, source, lanes, mostRows, hint }: ExportedRows<Added, T>,
  options: ExportCommandOptions,
  environment: Environment,
  { args, config }: Invocation,
): Promise<number> {
  const target = await rowTargetOf<T>(options, environment, config);
  const resumption = resumptionOf(options, target, args, config, environment);
  const { name, kind, format, forwarding } = target;
  return withClient(openClient(options, environment, config, add), environment, async (client, notes) => {
    const job = {
      client,
      notes: afterWarning(notes, { hint, warning: target.warning, isQuiet: options.quiet }, environment),
      source: () => source(client),
      sink: await target.open(client),
    };
    const { report } = await exportRows(
      { ...job, target: name, kind, format, forwarding, lanes, resumption, mostRows },
      options,
      environment,
    );
    return exitCodeAfter(report);
  });
}
