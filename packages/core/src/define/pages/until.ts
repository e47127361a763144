import { ConfigError } from '../../errors.js';
import { hintFor } from '../../checks.js';
import type { UndecodedPage, WalkedPages } from '../../rows/source/definition.js';
import { hashOf, rowsOfFingerprint } from '../../rows/source/fingerprint.js';
import { kindOf, shownText } from '../../values.js';
import type { PageResponse } from '../responses/pageResponse.js';
import type { PageSize } from '../requests/requestSpec.js';
import type { Paging } from './paging.js';

const kinds = ['short-page', 'no-rows', 'repeated-page'] as const;

/**
 * Ends a listing whose API does not say that a page is the last one. It never ends a listing while the API states more
 * rows: by `more: true`, a new address of the next page, a larger number of pages, or a larger total.
 *
 * - `short-page`: a page with fewer rows than were requested, if the next page has no rows, or the same rows, or is
 *   refused with 400, 404, 416 or 422. It needs `pageSize.max`, since a server that allows fewer rows sends only as
 *   many. The next page is not requested if the total says that all rows have come, or, for a short first page, if the
 *   walk has seen that listings end at its size, e.g. listings of other parents.
 * - `no-rows`: a page without rows.
 * - `repeated-page`: a page with the same rows as the previous one; they are not emitted again. A repeated first page
 *   looks like an ignored parameter, so it is an error, unless that page is short or `total` says that it has all rows.
 * - a function of the page: `true` ends the listing after its rows.
 *
 * A page with a partial error does not end a listing.
 */
export type Until = (typeof kinds)[number] | ((page: PageResponse) => boolean);

/** The options of a listing that {@link endsAt} needs. */
export interface EndSpec {
  readonly until?: Until | undefined;
  readonly paging: Paging;
  readonly pageSize?: Pick<PageSize, 'max'> | undefined;
}

/** A page after which the listing continues by its paging. */
interface OpenPage {
  readonly response: PageResponse;
  readonly walked: WalkedPages;
  /** Identifies its rows, if they are compared with the rows of the previous page. */
  readonly hash: string | undefined;
  readonly sizes: PageSizes;
}

/** How often listings must have ended at the largest size before it is trusted: it may be a limit of the server. */
const endsOfLargest = 3;

/**
 * The sizes of short first pages in a walk, of any parent or partition. A short page may be the last one, or the server
 * sends fewer rows than requested or leaves some out. So a size counts as the size of a last page if a listing has
 * ended at it, and no rows followed a page of this size or a smaller one.
 */
export class PageSizes {
  readonly #ends = new Map<number, number>();
  #largest = 0;
  #smallestFollowed = Infinity;

