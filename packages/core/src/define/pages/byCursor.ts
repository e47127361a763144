import { checkOptions } from '../../checks.js';
import { ExactNumber } from '../../json.js';
import type { Selector } from '../responses/pageResponse.js';
import { cursorOf, type Paging } from './paging.js';
import { finder } from '../responses/documentPath.js';
import { moreKinds, type MoreOptions, withMoreFlag } from './moreFlag.js';
import { parsePlace, placeKinds, type RequestPlace } from '../requests/requestPlace.js';

/**
 * Options of {@link byCursor}: where a request has the cursor, and where a response has the next one. Without `more`
 * and `last`, more rows follow if there is a cursor.
 */
export type CursorOptions = RequestPlace &
  MoreOptions & {
    /**
     * Where a response has the next page's cursor, e.g. `meta.next` or `nextPageToken?`. `null` or empty text ends the
     * listing; so does a missing cursor if the path has a `?`. Without the `?` it is an error: a misspelt path would
     * end every listing early. With it, a full first page without a cursor causes a warning.
     */
    readonly at: Selector<unknown>;
  };

/**
 * Paging by a cursor (token) that each response gives for the next page, as text or a number. A number is sent as a
 * number in a body, with all its digits.
 *
 * The API decides what a cursor means, and whether rows that move during a walk are missed or repeated. The walk
 * detects repeated pages and cursors; if one cursor serves the whole listing, only repeated rows.
 *
 * @example
 * byCursor({ param: 'pageToken', at: 'nextPageToken?' })
 * byCursor({ param: 'cursor', at: 'meta.next?', more: 'meta.hasMore' })
 * byCursor({ param: 'cursor', at: 'after_cursor', last: 'end_of_stream' })
 * byCursor({ into: 'page.after', at: 'page.next?' })   // in the body of a POST
 *
 * @throws ConfigError if a path is invalid. Later: DecodeError if the value is not a cursor.
 */
export function byCursor(options: CursorOptions): Paging {
  checkOptions('byCursor()', options, { ...placeKinds, ...moreKinds, at: 'text or a function' });
  const { at, more, last, ...place } = options;
  const { identity, sets, put } = parsePlace(place);
  const cursor = finder(at);
  return withMoreFlag(
    { more, last },
    {
      identity: { by: 'cursor', ...identity, at: cursor.identity },
      ...sets,
      reads: cursor.reads,
      namesNext: true,
      request(first, from) {
        const text = cursorOf(from);
        return put(first, 'isNumber' in from ? new ExactNumber(text) : text);
      },
      next(response, follows) {
        const { read } = response;
        const found = cursor.find(response);
        const isExact = Number.isSafeInteger(found) || cursor.isExactNumber(response);
        const text = isExact ? String(found) : read.cursor(found, cursor.text);
        const isNumber = place.into !== undefined && isExact;
        if (text !== undefined) return isNumber ? { cursor: text, isNumber } : { cursor: text };
        if (follows) throw read.fault(cursor.text, 'more rows follow, but there is no cursor');
        if (cursor.isMissing(response)) response.warnIfFull(`correct paging: ${cursor.text || 'cursor'} is missing`);
        return 'end';
      },
    },
  );
}
