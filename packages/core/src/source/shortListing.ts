import { type Advice, PaginationError } from '../errors.js';
import type { StatedTotals } from '../position.js';

/**
 * The error, or warning, of a finished walk whose listings have fewer rows than the API says.
 *
 * @param more the end of the sentence that says how many may be missing
 */
export function shortListing(
  name: string,
  { short, total, listed, which }: StatedTotals,
  more = '',
  advice: readonly Advice[] = [],
): PaginationError {
  const where = short > 1 ? ` in ${short} partitions` : which === undefined ? '' : ` (${which})`;
  return new PaginationError(
    'rows-missing',
    `${name}: the API listed ${listed} rows${where} and says that there are ${total}, so ${total - listed} may be missing${more}. Does it list rows only up to a limit? Or does the total count something else?`,
    { details: { total, listed }, advice },
  );
}
