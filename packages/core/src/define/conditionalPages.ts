import { entityTagOf, isSameTag } from '../http/response/entityTag.js';
import type { ApiResponse } from '../plugins/plugin.js';
import type { UndecodedPage } from '../rows/source/definition.js';
import { fingerprintOf, jsonLengthOf } from '../rows/source/fingerprint.js';
import type { PageCache, StoredPage } from '../rows/source/pageCache.js';

const notModified = 304;

/** One page to fetch. */
interface ConditionalRequest<Row> {
  readonly cache: PageCache;
  /** All that determines the page, besides the credentials. Compared as JSON. */
  readonly identity: unknown;
  /** Identifies the credentials that requests get now. If it rejects, e.g. without Web Crypto, no page is stored. */
  readonly fingerprint: () => Promise<string>;
  /** Sends the request, with `If-None-Match` if there is a tag. */
  readonly send: (tag?: string) => Promise<ApiResponse>;
  readonly read: (response: ApiResponse) => UndecodedPage<Row>;
  /** The headers that say whether a page ends the listing; absent if that is unknown. */
  readonly reads: readonly string[] | undefined;
}

interface Content<Row> {
  readonly response: ApiResponse;
  readonly received: readonly unknown[];
  readonly rows: readonly Row[];
}

/**
 * The contents of one listing's stored pages. Each {@link StoredPage} retains its content, so the content is dropped
 * with the page, and no other listing with the same cache can get it.
 */
export class ConditionalPages<Row> {
  readonly #contents = new WeakMap<StoredPage, Content<Row>>();

  /** Fetches a page. If the API answers 304 (Not Modified), returns the stored page without decoding its rows again. */
  async fetch(request: ConditionalRequest<Row>): Promise<UndecodedPage<Row>> {
    const { cache, identity, fingerprint, send, read } = request;
    const credential = await fingerprint().catch(() => undefined);
    if (credential === undefined) return read(await send());
    const key = JSON.stringify([identity, credential]);
    const page = cache.find(key);
    const content = page && this.#contents.get(page);
    if (page && content) {
      const response = await send(page.tag);
      if (response.status !== notModified) return this.#stored(key, credential, response, request);
      const isOwn = isSameTag(response.headers['etag'] ?? page.tag, page.tag) && (await fingerprint()) === credential;
      const reused = isOwn ? reusedPage(content, response, request) : undefined;
      if (reused) {
        cache.countUse();
        return reused;
      }
      cache.drop(key, { isUnfit: true });
    }
    return this.#stored(key, credential, await send(), request);
  }

  /** The page of a complete response, which is stored when it is decoded. */
  async #stored(
    key: string,
    credential: string,
    response: ApiResponse,
    { cache, fingerprint, read }: ConditionalRequest<Row>,
  ): Promise<UndecodedPage<Row>> {
    cache.drop(key);
    const page = read(response);
    const { received } = page;
    const tag = entityTagOf(response.headers);
    if (tag === undefined || page.isIncomplete || (await fingerprint()) !== credential) return page;
    return {
      ...page,
      decode: () => {
        const before = fingerprintOf(received);
        const rows = page.decode();
        // A decoder may modify its input. Then the page could not be compared with others, or read again.
        if (fingerprintOf(received) !== before) return rows;
        const stored = { tag, rows: received.length, bytes: jsonLengthOf(received) };
        if (cache.store(key, stored)) this.#contents.set(stored, { response, received, rows });
        return rows;
      },
    };
  }
}

/**
 * The stored page with the headers of the 304, e.g. `Link`. A server may omit such headers (RFC 9110, 15.4.5). Then the
 * headers of the stored page count, unless it ends the listing: there may be a next page by now.
 */
function reusedPage<Row>(
  { response, received, rows }: Content<Row>,
  { headers }: ApiResponse,
  { read, reads }: ConditionalRequest<Row>,
): UndecodedPage<Row> | undefined {
  const page = read({ ...response, headers: { ...response.headers, ...headers } });
  const repeatsHeaders = reads?.every((name) => Object.hasOwn(headers, name)) === true;
  const isSame = page.received.length === received.length && received.every((row, nth) => row === page.received[nth]);
  if (!isSame || page.isIncomplete || (page.next === 'end' && !repeatsHeaders)) return undefined;
  return { ...page, received, decode: () => rows };
}
