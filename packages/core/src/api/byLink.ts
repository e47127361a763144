import { ConfigError } from '../errors.js';
import { addressOf } from '../http/origin.js';
import type { Query } from '../http/query.js';
import type { PageAnswer, Selector } from './answer.js';
import { finder } from './documentPath.js';
import { cursorOf, type PageAddress, type Paging } from './paging.js';

const longestShown = 200;

/** Options of {@link byLink}. */
export interface LinkOptions {
  /**
   * Where an answer's body holds the next page's address, e.g. `links.next`: `null`, empty text, and with a `?` one that is missing, end
   * the listing. Default: in the `Link` header, as `rel="next"`; an answer without one ends the listing.
   */
  readonly at?: Selector<unknown>;
}

/**
 * Paging by the address of the next page, in the `Link` header (RFC 8288) or in the body.
 *
 * The address may be relative. It must stay below the API's base address, whatever the server says: the key goes along. What is kept as a
 * cursor is its path and query, and its parameters are sent as they are, so page size and filters are those that the server wrote.
 *
 * In browsers a server on another origin has to expose the header (`Access-Control-Expose-Headers: Link`): else it looks as if there were
 * one page. Rows that move during a walk are the API's business, as with `byCursor`.
 *
 * @example
 * byLink()                      // Link: <https://api.example.com/items?page=2>; rel="next"
 * byLink({ at: 'next' })        // { "results": […], "next": "https://api.example.com/items?page=2" }
 *
 * @throws ConfigError if the path is none. Later: DecodeError if the header can't be read, or the address leads elsewhere.
 */
export function byLink({ at }: LinkOptions = {}): Paging {
  const place = at === undefined ? undefined : finder(at);
  return {
    identity: { by: 'link', at: place?.identity ?? null },
    params: [],
    request: (_first, mark) => addressAt(cursorOf(mark)),
    next(answer) {
      const where = place ? place.text : 'the Link header';
      const uri = place ? answer.read.cursor(place.find(answer), where) : linkedNext(answer, where);
      return uri === undefined ? 'end' : { cursor: cursorTo(uri, where, answer) };
    },
  };
}

function linkedNext({ headers, read }: PageAnswer, where: string): string | undefined {
  const links = parseLinkHeader(headers['link'] ?? '');
  if (!links) throw read.fault(where, 'it is not written as RFC 8288 says');
  // An anchor makes it a link of something else than this page.
  return links.find((link) => hasRelation(link, 'next') && !link.params.has('anchor'))?.uri;
}

/** Path and query of the next page, as they stand below the base address. */
function cursorTo(uri: string, where: string, { baseUrl, path, read }: PageAnswer): string {
  const page = baseUrl + path;
  if (!URL.canParse(uri, page)) throw read.fault(where, 'it holds no address of a next page');
  const [next, base] = [new URL(uri, page), new URL(baseUrl)];
  const root = base.pathname.replace(/\/$/, '');
  const isBelow = next.pathname === root || next.pathname.startsWith(`${root}/`);
  if (next.origin !== base.origin || !isBelow)
    throw read.fault(
      where,
      `it leads to ${shown(uri)}, which is not below the base address: the key must not go there`,
    );
  if (!isWhole(next.search)) throw read.fault(where, 'its query is not percent-encoded as UTF-8');
  const below = next.pathname.slice(root.length) || '/';
  if (!isRequestable(baseUrl, below)) throw read.fault(where, `it leads to ${shown(uri)}, which is no plain path`);
  return below + next.search;
}

/** As the server wrote it, and not as an URL: only so is a secret in it found. Without what stands behind the path. */
function shown(uri: string): string {
  return JSON.stringify((uri.split(/[?#]/)[0] ?? '').slice(0, longestShown));
}

/** Whether a request may go to a path: an escaped step upwards, say, could take the key elsewhere. */
function isRequestable(baseUrl: string, path: string): boolean {
  try {
    addressOf(baseUrl, path, '');
    return true;
  } catch {
    return false;
  }
}

/** Whether every escape in a query stands for text: else what is sent would be another query. */
function isWhole(query: string): boolean {
  try {
    decodeURIComponent(query);
    return true;
  } catch {
    return false;
  }
}

function addressAt(cursor: string): PageAddress {
  if (!cursor.startsWith('/'))
    throw new ConfigError('startAt is no address of a page: it must be a path below the base address, with its query.');
  const [path = '', ...query] = cursor.split('?');
  return { path, query: queryOf(query.join('?')), arrays: 'repeat' };
}

/** The same query, as names and values; of a name that is repeated, all values. */
function queryOf(text: string): Query {
  const values = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(text)) values.set(name, [...(values.get(name) ?? []), value]);
  return Object.fromEntries([...values].map(([name, all]) => [name, all.length === 1 ? (all[0] ?? '') : all]));
}

interface HeaderLink {
  /** As it was written: it may be relative. */
  readonly uri: string;
  /** Its parameters by name, in lower case; of one that is repeated, the first. */
  readonly params: ReadonlyMap<string, string>;
}

/**
 * Reads a `Link` header, several values joined by commas included.
 *
 * @returns `undefined` if it is none. The standard would have readers drop the rest from there on; but a link to the next page that is
 * dropped ends a listing early, and nobody notices.
 * @see RFC 8288, section 3 and appendix B.2
 */
export function parseLinkHeader(header: string): readonly HeaderLink[] | undefined {
  const text = new Scanner(header);
  const links: HeaderLink[] = [];
  for (;;) {
    // Between commas there may be nothing.
    text.skip(/[\s,]+/y);
    if (text.isAtEnd) return links;
    const uri = text.skip(/<([^<>]*)>/y)?.[1];
    const params = uri === undefined ? undefined : paramsOf(text);
    if (uri === undefined || !params) return undefined;
    links.push({ uri: uri.trim(), params });
  }
}

/** Whether a link's relations, names with spaces between, have this one among them. */
export function hasRelation({ params }: HeaderLink, relation: string): boolean {
  const relations = params.get('rel')?.toLowerCase().split(/\s+/) ?? [];
  return relations.includes(relation);
}

/** All up to the comma that ends a link; `undefined` if that is reached by no way that the standard has. */
function paramsOf(text: Scanner): ReadonlyMap<string, string> | undefined {
  const params = new Map<string, string>();
  while (text.skip(/\s*;\s*/y)) {
    const name = text.skip(/[^\s=;,"<>]+/y)?.[0].toLowerCase();
    if (name === undefined) continue;
    const value = text.skip(/\s*=\s*/y) ? valueOf(text) : '';
    if (value === undefined) return undefined;
    if (!params.has(name)) params.set(name, value);
  }
  text.skip(/\s+/y);
  return text.isAtEnd || text.isAt(',') ? params : undefined;
}

function valueOf(text: Scanner): string | undefined {
  if (!text.isAt('"')) return text.skip(/[^;,"]*/y)?.[0].trim();
  return text.skip(/"((?:[^"\\]|\\.)*)"/sy)?.[1]?.replace(/\\(.)/gs, '$1');
}

/** Goes along a text and never back, so that the longest header takes no longer than its length. */
class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  isAt(character: string): boolean {
    return this.#text.charAt(this.#at) === character;
  }

  /** What a sticky pattern matches from here, which is then behind; `undefined` if it matches nothing. */
  skip(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (!match) return undefined;
    this.#at += match[0].length;
    return match;
  }
}
