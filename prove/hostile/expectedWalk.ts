import type { ApiName } from '../../test/kit/apiReference.js';
import { exactJson } from './exactJson.js';
import { expectedPage, type Expected, type ExpectedFault } from './expectedPage.js';
import { holdsKey, keyTraces } from './keyTraces.js';

/** The expected outcome of a walk. */
export interface ExpectedWalk {
  /** The emitted rows, as exact JSON. */
  readonly rows: readonly string[];
  /** The position that each request asks for. */
  readonly marks: readonly PageCursor[];
  /** Why it failed; absent if it reached its end. */
  readonly fault?: ExpectedFault;
}

/** The position that a request asks for. */
export interface PageCursor {
  readonly cursor?: string;
  readonly offset?: number;
}

/** The response to a request too many: the end of a listing. */
export const endOfListing: Readonly<Record<ApiName, string>> = {
  streams: '{"result":[]}',
  aptos: '{"result":[],"hasNextPage":false}',
};

/** Servers do not accept longer ones. */
const longestCursor = 16_384;

/**
 * The outcome of a walk that receives these responses in order. If there are several opinions on a response, each walk
 * that follows from one of them is correct.
 */
export function expectedWalks(
  api: ApiName,
  answers: readonly (readonly Expected[])[],
  secret: string,
): readonly ExpectedWalk[] {
  return goOn(api, secret, answers, { rows: [], marks: [{}], pages: [] });
}

interface Begun {
  readonly rows: readonly string[];
  readonly marks: readonly PageCursor[];
  /** The rows of each page so far that had any. */
  readonly pages: readonly string[];
}

function goOn(
  api: ApiName,
  secret: string,
  [opinions, ...later]: readonly (readonly Expected[])[],
  begun: Begun,
): ExpectedWalk[] {
  const { rows, marks, pages } = begun;
  const at = marks.at(-1) ?? {};
  const fail = (...codes: string[]): ExpectedWalk => ({ rows, marks, fault: { codes } });
  return (opinions ?? [expectedPage(api, endOfListing[api])]).flatMap((page): ExpectedWalk[] => {
    if (!('rows' in page)) {
      const ended = { rows, marks, fault: faultAt(page, at) };
      return [ended, ...(page.apartFromRows ? apartFromRows(ended, page.apartFromRows, secret) : [])];
    }
    // Each later page is one that a cursor or `hasNextPage` announced.
    if (page.isNothing && marks.length > 1) return [fail('http')];
    let received = page.rows.map(exactJson);
    if (at.offset !== undefined) {
      // The last row was requested again.
      if (received[0] === undefined || received[0] !== rows.at(-1)) return [fail('rows-moved')];
      received = received.slice(1);
    }
    const whole = received.join('\n');
    if (received.length > 0 && pages.includes(whole)) return [fail('no-progress')];
    const all = { rows: [...rows, ...received], pages: received.length > 0 ? [...pages, whole] : pages };
    if (page.next === 'end') return [{ rows: all.rows, marks }];
    if (page.next === 'by-offset') {
      if (received.length === 0) return [fail('no-progress')];
      return goOn(api, secret, later, { ...all, marks: [...marks, { offset: all.rows.length - 1 }] });
    }
    const { cursor } = page.next;
    if (isUnsendable(cursor)) return [{ rows, marks, fault: { codes: ['decode'], paths: ['cursor'] } }];
    const isRefused = holdsKey(secret, cursor);
    // It leads back to an earlier page, unless the API advances the cursor that was just used.
    const isSame = marks.at(-1)?.cursor === cursor;
    if (!isRefused && !isSame && marks.some((mark) => mark.cursor === cursor))
      return [
        ...(keyTraces(secret, cursor).length > 0 ? [fail('secret-in-cursor')] : []),
        { rows: all.rows, marks, fault: { codes: ['no-progress'] } },
      ];
    const refused = isRefused || keyTraces(secret, cursor).length > 0 ? [fail('secret-in-cursor')] : [];
    // A fragment of the key is not a secret, but may be mistaken for one.
    return isRefused ? refused : [...refused, ...goOn(api, secret, later, { ...all, marks: [...marks, { cursor }] })];
  });
}

/** The same if the next page was requested before the rows were decoded, or could not be requested. */
function apartFromRows(
  ended: ExpectedWalk,
  { received, next }: NonNullable<ExpectedFault['apartFromRows']>,
  secret: string,
): ExpectedWalk[] {
  const { rows, marks } = ended;
  const isAgain = marks.at(-1)?.offset !== undefined;
  const fail = (...codes: string[]): ExpectedWalk => ({ rows, marks, fault: { codes } });
  const first = isAgain ? [fail('rows-moved')] : [];
  if (next === 'end') return first;
  if (next === 'by-offset') {
    const offset = rows.length + received - (isAgain ? 1 : 0) - 1;
    return [...first, { ...ended, marks: [...marks, { offset }] }];
  }
  const { cursor } = next;
  if (isUnsendable(cursor)) return [...first, { rows, marks, fault: { codes: ['decode'], paths: ['cursor'] } }];
  const hasPiece = holdsKey(secret, cursor) || keyTraces(secret, cursor).length > 0;
  return [
    ...first,
    ...(hasPiece ? [fail('secret-in-cursor')] : []),
    ...(holdsKey(secret, cursor) ? [] : [{ ...ended, marks: [...marks, { cursor }] }]),
  ];
}

function isUnsendable(cursor: string): boolean {
  return cursor.length > longestCursor || /\p{Surrogate}/u.test(cursor);
}

/** A cursor that may have expired has a code of its own: both APIs refuse it with 400. */
function faultAt(fault: ExpectedFault, at: PageCursor): ExpectedFault {
  const isRefused = at.cursor !== undefined && [400, 410].includes(fault.status ?? 0);
  return isRefused ? { codes: ['cursor-refused'] } : fault;
}
