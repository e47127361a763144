import {
  createSource,
  DecodeError,
  HttpError,
  type PageRequest,
  type Source,
  type SourceDefinition,
} from '@sluice/core';
import type { Answering, SeenRequests, SentRequest, SourceFixture } from '../src/index.js';

/** A row of the listing. */
export interface Item {
  readonly id: string;
}

/** Rows on each page of each part. */
const partitions = [
  [12, 1, 0, 3],
  [1, 2, 0],
];

/** An API in memory that counts its requests, and answers as it is told. */
export class ListingApi {
  how: Answering = 'well';
  /** What it says that it received; made of the part, the cursor and the mark. */
  received = (partition: number, cursor: string | undefined, from: string | undefined): SentRequest => ({
    method: 'POST',
    url: `/items?part=${partition}`,
    contentType: 'application/json',
    body: JSON.stringify({
      size: 10,
      ...(cursor !== undefined && { after: cursor }),
      ...(from !== undefined && { from }),
    }),
  });
  /** Whether its source waits for a quota that is used up. */
  isPatient = true;
  readonly #sent: SentRequest[] = [];
  #last: ItemPage | undefined;
  #open = 0;
  /** When its quota is renewed, and what its source knows about that. */
  #resetAt = 0;
  #knownResetAt = 0;

  get requests(): SeenRequests {
    return { made: this.#sent.length, open: this.#open, sent: this.#sent };
  }

  readonly fetch: SourceDefinition<Item>['fetch'] = async ({ partition, at, since, signal }) => {
    const wait = this.#knownResetAt - performance.now();
    // Timers may be early by a ms.
    if (this.isPatient && wait > 0) await new Promise((resolve) => setTimeout(resolve, Math.ceil(wait) + 1));
    this.#sent.push(this.received(partition, at && 'cursor' in at ? at.cursor : undefined, since?.from));
    this.#open += 1;
    try {
      if (this.#knownResetAt > performance.now())
        throw new HttpError('Nothing is left of the quota.', { status: 429, excerpt: '' });
      this.#knownResetAt = this.#resetAt;
      if (this.how === 'never') await aborted(signal);
      await new Promise((resolve) => setImmediate(resolve));
      signal.throwIfAborted();
      if (this.how === 'fail') throw new HttpError('The listing is away.', { status: 500, excerpt: '' });
      if (this.how === 'html') {
        this.how = 'well';
        throw new DecodeError('The listing is not JSON.', { path: '' });
      }
      if (this.how !== 'same-page') this.#last = this.#pageOf(partition, at && 'cursor' in at ? Number(at.cursor) : 0);
      return withoutKnown(this.#last ?? { rows: [], next: 'end' }, since);
    } finally {
      this.#open -= 1;
    }
  };

  #pageOf(partition: number, page: number): ItemPage {
    const all = (partitions[partition] ?? []).map((count, nth) =>
      Array.from({ length: count }, (_, row) => ({ id: `${partition}.${nth}.${row}` })).filter(
        ({ id }) => this.how !== 'first-row-gone' || id !== '0.0.0',
      ),
    );
    const pages = this.how === 'small-pages' ? all.flat().map((row) => [row]) : all;
    return { rows: pages[page] ?? [], next: page + 1 < pages.length ? { cursor: String(page + 1) } : 'end' };
  }

  /** A source that does all that a source has to do. */
  source(more: Partial<SourceDefinition<Item>> = {}): Source<Item> {
    return createSource<Item>({
      name: 'testing.items',
      identity: { partitions },
      rowsIdentity: { of: 'items' },
      schema: { columns: ['id'], key: ({ id }) => id },
      partitions: partitions.length,
      increment: {
        compare: (a, b) => (a < b ? -1 : a > b ? 1 : 0),
        read: (value) => (value === '' ? undefined : value),
        wanted: 'an id',
        canEnd: true,
        // Rows of the second partition may appear late.
        mark: (latest) => latest.slice(0, 1),
      },
      endpoint: {
        keyFingerprint: async (salt) =>
          [...`key ${salt}`]
            .reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7)
            .toString(36)
            .slice(0, 12),
      },
      fetch: this.fetch,
      ...more,
    });
  }

  fixture(source: () => ReturnType<SourceFixture<Item>['source']> = () => this.source()): SourceFixture<Item> {
    return {
      source,
      requests: () => this.requests,
      answer: (how) => {
        this.how = how;
      },
      useUpQuota: (seconds) => {
        this.#resetAt = performance.now() + 1_000 * seconds;
      },
    };
  }
}

interface ItemPage {
  readonly rows: readonly Item[];
  readonly next: { readonly cursor: string } | 'end';
}

/** Rows' values are their ids, and so are their hashes. */
function withoutKnown({ rows: all, next }: ItemPage, { from = '', before = '~', isKnown }: PageRequest['since'] = {}) {
  const rows = all.filter(({ id }) => id >= from && id < before && isKnown?.(id) !== true);
  return { rows, next, increment: { at: 0, rows: rows.map(({ id }) => [id, id] as const) } };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => {
      reject(signal.reason as Error);
    });
  });
}
