import type { ApiName } from '../kit/apiReference.js';
import { exactJson } from './exactJson.js';
import { expectedPage, type Expected, type ExpectedFault } from './expectedPage.js';
import { holdsKey, keyTraces } from './keyTraces.js';

/** What a walk has to be. */
export interface ExpectedWalk {
  /** The rows given out, as exact JSON. */
  readonly rows: readonly string[];
  /** Where each request went on. */
  readonly marks: readonly PageCursor[];
  /** Why it ended; nothing where it came to its end. */
  readonly fault?: ExpectedFault;
}

/** What a request says of the place where it goes on. */
export interface PageCursor {
  readonly cursor?: string;
  readonly offset?: number;
}

/** What is answered when an answer too many is asked for: a listing's end. */
export const endOfListing: Readonly<Record<ApiName, string>> = {
  streams: '{"result":[]}',
  aptos: '{"result":[],"hasNextPage":false}',
};

/** No server takes a longer one. */
const longestCursor = 16_384;

/**
 * What becomes of a walk that is given these answers, one after the other. Where there is more than one opinion on an answer, any of the
 * walks that follow from them is right.
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
  /** The rows of each page so far that had some. */
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
    let received = page.rows.map(exactJson);
    if (at.offset !== undefined) {
      // The last row was asked for again.
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
    // It leads back to an earlier page, unless the API moves the cursor on that was just used.
    const isSame = marks.at(-1)?.cursor === cursor;
    if (!isRefused && !isSame && marks.some((mark) => mark.cursor === cursor))
      return [
        ...(keyTraces(secret, cursor).length > 0 ? [fail('secret-in-cursor')] : []),
        { rows: all.rows, marks, fault: { codes: ['no-progress'] } },
      ];
    const refused = isRefused || keyTraces(secret, cursor).length > 0 ? [fail('secret-in-cursor')] : [];
    // A piece of the key is no secret, and may be taken for one.
    return isRefused ? refused : [...refused, ...goOn(api, secret, later, { ...all, marks: [...marks, { cursor }] })];
  });
}

/** The same, where the next question was asked before anybody looked at the rows, or could not be asked. */
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

/** A cursor that is refused has its own word. */
function faultAt(fault: ExpectedFault, at: PageCursor): ExpectedFault {
  const isRefused = at.cursor !== undefined && [400, 404, 410].includes(fault.status ?? 0);
  return isRefused ? { codes: ['cursor-refused'] } : fault;
}
