import { checkOptions } from '../checks.js';
import { ConfigError } from '../errors.js';
import { addressOf } from '../http/origin.js';
import { isSendableQuery } from '../http/query.js';
import type { PageResponse, Selector } from './pageResponse.js';
import { shownText } from '../values.js';
import { finder } from './documentPath.js';
import { nextIn } from './namedNext.js';
import { moreKinds, type MoreOptions, withMoreFlag } from './moreFlag.js';
import { cursorOf, type PageAddress, type Paging } from './paging.js';

const longestShown = 200;

/** Options of {@link byLink}. Without `more` and `last`, more rows follow if there is an address. */
export interface LinkOptions extends MoreOptions {
  /**
   * Where the body has the next page's URL, e.g. `links.next`. `null`, empty text, and a missing value if the path has
   * a `?`, end the listing. Default: the `Link` header with `rel="next"`; without it, or with `results="false"` as
   * Sentry has it, the listing ends.
   */
  readonly at?: Selector<unknown>;
}

/**
 * Paging by the URL of the next page, in the `Link` header (RFC 8288) or in the body.
 *
 * The URL may be relative. It must be below the API's base URL, because the key is sent to it. Its path and query
 * become the cursor, and the query is sent byte for byte, but for the parameter of a `queryKey`. So page size and filters
 * are those of the server; a body is sent again. A link sees the query as `rawQuery`, and may add to it with `query`. An
 * address with a character that cannot be sent so, e.g. a blank, is an error.
 *
 * In browsers, a server of another origin must expose the header (`Access-Control-Expose-Headers: Link`), or the first
 * page seems to be the only one. As with `byCursor`, the API decides what happens to rows that move during a walk.
 *
 * @example
 * byLink()                      // Link: <https://api.example.com/items?page=2>; rel="next"
 * byLink({ at: 'next' })        // { "results": […], "next": "https://api.example.com/items?page=2" }
 * byLink({ at: 'after_url', last: 'end_of_stream' }) // The last page has an address, too.
 *
 * @throws ConfigError if the path is invalid. Later: DecodeError if the header is invalid, or the URL is not below the
 * base URL.
 */
export function byLink(options: LinkOptions = {}): Paging {
  checkOptions('byLink()', options, { ...moreKinds, at: 'text or a function?' });
  const { at } = options;
  const selector = at === undefined ? undefined : finder(at);
  const next = (response: PageResponse, follows?: true): { readonly cursor: string } | 'end' => {
    const where = selector ? selector.text : 'the Link header';
    const uri = selector ? response.read.cursor(selector.find(response), where) : linkedNext(response, where);
    if (uri !== undefined) return { cursor: cursorTo(uri.trim(), where, response) };
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
    identity: { by: 'link', at: selector?.identity ?? null },
    params: [],
    reads: selector ? selector.reads : ['link'],
    namesNext: true,
    request: ({ body, headers }, from) => ({
      ...addressAt(cursorOf(from)),
      ...(body !== undefined && { body }),
      ...(headers && { headers }),
    }),
    next,
  });
  return {
    ...paging,
    // An address that stays the same is not one of a next page: the API advances by itself, until it has no more rows.
    more(response) {
      const to = paging.next(response);
      return typeof to === 'object' && !(response.from && cursorOf(response.from) === to.cursor);
    },
  };
}

/** The address of the next page in the `Link` header. @throws DecodeError if the header is invalid. */
export function linkedNext({ headers, read }: PageResponse, where: string): string | undefined {
  const links = parseLinkHeader(headers['link'] ?? '');
  if (!links) throw read.fault(where, 'it is not written as RFC 8288 says');
  // With an anchor it is a link of something else than this page. Sentry marks the link of its last page.
  return links.find(
    (link) => hasRelation(link, 'next') && !link.params.has('anchor') && link.params.get('results') !== 'false',
  )?.uri;
}

/** Path and query of the next page, below the base URL. The query is as the server wrote it. */
function cursorTo(uri: string, where: string, { baseUrl, path, read, withoutSecret }: PageResponse): string {
  const page = baseUrl + path;
  if (!URL.canParse(uri, page)) throw read.fault(where, 'it has no URL of a next page');
  const next = new URL(uri, page);
  const base = new URL(baseUrl);
  const root = base.pathname.replace(/\/$/, '');
  const isBelow = next.pathname === root || next.pathname.startsWith(`${root}/`);
  if (next.origin !== base.origin || !isBelow)
    throw read.fault(where, `it points to ${shown(uri)}, which is not below the base URL: the key must not go there`);
  const [address = ''] = uri.split('#');
  const [before = '', ...rest] = address.split('?');
  const query = rest.join('?');
  const below = next.pathname.slice(root.length);
  if (below === '')
    throw read.fault(
      where,
      'it points to the base URL itself, and requests go below it: take the last part off baseUrl, and begin path with it',
    );
  if (!/^[!-~]*$/.test(address) || /["<>\\^`{|}]/.test(before) || !isSendableQuery(query))
    throw read.fault(
      where,
      "it has a character that can't be sent as it is, e.g. a blank: addresses are ASCII, and others are percent-encoded",
    );
  if (!isRequestable(baseUrl, below)) throw read.fault(where, `it points to ${shown(uri)}, which is not a plain path`);
  return withoutSecret(query === '' ? below : `${below}?${query}`);
}

/** The URL without its query, as the server wrote it: parsing could change it so that a secret is not found. */
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

function addressAt(cursor: string): PageAddress {
  const [path = '', ...rest] = cursor.split('?');
  const rawQuery = rest.join('?');
  if (!cursor.startsWith('/') || !isSendableQuery(rawQuery))
    throw new ConfigError(
      'startAt is not the address of a page: it must be a path below the base URL, with its query, percent-encoded.',
    );
  return { path, query: {}, ...(rawQuery !== '' && { rawQuery }) };
}

interface HeaderLink {
  /** As written; may be relative. */
  readonly uri: string;
  /** Its parameters by lower-case name; if one repeats, the first. */
  readonly params: ReadonlyMap<string, string>;
}

/**
 * Parses a `Link` header, including several values joined by commas.
 *
 * @returns `undefined` if it is invalid. The standard would drop the rest, but a dropped link to the next page would
 * end a listing early, unnoticed.
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

/** Whether a link has a relation. */
export function hasRelation({ params }: HeaderLink, relation: string): boolean {
  // Some servers write rel='next': the relation would not be found, and the listing end after a page.
  const relations = params.get('rel')?.toLowerCase() ?? '';
  return relations.split(/[\s']+/).includes(relation);
}
