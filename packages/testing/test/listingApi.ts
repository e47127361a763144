import { createSource, HttpError, type Source, type SourceDefinition } from '@sluice/core';
import type { Answering, SeenRequests, SentRequest, SourceFixture } from '../src/index.js';

/** A row of the listing. */
export interface Item {
  readonly id: string;
}

/** Rows on each page of each part. */
const partitions = [
  [2, 1, 0, 3],
  [1, 2],
];

/** An API in memory that counts its requests, and answers as it is told. */
export class ListingApi {
  how: Answering = 'well';
  /** What it says that it received; made of the part and the cursor. */
  received = (partition: number, cursor: string | undefined): SentRequest => ({
    ...{ method: 'POST', url: `/items?part=${partition}`, contentType: 'application/json' },
    body: JSON.stringify({ size: 10, ...(cursor !== undefined && { after: cursor }) }),
  });
  readonly #sent: SentRequest[] = [];
  #open = 0;

  get requests(): SeenRequests {
    return { made: this.#sent.length, open: this.#open, sent: this.#sent };
  }

  readonly fetch: SourceDefinition<Item>['fetch'] = async ({ partition, at, signal }) => {
    this.#sent.push(this.received(partition, at && 'cursor' in at ? at.cursor : undefined));
    this.#open += 1;
    try {
      if (this.how === 'never') await aborted(signal);
      await new Promise((resolve) => setImmediate(resolve));
      signal.throwIfAborted();
      if (this.how === 'fail') throw new HttpError('The listing is away.', { status: 500, excerpt: '' });
      return pageOf(partition, at && 'cursor' in at ? Number(at.cursor) : 0);
    } finally {
      this.#open -= 1;
    }
  };

  /** A source that does all that a source has to do. */
  source(more: Partial<SourceDefinition<Item>> = {}): Source<Item> {
    return createSource<Item>({
      name: 'testing.items',
      identity: { partitions },
      rowsIdentity: { of: 'items' },
      schema: { columns: ['id'], key: ({ id }) => id },
      partitions: partitions.length,
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
    };
  }
}

function pageOf(partition: number, page: number) {
  const pages = partitions[partition] ?? [];
  const rows = Array.from({ length: pages[page] ?? 0 }, (_, row) => ({ id: `${partition}.${page}.${row}` }));
  return { rows, next: page + 1 < pages.length ? { cursor: String(page + 1) } : ('end' as const) };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => {
      reject(signal.reason as Error);
    });
  });
}