  /** Describes a page with fewer rows than others, although rows followed it: no limit of a server does that. */
  get unevenness(): string | undefined {
    if (this.#smallestFollowed >= this.#largest) return undefined;
    return 'the API leaves rows out of its pages, e.g. those that the credentials may not read: a page that was followed by more rows has fewer than others.';
  }

  isOfLast(size: number): boolean {
    const ends = this.#ends.get(size) ?? 0;
    return size < this.#smallestFollowed && ends >= (size < this.#largest ? 1 : endsOfLargest);
  }

  /** @param page the rows of the response that are emitted */
  add({ items, rows, newRows }: PageResponse, { hash, pages }: WalkedPages, page: UndecodedPage<unknown>): void {
    this.#largest = Math.max(this.#largest, items);
    if (hash === undefined) return;
    const before = rowsOfFingerprint(hash);
    // The known row of an offset, and the known rows of an increment, belong to earlier pages.
    const known = Math.max(page.leftOut?.size ?? 0, rows.length - newRows);
    if (page.received.length > known) this.#smallestFollowed = Math.min(this.#smallestFollowed, before);
    else if (pages === 1 && page.next === 'end') this.#ends.set(before, (this.#ends.get(before) ?? 0) + 1);
  }
}

/** Usual maximum page sizes of servers. */
export const usualSizes: readonly number[] = [10, 20, 25, 30, 50, 100, 200, 250, 500, 1_000];

/** The part of the identity that `until` determines, for checkpoints. */
export function untilIdentity(until: Until | undefined): { readonly until?: string } {
  return until === undefined ? {} : { until: typeof until === 'function' ? 'function' : until };
}

/** @throws ConfigError if the value is unknown, or needs a page size that is missing. */
export function checkUntil(
  { until, pageSize }: Pick<EndSpec, 'until' | 'pageSize'>,
  fault: (option: string, what: string) => ConfigError,
): void {
  if (until === undefined) return;
  if (typeof until === 'function') return;
  if (!kinds.includes(until)) throw fault('until', `it is ${shownText(until)}. ${hintFor(until, kinds)}`);
  if (until === 'short-page' && pageSize?.max === undefined)
    throw fault('until', "'short-page' needs pageSize with the max of the API: of more, a server sends only as many");
}

/** Identifies all rows of a page, as received, if `until` compares the page with the next one. */
export function pageHash({ until, pageSize }: EndSpec, response: PageResponse): string | undefined {
  const { rows, items } = response;
  const isCompared = until === 'repeated-page' || (until === 'short-page' && isShort(response, pageSize?.max));
  return isCompared && rows.length > 0 ? `${items}.${hashOf(rows)}` : undefined;
}

/**
 * Whether `until` ends a listing at a page at which its paging does not: after the page's rows, or before them if they
 * are the rows of the previous page.
 *
 * @throws DecodeError if its function fails.
 */
export function endsAt({ until, paging, pageSize }: EndSpec, page: OpenPage): 'after' | 'before' | undefined {
  const { response } = page;
  if (until === undefined || isMoreStated(paging, page)) return undefined;
  if (typeof until === 'function') return decide(until, response) ? 'after' : undefined;
  if (response.items === 0) return until === 'repeated-page' ? undefined : 'after';
  if (until === 'no-rows') return undefined;
  if (isLastRepeated(page, pageSize?.max)) return 'before';
  if (until !== 'short-page' || !isShort(response, pageSize?.max)) return undefined;
  return isLastByItsSize(page) || isLastByTotal(page) ? 'after' : undefined;
}

function isMoreStated(paging: Paging, { response, walked }: OpenPage): boolean {
  const { total = walked.total, newRows } = response;
  if (total !== undefined && walked.rows !== undefined && total > walked.rows + newRows) return true;
  return paging.more?.(response) === true;
}

/** A function in JavaScript may return anything. */
function decide(until: (page: PageResponse) => unknown, response: PageResponse): boolean {
  const ends = until(response);
  if (typeof ends === 'boolean') return ends;
  throw response.read.fault('', `its until function returned ${kindOf(ends)}. It must return true or false`, '');
}

function isLastByItsSize({ response, walked, sizes }: OpenPage): boolean {
  return walked.pages === 0 && sizes.isOfLast(response.items);
}

/** Whether a total says that all rows have come. A total equal to the rows of its own page may count only these. */
function isLastByTotal({ response: { total, items, newRows }, walked }: OpenPage): boolean {
  return total !== undefined && total !== items && walked.rows !== undefined && total === walked.rows + newRows;
}

function isLastRepeated({ response, walked, hash }: OpenPage, max: number | undefined): boolean {
  // A page at an offset begins with the known row, which may be the only row that a server sends.
  if (hash === undefined || hash !== walked.hash || response.newRows < response.rows.length) return false;
  if (walked.pages > 1) return true;
  const { firstRows = Infinity, rows } = walked;
  const isUnusual = firstRows < sizeOf(response.requested, max) && !usualSizes.includes(firstRows);
  return isUnusual || (rows !== undefined && (response.total ?? walked.total) === rows);
}

function isShort({ items, requested }: PageResponse, max: number | undefined): boolean {
  return items < sizeOf(requested, max);
}

/** The rows of a full page. To read a known row again, two rows are requested, even if the API allows only one. */
function sizeOf(requested = 0, max = Infinity): number {
  return Math.min(requested, max);
}
