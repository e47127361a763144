import { resolve } from 'node:path';
import type { CompactReport } from '@sluice/exporters/sqlite';
import type { Run } from '../config/config.js';
import { exitCodes, UsageError } from '../errors/errors.js';
import { addPassword, tableName } from '../target/tableTarget.js';
import { formatCount } from '../terminal/format.js';
import { visibleText } from '../terminal/text.js';

/** `sluice history compact TABLE`: removes versions that ended long ago. A watch may write the table meanwhile. */
export const historyCompact: Run<'history compact'> = async ({ table, keep }, environment) => {
  const { signal, folder, stderr } = environment;
  if (keep === undefined) throw new UsageError('How long do versions stay? Give --keep, e.g. --keep 90d.');
  const named = tableName(table, 'The table');
  if (!named)
    throw new UsageError(
      `${table} is not a table: name one as FILE.sqlite#TABLE or postgres://user@host/database?table=TABLE.`,
    );
  const compact = async (): Promise<CompactReport> => {
    if (named.kind === 'sqlite') {
      const { compactHistory } = await import('@sluice/exporters/sqlite');
      return compactHistory({ path: resolve(folder, named.path), table: named.table, keep, signal });
    }
    const { compactHistory } = await import('@sluice/exporters/postgres');
    return compactHistory({ ...addPassword(named.url, environment), table: named.table, keep, signal });
  };
  const { removed, firstPoll } = await compact();
  const begins = firstPoll === undefined ? 'no poll is that old' : `the history begins with poll ${firstPoll}`;
  stderr.print(`${formatCount(removed, 'version')} removed from ${visibleText(table)}: ${begins}.\n`);
  return exitCodes.done;
};
