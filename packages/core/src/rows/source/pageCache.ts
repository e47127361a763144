import { checkCount } from '../../checks.js';
import { SluiceError } from '../../errors.js';

/** How many pages a poll or watch stores for conditional requests. Further pages are requested in full each time. */
export interface PageCacheLimits {
  /** Rows of all stored pages. Default 100,000. */
  readonly maxRows?: number | undefined;
  /** Bytes of all stored rows as JSON, estimated; in memory they take several times as much. Default 64 MiB. */
  readonly maxBytes?: number | undefined;
}

/** A stored page, apart from its content. */
export interface StoredPage {
  /** The entity tag to send as `If-None-Match`. */
  readonly tag: string;
  readonly rows: number;
  readonly bytes: number;
}

/** The pages that the walks of a poll or watch store, for a source that sends conditional requests (RFC 9110, 13). */
export interface PageCache {
  /**
   * Returns the page that was stored under a key. The caller sends its tag next.
   *
   * @param key everything that determines the page: address, credentials, version of the decoder
   */
  find(key: string): StoredPage | undefined;
  /** Called when a stored page is used, because the API said that it has not changed. */
  countUse(): void;
  /** Stores a page. `false`: it exceeds the limits, or must not be stored. */
  store(key: string, page: StoredPage): boolean;
  /** Drops a page. `isUnfit`: its validator can't be trusted, so it is not stored again. */
  drop(key: string, options?: { readonly isUnfit?: boolean }): void;
}

interface Entry {
  /** Absent if the page must not be stored. */
  readonly page?: StoredPage;
  /** The last walk that requested it. */
  walk: number;
}

/** After so many consecutive walks that stored pages made fail, no more pages are stored. */
const maxRefusals = 3;

/**
 * The stored pages of one poll or watch, from its last complete walk and the current one. The rows themselves
 * belong to the source, which knows their type.
 */
export class StoredPages implements PageCache {
  readonly #maxRows: number;
  readonly #maxBytes: number;
  readonly #entries = new Map<string, Entry>();
  #rows = 0;
  #bytes = 0;
  #walk = 0;
  /** The last walk that has sent a tag, and the last one that used a page instead of a response. */
  #askedIn = 0;
  #usedIn = 0;
  #refusals = 0;

  /** @throws ConfigError if a limit is invalid. */
  constructor({ maxRows = 100_000, maxBytes = 64 * 1024 * 1024 }: PageCacheLimits = {}) {
    checkCount('maxRows', maxRows);
    checkCount('maxBytes', maxBytes);
    this.#maxRows = maxRows;
    this.#maxBytes = maxBytes;
  }

  find(key: string): StoredPage | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    entry.walk = this.#walk;
    if (entry.page) this.#askedIn = this.#walk;
    return entry.page;
  }

  countUse(): void {
    this.#usedIn = this.#walk;
  }

  store(key: string, page: StoredPage): boolean {
    const known = this.#entries.get(key);
    if (this.#refusals >= maxRefusals || (known && !known.page)) return false;
    this.drop(key);
    if (this.#rows + page.rows > this.#maxRows || this.#bytes + page.bytes > this.#maxBytes) return false;
    this.#rows += page.rows;
    this.#bytes += page.bytes;
    this.#entries.set(key, { page, walk: this.#walk });
    return true;
  }

  drop(key: string, { isUnfit = false }: { readonly isUnfit?: boolean } = {}): void {
    const known = this.#entries.get(key);
    if (known && !known.page) return;
    this.#rows -= known?.page?.rows ?? 0;
    this.#bytes -= known?.page?.bytes ?? 0;
    this.#entries.delete(key);
    if (isUnfit) this.#entries.set(key, { walk: this.#walk });
  }

  begin(): void {
    this.#walk += 1;
  }

  /** Ends a complete walk: pages that it did not request are dropped. */
  end(): void {
    if (this.#usedIn === this.#walk) this.#refusals = 0;
    for (const [key, { page, walk }] of this.#entries) {
      if (walk === this.#walk) continue;
      if (page) this.drop(key);
      else this.#entries.delete(key);
    }
  }

  /** Whether stored pages, or the tags themselves, may be why a walk failed. */
  mayHaveCaused(error: unknown): boolean {
    if (!SluiceError.is(error)) return false;
    if (error.code === 'http')
      return this.#askedIn === this.#walk && tagRefusals.includes(Number(error.details['status']));
    return this.#usedIn === this.#walk && chainFaults.includes(error.code);
  }

  /** Drops all pages, after they made a walk fail. */
  refuse(): void {
    this.#refusals += 1;
    this.#entries.clear();
    this.#rows = 0;
    this.#bytes = 0;
  }
}

/** Bad Request, Not Found, Gone, Precondition Failed, Request Header Fields Too Large. */
const tagRefusals: readonly number[] = [400, 404, 410, 412, 431];

/** A stored page has the cursor and rows of an earlier walk, which may not fit the pages after it. */
const chainFaults: readonly string[] = ['cursor-refused', 'rows-moved', 'no-progress'];
