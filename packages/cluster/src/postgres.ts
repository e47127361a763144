/**
 * Runs of several machines into a table of PostgreSQL.
 *
 * @module @sluice/cluster/postgres
 */

import { checkOptions, type TargetRetryOptions } from '@sluice/core/kit';
import type { PostgresOptions, TableMode } from '@sluice/tables/postgres';
import { postgresRunTable, type RunTotals } from '@sluice/tables/runs';
import type { RunTarget } from './run/run.js';
import { tableTarget } from './run/tableRun.js';

/** Options of {@link postgresRun}. */
export type PostgresRunOptions = Omit<PostgresOptions, 'breakLock' | 'mode' | 'extra' | keyof TargetRetryOptions> & {
  /** What becomes of rows that the table has. Default `fail`. */
  readonly mode?: TableMode | undefined;
} & RunTotals;

/**
 * A table of PostgreSQL that all machines reach, as the target of runs, one after the other. Its database has the plan,
 * and how far each partition is: progress survives whatever Redis loses. Rows become visible all at once, in the commit
 * of the last partition, as `mode` says. Exports of the table are refused while workers write it, and workers while an
 * export does.
 *
 * Workers need `url` and `table` only; the other options are those of whoever submitted the run. It needs the packages
 * `pg` and `pg-copy-streams`.
 *
 * @example
 * const run = await postgresRun({ url: 'postgres://me@10.0.0.6/nfts', table: 'holdings', mode: 'replace' }).submit({
 *   name: 'holdings',
 *   source: 'aptos.nfts',
 *   open: (params) => client.aptos.nfts(params),
 *   params: [{ ownerAddresses }],
 * });
 *
 * // On each machine, as the target that a worker opens:
 * const openTarget = () => postgresRun({ url: 'postgres://me@10.0.0.6/nfts', table: 'holdings' });
 *
 * @throws ConfigError if an option is invalid. Later: SinkError if the server refuses, the table has other columns, or a
 * value does not fit; LockError if an export writes the table.
 */
export function postgresRun(run: PostgresRunOptions): RunTarget {
  checkOptions('postgresRun()', run, {
    url: 'text',
    password: true,
    table: 'text',
    mode: true,
    columns: true,
    key: true,
    schema: true,
    requireTotal: true,
    maxRemoved: true,
  });
  const { url, password, table, mode = 'fail', columns, key, schema, requireTotal, maxRemoved } = run;
  const rows = { mode, columns, key, schema, requireTotal, maxRemoved };
  return tableTarget(postgresRunTable({ url, table, password }), tableAddress(url, table), rows);
}

/** Where a table is, without a password: as `--to` of the command line has it. */
function tableAddress(url: string, table: string): string {
  const address = new URL(url);
  address.password = '';
  address.searchParams.delete('password');
  address.searchParams.set('table', table);
  return address.href;
}
