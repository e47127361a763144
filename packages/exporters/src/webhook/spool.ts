import type { StateLog } from '@sluice/core';
import { decodeSpooledPage, type SpooledPage, type WebhookPosition } from './decodeSpool.js';
import { RecentIds } from './recentIds.js';

export const startOfTarget: WebhookPosition = { next: 1, dead: 0, letters: null };

export interface Uncommitted {
  readonly pages: readonly SpooledPage[];
  readonly sinkPosition: WebhookPosition;
  /** Ids of recently sent records and of those pages. */
  readonly recent: RecentIds;
}

/** The size at which the spool is compacted. */
const maxBytes = 4 * 1024 * 1024;

/**
 * Pages that are being sent. A page is durable here before its first record is sent, so that it can be sent again
 * unchanged even if the API has changed. Without a log a run cannot resume, and nothing is stored.
 */
export class Spool {
  readonly #log: StateLog | undefined;

  constructor(log: StateLog | undefined) {
    this.#log = log;
  }

  /** Reads the pages after a committed position. @throws CheckpointError if that fails. */
  async read(committed: WebhookPosition): Promise<Uncommitted> {
    const pages: SpooledPage[] = [];
    const recent = new RecentIds();
    let sinkPosition = committed;
    for await (const record of this.#log?.read() ?? []) {
      const { recent: ids = [], ...page } = decodeSpooledPage(record);
      for (const id of ids) recent.add(id, 0);
      page.records.forEach(({ id }, index) => recent.add(id, page.first + index));
      if (page.sinkPosition.next >= sinkPosition.next) ({ sinkPosition } = page);
      if (page.first >= committed.next && page.records.length > 0) pages.push(page);
    }
    return { pages, sinkPosition, recent };
  }

  /** Durable when it resolves. After a crash, records before `sinkPosition` are not sent again. */
  async append(page: SpooledPage, sinkPosition: WebhookPosition): Promise<void> {
    await this.#log?.append(encodeSpooled(page, sinkPosition));
  }

  /** Removes all pages if the spool is large. They must be committed. */
  async compact(sinkPosition: WebhookPosition, recent: RecentIds): Promise<void> {
    if ((this.#log?.bytes ?? 0) >= maxBytes) await this.empty(sinkPosition, recent);
  }

  /** Removes all pages, but keeps the recent ids. They must be committed. */
  async empty(sinkPosition: WebhookPosition, recent: RecentIds): Promise<void> {
    const emptied = encodeSpooled({ at: '', first: sinkPosition.next, records: [] }, sinkPosition);
    await this.#log?.replace([{ ...emptied, recent: [...recent] }]);
  }

  remove(): Promise<void> {
    return this.#log?.remove() ?? Promise.resolve();
  }

  close(): Promise<void> {
    return this.#log?.close() ?? Promise.resolve();
  }
}

function encodeSpooled({ at, first, records }: SpooledPage, sinkPosition: WebhookPosition): object {
  return { v: 1, at, first, sinkPosition, records: records.map(({ id, key, body }) => [id, key, body]) };
}
