import { checkOptions, hintFor } from '../../checks.js';
import { ConfigError, type DecodeError } from '../../errors.js';
import { addressOf } from '../../http/origin.js';
import { isSendableQuery } from '../../http/query.js';
import type { PageResponse, Selector } from '../responses/pageResponse.js';
import { isList, shownText } from '../../values.js';
import { finder } from '../responses/documentPath.js';
import { type FirstRequest, keepParams, lostParams, pageNumberIn } from './lostParams.js';
import { nextIn } from './namedNext.js';
import { moreKinds, type MoreOptions, withMoreFlag } from './moreFlag.js';
import { cursorOf, type PageAddress, type Paging } from './paging.js';

const longestShown = 200;
const linkHeader = 'the Link header';

/** Options of {@link byLink}. Without `more` and `last`, more rows follow if there is an address. */
export interface LinkOptions extends MoreOptions {
  /**
   * Where the body has the next page's URL, e.g. `links.next`. `null`, empty text, and a missing value if the path has
   * a `?`, end the listing. Default: the `Link` header with `rel="next"`; without it, or with `results="false"` as in
   * Sentry, the listing ends.
   */
  readonly at?: Selector<unknown>;
  /**
   * Which parameters of the first request are added to an address that has lost them, and replace other values: `true`
   * for all, or their names. `false` uses addresses unchanged. Default: an address that counts pages or rows, e.g. with
   * `page=2`, is an error if it lacks a parameter of the first request or has another value of it, since it lists other
   * rows. An address with a cursor is used unchanged, since a cursor may know the parameters.
   */
  readonly keep?: boolean | readonly string[];
}

/**
 * Paging by the URL of the next page, in the `Link` header (RFC 8288) or in the body.
 *
 * The URL may be relative. It must be below the API's base URL, because the key is sent to it. Its path and query
 * become the cursor, and the query is sent byte for byte, except for the parameter of a `queryKey` and the parameters
 * of `keep`. So the server determines page size and filters; a body is sent again. Links (of the transport) see the
 * query as `rawQuery`, and may add to it with `query`. An address with a character that can't be sent unchanged, e.g. a
 * blank, is an error.
 *
 * In browsers, a server of another origin must expose the header (`Access-Control-Expose-Headers: Link`), or the first
 * page seems to be the only one. As with `byCursor`, the API decides what happens to rows that move during a walk.
 *
 * @example
 * byLink()                      // Link: <https://api.example.com/items?page=2>; rel="next"
 * byLink({ at: 'next' })        // { "results": […], "next": "https://api.example.com/items?page=2" }
 * byLink({ at: 'after_url', last: 'end_of_stream' }) // The last page also has an address.
 * byLink({ at: 'next', keep: true })                 // The address lacks the filter of the first request.
 * byLink({ at: ({ at }) => `/v2${at('next')}` })     // The address lacks a part of its path.
 *
 * @throws ConfigError if the path is invalid. Later: DecodeError if the header is invalid, or the URL is not below the
 * base URL.
 */
