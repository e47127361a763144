import { ConfigError } from '../errors.js';
import { hintFor } from '../checks.js';
import type { WalkedPages } from '../source/definition.js';
import { hashOf } from '../source/fingerprint.js';
import { kindOf, shownText } from '../values.js';
import type { PageResponse } from './pageResponse.js';
import type { PageSize } from './requestSpec.js';
import type { Paging } from './paging.js';

const kinds = ['short-page', 'no-rows', 'repeated-page'] as const;

/**
 * What ends a listing whose API does not say that a page is the last one. It never ends one of which the API states
 * more: `more: true`, another address as the next one, a larger number of pages, or a larger total.
 *
 * - `short-page`: a page with fewer rows than were requested. It needs `pageSize.max`, since a server that allows fewer
 *   sends only as many. A short first page of 10 rows or more is trusted only if a larger page was received before, e.g. of
 *   another parent: otherwise the next page is requested, too, and if that has rows, the size of the first page counts.
 * - `no-rows`: a page without rows.
 * - `repeated-page`: a page with the same rows as the one before, whose rows are not emitted again. A repeated first page
 *   looks like an ignored parameter, so it is an error, unless that page is short or `total` says that it has all rows.
 * - a function of the page: `true` ends the listing after its rows.
 *
 * A page with a partial error ends none.
 */
export type Until = (typeof kinds)[number] | ((page: PageResponse) => boolean);

/** What {@link endsAt} needs of a listing. */
export interface EndSpec {
  readonly until?: Until | undefined;
  readonly paging: Paging;
  readonly pageSize?: Pick<PageSize, 'max'> | undefined;
}

/** A page about which its paging says that the listing continues. */
interface OpenPage {
  readonly response: PageResponse;
  readonly walked: WalkedPages;
  /** Identifies its rows, if they are compared with those of the page before. */
  readonly hash: string | undefined;
  /** The items of the largest page that the API has sent in this walk, of any parent or partition. */
  readonly largest: number;
}

/** No server allows fewer rows a page. */
const smallestLimit = 10;

/** Sizes to which servers reduce larger ones. */
export const usualSizes: readonly number[] = [10, 20, 25, 30, 50, 100, 200, 250, 500, 1_000];

/** How `until` is part of what a checkpoint must match. */
export function untilIdentity(until: Until | undefined): { readonly until?: string } {
  return until === undefined ? {} : { until: typeof until === 'function' ? 'function' : until };
}

/** @throws ConfigError for a value that there is not, or without the size of a page. */
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

/** Identifies all rows of a page, as they were received, if `until` compares pages. */
export function pageHash(until: Until | undefined, rows: readonly unknown[]): string | undefined {
  return until === 'repeated-page' && rows.length > 0 ? `${rows.length}.${hashOf(rows)}` : undefined;
}

/** Whether `until` ends a listing at a page at which its paging does not. @throws DecodeError if its function fails. */
export function endsAt({ until, paging, pageSize }: EndSpec, page: OpenPage): boolean {
  const { response } = page;
  if (until === undefined || isMoreStated(paging, page)) return false;
  if (typeof until === 'function') return decide(until, response);
  if (until === 'no-rows') return response.items === 0;
  if (until === 'short-page') return isLastByItsSize(page, pageSize?.max);
  return isLastRepeated(page, pageSize?.max);
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

function isLastByItsSize(
  { response: { items, requested }, walked, largest }: OpenPage,
  max: number | undefined,
): boolean {
  if (items === 0) return true;
  const size = sizeOf(requested, max);
  if (walked.pages === 0) return items < size && (items < smallestLimit || items < largest);
  // The first page may have been of a reduced size.
  return items < Math.min(size, walked.firstRows ?? size);
}

function isLastRepeated({ response, walked, hash }: OpenPage, max: number | undefined): boolean {
  if (hash === undefined || hash !== walked.hash) return false;
  if (walked.pages > 1) return true;
  const { firstRows = Infinity, rows } = walked;
  const isShort = firstRows < sizeOf(response.requested, max) && !usualSizes.includes(firstRows);
  return isShort || (rows !== undefined && (response.total ?? walked.total) === rows);
}

/** The rows of a full page. Two are requested to read a known one again, also of an API that sends one at a time. */
function sizeOf(requested = 0, max = Infinity): number {
  return Math.min(requested, max);
}
