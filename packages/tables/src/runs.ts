/**
 * Tables that the workers of a run fill together.
 *
 * @module @sluice/tables/runs
 */

import { checkOptions } from '@sluice/core/kit';
import { placeNames, postgresDatabase, type PostgresPlace } from './postgres/database.js';
import { PostgresRunTable } from './runs/postgresRunTable.js';
import type { RunTable } from './runs/runTable.js';
import type { TableOptions } from './sql/tableSink.js';

export { isFollowed } from './runs/runTable.js';
export type { ClaimRequest, NewRun, RunRows, RunTable, RunTotals, StoredRun } from './runs/runTable.js';

/**
 * A table of PostgreSQL that the workers of a run fill together, for `postgresRun` of `@sluice/cluster`: exports of the
 * table are refused meanwhile.
 *
 * @example const holdings = postgresRunTable({ url: 'postgres://me@10.0.0.6/nfts', table: 'holdings' });
 *
 * @throws ConfigError if an option is invalid. Later: what `postgres` of `@sluice/tables/postgres` throws.
 */
export function postgresRunTable(options: PostgresPlace & Pick<TableOptions, 'table'>): RunTable {
  checkOptions('postgresRunTable()', options, { ...placeNames, table: 'text' });
  const { database } = postgresDatabase(options, { isWorker: true });
  return new PostgresRunTable(database, options.table);
}