export function byLink(options: LinkOptions = {}): Paging {
  checkOptions('byLink()', options, { ...moreKinds, at: 'text or a function?', keep: 'a boolean or a list?' });
  const { at, keep } = options;
  const names: unknown = keep;
  if (isList(names) && !names.every((name) => typeof name === 'string' && name !== ''))
    throw new ConfigError('keep of byLink() has something else than names of parameters.', { option: 'keep' });
  const selector = at === undefined ? undefined : finder(at);
  const next = (response: PageResponse, follows?: true): { readonly cursor: string } | 'end' => {
    const where = selector ? selector.text : linkHeader;
    const uri = selector ? response.read.cursor(selector.find(response), where) : linkedNext(response, where);
    if (uri !== undefined) {
      const cursor = cursorTo(uri.trim(), where, response);
      if (keep === undefined) checkLost(cursor, where, response);
      else if (isList(keep)) warnOfUnknown(keep, response);
      return { cursor };
    }
    if (follows) throw response.read.fault(where, 'more rows follow, but there is no address');
    const named =
      selector || response.from || response.headers['link'] !== undefined ? undefined : nextIn(response.body);
    if (named !== undefined)
      response.warn(
        `the first page has no Link header, so the listing ends, but it names a next page at ${named}. If it is one, write how the API continues, e.g. byLink({ at: ${JSON.stringify(named)} }) or byCursor().`,
      );
    else if (selector ? selector.isMissing(response) : response.headers['link'] === undefined)
      response.warnIfFull(`correct paging: ${where || 'its address'} is missing`);
    return 'end';
  };
  const paging = withMoreFlag(options, {
    identity: { by: 'link', at: selector?.identity ?? null, ...(keep !== undefined && { keep }) },
    params: [],
    reads: selector ? selector.reads : ['link'],
    namesNext: true,
    request: ({ query, body, headers }, from) => ({
      ...addressAt(cursorOf(from), keep ? { query, keep } : undefined),
      ...(body !== undefined && { body }),
      ...(headers && { headers }),
    }),
    next,
  });
  return {
    ...paging,
    // An address that stays the same does not state a next page: the API advances by itself, until it has no more rows.
    more(response) {
      const to = paging.next(response);
      return typeof to === 'object' && !(response.from && cursorOf(response.from) === to.cursor);
    },
  };
}

/** The address of the next page in the `Link` header. @throws DecodeError if the header is invalid. */
export function linkedNext({ headers, read }: PageResponse, where: string): string | undefined {
  const links = parseLinkHeader(headers['link'] ?? '');
  if (!links)
    throw read.fault(
      where,
      'it is not written as RFC 8288 says',
      'If its address can be read all the same, let at of byLink() be a function that does, e.g. ({ headers }) => …',
    );
  // A link with an anchor belongs to something else than this page. Sentry marks the link of its last page.
  return links.find(
    (link) => hasRelation(link, 'next') && !link.params.has('anchor') && link.params.get('results') !== 'false',
  )?.uri;
}

