import type { Client, ExportOptions } from '@sluice/core';
import type { PageSource } from '@sluice/core/kit';
import type { Invocation } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { UsageError } from '../errors/errors.js';
import { exitCodeAfter } from '../errors/exitCode.js';
import { redact } from '../errors/redact.js';
import type { GroupOptions } from '../options/options.js';
import type { OptionsOf } from '../options/commands.js';
import { findPage, withoutDashboard } from '../source/dashboardPage.js';
import { openClient, withClient } from '../source/openClient.js';
import { refusePlace } from '../target/statePlace.js';
import { resolveTarget } from '../target/resolveTarget.js';
import { tableTarget } from '../target/tableTarget.js';
import type { Target } from '../target/target.js';
import { exportRows, type RowExport } from './exportRows.js';
import { describeMaking, resumeCommand, planResumption } from './resume.js';
import { rowTarget } from './rowTarget.js';

/** Options of every command that exports rows. */
type ExportCommandOptions = GroupOptions<'target' | 'forward' | 'resume' | 'connection' | 'progress' | 'dashboard'> &
  OptionsOf<'requireTotal' | 'repeats'>;

/** What to export. */
export interface ExportedRows
  extends Pick<RowExport<object>, 'parts' | 'maxRows'>, Pick<ExportOptions, 'concurrency' | 'incremental'> {
  /** Adds the API of the rows to a client. */
  readonly add: (client: Client) => Client;
  readonly source: (client: Client) => PageSource<object>;
  /** How many wallets, and where they are from. */
  readonly wallets?: string | undefined;
}

/** Exports rows to the target of the command line, and returns the exit code. */
export async function runExport(
  { add, source, concurrency, parts, wallets, maxRows, incremental }: ExportedRows,
  options: ExportCommandOptions & OptionsOf<'pageSize'>,
  environment: Environment,
  { args, config }: Invocation,
): Promise<number> {
  const { requireTotal, repeats } = options;
  const fileOrStdout = (): Target<object> => {
    if (options.state !== undefined && !incremental)
      throw new UsageError(
        "--state goes with --forward, --incremental, or a plugin's sink: a file has its state beside it.",
      );
    return rowTarget<object>(options, environment);
  };
  const target = await resolveTarget<object>(options, environment, config, fileOrStdout, (to, named) =>
    tableTarget<object>(to, named, options, environment),
  );
  const resumption = planResumption(options, target, args, config, environment);
  return withClient(openClient(options, environment, config, add), environment, async (client, notices) => {
    const sink = await target.open(client);
    if (sink.state) refusePlace(options);
    // A default of the configuration is for those plugins' sinks whose rows can be fetched again, which is known only now.
    const isDefault = target.kind === 'sink' && config.defaults['resumeWithin'] !== undefined;
    if (options.resumeWithin !== undefined && !sink.isRefreshed && sink.delivery === 'at-least-once' && !isDefault)
      throw new UsageError(
        '--resume-within is for files and tables: what a service has received cannot be taken back, so its export is resumed at any age.',
      );
    const { text } = resumeCommand(environment.command, withoutDashboard(args));
    const command = redact(text, environment.secrets);
    findPage(client)?.show({ command });
    const madeWith = describeMaking(command, options, wallets);
    const job = {
      client,
      notices,
      source: () => source(client),
      sink,
      target,
      exportOptions: { concurrency, incremental, requireTotal, repeats, madeWith },
      resumption,
      parts,
      maxRows,
      limit: { rate: options.rate },
    };
    const { report } = await exportRows(job, options, environment);
    return exitCodeAfter(report);
  });
}

/** @throws UsageError for `--max-rows` with a concurrency above 1: which rows it exports would be random. */
export function checkConcurrency({ maxRows, concurrency = 1 }: OptionsOf<'maxRows' | 'concurrency'>): void {
  if (maxRows === undefined || concurrency <= 1) return;
  throw new UsageError(
    '--max-rows goes with --concurrency 1 only: with a concurrency above 1 it would be chance which rows come.',
  );
}
