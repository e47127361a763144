import { PaginationError } from '../../errors.js';
import { findGap, reportGap, type TotalGap } from '../../totals.js';
import { otherTotal, repeatedRows } from '../source/chainErrors.js';
import type { Commits } from './commits.js';
import type { ExportSetup } from './exportOptions.js';
import type { WalkEnd } from '../sink/sink.js';

/**
 * How a walk ended, compared with the totals that the API states, before the target gets its name.
 *
 * @throws PaginationError if `requireTotal` is not met.
 */
export function judgeEnd({ info, options }: ExportSetup<never>, commits: Commits): WalkEnd {
  const { requireTotal, repeats = 'keep', onWarning } = options;
  const { isIncomplete } = commits;
  const { kept, rows, repeated = 0 } = commits.position;
  const gap = findTotalGap(commits);
  if (requireTotal) {
    if (gap) throw otherTotal(info.name, gap, { repeated, advice: [{ kind: 'restart' }] });
    checkCompared(info.name, commits);
  }
  if (gap) onWarning?.(otherTotal(info.name, gap, { repeated }).summary);
  else if (repeated > 0 && repeats === 'keep') onWarning?.(repeatedRows(info.name, repeated));
  if (requireTotal) return { isIncomplete: false };
  // Partitions that were not found have no rows either.
  const known = gap ?? commits.planGap;
  // At `maxRows` nobody knows whether there are more.
  const isCut = (kept ?? rows) >= (info.maxRows ?? Infinity);
  // Rows that come again may stand in place of others, which only a total could tell.
  const isUntold = repeated > 0 && commits.position.totals === undefined;
  if (requireTotal === false || (!known && !isUntold)) return { isIncomplete: isIncomplete || isCut };
  if (isIncomplete) return { isIncomplete };
  return { isIncomplete: true, ...(known ? reportGap(known) : { repeatedRows: repeated }) };
}

/** What the listings have less or more than their totals. A walk that is incomplete by itself says so already. */
export function findTotalGap({ position: { totals }, isIncomplete }: Commits): TotalGap | undefined {
  return isIncomplete ? undefined : findGap(totals);
}

function checkCompared(name: string, { position, counts, isIncomplete }: Commits): void {
  const isUnknown = position.totals === undefined && counts.pages > 0;
  if (!isUnknown && !isIncomplete) return;
  const why = isIncomplete ? 'the API left out rows' : 'the API states none, or the definition has no `total`';
  throw new PaginationError('rows-missing', `${name}: the rows can't be compared with a total, since ${why}.`);
}
