import type { Run } from '../config/config.js';
import { exitCodes, UsageError } from '../errors/errors.js';
import { openTable, requireTable } from '../target/tableTarget.js';
import { formatCount } from '../terminal/format.js';
import { visibleText } from '../terminal/text.js';

/** `sluice history compact TABLE`: removes versions that ended long ago. A watch may write the table meanwhile. */
export const historyCompact: Run<'history compact'> = async ({ table, keep }, environment) => {
  if (keep === undefined) throw new UsageError('How long do versions stay? Give --keep, e.g. --keep 90d.');
  const { compact } = await openTable(requireTable(table), environment);
  const { removed, firstPoll } = await compact(keep);
  const begins = firstPoll === undefined ? 'no poll is that old' : `the history begins with poll ${firstPoll}`;
  environment.stderr.print(`${formatCount(removed, 'version')} removed from ${visibleText(table)}: ${begins}.\n`);
  return exitCodes.done;
};
