import { postgres } from '@sluice/tables/postgres';
import { exportTo } from '@sluice/core';
import { openEmptyPostgres } from '../../../tables/test/databases.js';
import { postgresRun } from '../../src/postgres.js';
import type { Run } from '../../src/run/run.js';
import type { Holdings } from './holdingsRun.js';

/** Where workers of a test write. */
export interface TablePlace {
  readonly url: string;
  readonly table: string;
}

export type TableDatabase = Awaited<ReturnType<typeof openEmptyPostgres>>;

/** The run of all wallets, submitted to a table. */
export function submittedTo({ plan }: Holdings, place: TablePlace): Promise<Run> {
  return postgresRun(place).submit(plan);
}

/** What the run's table has, and that of an export by one machine. */
export async function bothTables({ whole }: Holdings, { url, query }: TableDatabase, table: string) {
  await exportTo(whole(), postgres<object>({ url, table: 'single' })).run();
  const contentOf = async (name: string) => {
    const [found] = await query(
      `SELECT count(*) AS rows, md5(string_agg(r::text, ',' ORDER BY r::text)) AS hash FROM ${name} r`,
    );
    return found;
  };
  return [await contentOf(table), await contentOf('single')];
}