/** Path and query of the next page, below the base URL. The query is as the server wrote it. */
function cursorTo(uri: string, where: string, response: PageResponse): string {
  const { baseUrl, path, redact, withoutSecret } = response;
  const page = baseUrl + path;
  const fault = (what: string, how?: string): DecodeError => linkFault(where, what, response, how);
  const link = redact(shown(uri));
  if (!URL.canParse(uri, page)) throw fault(`it has ${link}, which is not a URL`);
  const next = new URL(uri, page);
  const base = new URL(baseUrl);
  const root = base.pathname.replace(/\/$/, '');
  const isBelow = next.pathname === root || next.pathname.startsWith(`${root}/`);
  if (next.origin !== base.origin)
    throw fault(
      `it points to ${link}, which is not below the base URL: the key must not go there. Its origin is not ${base.origin}`,
    );
  if (!isBelow)
    throw fault(
      `it points to ${link}, which is not below the base URL: the key must not go there. Its path does not begin with ${root}`,
    );
  const [address = ''] = uri.split('#');
  const [before = '', ...rest] = address.split('?');
  const query = rest.join('?');
  const below = next.pathname.slice(root.length);
  if (below === '')
    throw fault(
      'it points to the base URL itself, and requests go below it: take the last part off baseUrl, and begin path with it',
      '',
    );
  if (!/^[!-~]*$/.test(address) || /["<>\\^`{|}]/.test(before) || !isSendableQuery(query))
    throw fault(
      `it points to ${link}, and has a character that can't be sent as it is, e.g. a blank: addresses are ASCII, and others are percent-encoded`,
    );
  if (!isRequestable(baseUrl, below)) throw fault(`it points to ${link}, which is not a plain path`);
  return withoutSecret(query === '' ? below : `${below}?${query}`);
}

/** @param how advice for the user. Default: to repair the address. */
function linkFault(
  where: string,
  what: string,
  { read }: PageResponse,
  how = `If the address only has to be mended, let at of byLink() be a function that does, e.g. ${where === linkHeader ? '({ headers })' : '({ body })'} => …`,
): DecodeError {
  return read.fault(where, what, how);
}

/** @throws DecodeError if the address of a next page counts pages, and requests other rows than the first request. */
function checkLost(cursor: string, where: string, response: PageResponse): void {
  const { first, redact, path } = response;
  const lost = lostParams(first, cursor, path);
  if (lost.length === 0) return;
  const number = pageNumberIn(first, cursor);
  if (number === undefined) return;
  const losses = lost.map(({ name, value, found }) => {
    const asked = `${name}=${shownText(value)}`;
    return redact(found === undefined ? `lacks ${asked}` : `has ${name}=${shownText(found)} instead of ${asked}`);
  });
  throw linkFault(
    where,
    `the address of the next page counts (${redact(number)}), but ${losses.join(' and ')} of the first request, so it lists other rows`,
    response,
    'Set keep of byLink() to true, or to the names of such parameters, to send them with each page; or to false, if the API knows them all the same.',
  );
}

function warnOfUnknown(keep: readonly string[], { first, warn }: PageResponse): void {
  const names = Object.keys(first.query);
  const unknown = keep.find((name) => !names.includes(name));
  if (unknown !== undefined)
    warn(`keep of byLink() names ${shownText(unknown)}, which the first request has not. ${hintFor(unknown, names)}`);
}

/** The URL without its query, as the server wrote it: parsing could change it so that the search misses a secret. */
function shown(uri: string): string {
  return shownText(uri.split(/[?#]/)[0] ?? '', longestShown);
}

/** Whether a request may use a path: an escaped `..`, for example, could send the key elsewhere. */
function isRequestable(baseUrl: string, path: string): boolean {
  try {
    addressOf(baseUrl, path);
    return true;
  } catch {
    return false;
  }
}

function addressAt(
  cursor: string,
  kept: { readonly query: FirstRequest['query']; readonly keep: true | readonly string[] } | undefined,
): PageAddress {
  const [path = '', ...rest] = cursor.split('?');
  const rawQuery = rest.join('?');
  if (!cursor.startsWith('/') || !isSendableQuery(rawQuery))
    throw new ConfigError(
      'startAt is not the address of a page: it must be a path below the base URL, with its query, percent-encoded.',
    );
  const sent = kept ? keepParams(kept.query, rawQuery, kept.keep) : { rawQuery, query: {} };
  return { path, query: sent.query, ...(sent.rawQuery !== '' && { rawQuery: sent.rawQuery }) };
}

interface HeaderLink {
  /** As written; may be relative. */
  readonly uri: string;
  /** Its parameters by lower-case name; if a parameter repeats, its first value. */
  readonly params: ReadonlyMap<string, string>;
}

/**
 * Parses a `Link` header, including several values joined by commas.
 *
 * @returns `undefined` if the header is invalid. The standard would drop the rest, but a dropped link to the next page
 * would end a listing early, unnoticed.
 * @see RFC 8288, section 3 and appendix B.2
 */
export function parseLinkHeader(header: string): readonly HeaderLink[] | undefined {
  const links: HeaderLink[] = [];
  let at = 0;
  const skip = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(header);
    at += match?.[0].length ?? 0;
    return match;
  };
  for (;;) {
    // Empty elements between commas are allowed.
    skip(/[\s,]+/y);
    if (at === header.length) return links;
    const uri = skip(/<([^<>]*)>/y)?.[1];
    if (uri === undefined) return undefined;
    const params = new Map<string, string>();
    for (let param = skip(linkParam); param; param = skip(linkParam)) {
      const [, name = '', quoted, plain = ''] = param;
      const value = quoted?.replace(/\\(.)/gs, '$1') ?? plain.trim();
      if (!params.has(name.toLowerCase())) params.set(name.toLowerCase(), value);
    }
    skip(/\s+/y);
    if (at < header.length && header[at] !== ',') return undefined;
    links.push({ uri: uri.trim(), params });
  }
}

/** A parameter of a link, which may be empty. It never backtracks by more than blanks, so the time is linear. */
const linkParam = /\s*;\s*(?:([^\s=;,"<>]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;,"]*)))?)?/sy;

export function hasRelation({ params }: HeaderLink, relation: string): boolean {
  // Some servers write rel='next'. Without removing these quotes, the listing would end after a page.
  const relations = params.get('rel')?.toLowerCase() ?? '';
  return relations.split(/[\s']+/).includes(relation);
}
