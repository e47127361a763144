import pg from 'pg';
import { onTestEnd } from '../../../scripts/testScope.js';

/** Locks a table of PostgreSQL, as a migration does. Returns what ends that. */
export async function holdLock(url: string, table: string): Promise<() => Promise<unknown>> {
  const other = new pg.Client({ connectionString: url });
  await other.connect();
  onTestEnd(() => other.end());
  await other.query(`BEGIN; LOCK TABLE ${table} IN EXCLUSIVE MODE`);
  return () => other.query('ROLLBACK');
}
