import { PaginationError } from '../errors.js';
import type { StatedTotals } from '../position.js';
import { shortListing } from '../source/chainErrors.js';
import type { Commits } from './commits.js';
import type { ExportSetup } from './exportOptions.js';
import type { WalkEnd } from './sink.js';

/**
 * How a walk ended, compared with the totals that the API states, before the target gets its name.
 *
 * @throws PaginationError if `requireTotal` is not met.
 */
export function judgeEnd({ info, options }: ExportSetup<never>, commits: Commits): WalkEnd {
  const { requireTotal, onWarning } = options;
  const { isIncomplete } = commits;
  const short = findShortfall(commits);
  if (requireTotal) {
    if (short) throw shortListing(info.name, short, '', [{ kind: 'restart' }]);
    checkCompared(info.name, commits);
    return { isIncomplete: false };
  }
  if (short) onWarning?.(shortListing(info.name, short).summary);
  // Of parents that are not listed, there are no rows either.
  const known = short ?? commits.shortParents;
  // At `maxRows` nobody knows whether there are more.
  const { kept, rows } = commits.position;
  const isCut = (kept ?? rows) >= (info.maxRows ?? Infinity);
  if (!known || requireTotal === false) return { isIncomplete: isIncomplete || isCut };
  const { total, listed } = known;
  return { isIncomplete: true, ...(!isIncomplete && { shortOfTotal: { total, listed } }) };
}

/** The totals of listings that have fewer rows. A walk that is incomplete by itself says so already. */
export function findShortfall({ position: { totals }, isIncomplete }: Commits): StatedTotals | undefined {
  return totals && totals.short > 0 && !isIncomplete ? totals : undefined;
}

function checkCompared(name: string, { position, counts, isIncomplete }: Commits): void {
  const isUnknown = position.totals === undefined && counts.pages > 0;
  if (!isUnknown && !isIncomplete) return;
  const why = isIncomplete ? 'the API left out rows' : 'the API states none, or the definition has no `total`';
  throw new PaginationError('rows-missing', `${name}: the rows can't be compared with a total, since ${why}.`);
}
