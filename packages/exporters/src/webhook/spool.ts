import type { StateLog } from '@sluice/core';
import { decodeSpooledPage } from './decodeSpool.js';
import { RecentIds } from './recentIds.js';
import type { SpooledPage, WebhookPlace } from './decodeSpool.js';

export const startOfTarget: WebhookPlace = { next: 1, dead: 0, letters: null };

export interface Leftover {
  /** Pages that are not committed. */
  readonly pages: readonly SpooledPage[];
  readonly sinkPosition: WebhookPlace;
  /** What was on its way lately, those pages included. */
  readonly recent: RecentIds;
}

/** So much of what is settled is worth writing the spool anew. */
const maxBytes = 4 * 1024 * 1024;

/**
 * Pages that are on their way. A page is durable here before its first record is sent, so that it can be sent again, the very same,
 * whatever the API says by then. Without a log there is nothing to come back to, and nothing is kept.
 */
export class Spool {
  readonly #log: StateLog | undefined;

  constructor(log: StateLog | undefined) {
    this.#log = log;
  }

  /** What is behind a committed place. @throws CheckpointError if it can't be read. */
  async read(committed: WebhookPlace): Promise<Leftover> {
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

  /** Durable when it resolves. `place` is how far earlier records have come by now: after a crash those are not sent again. */
  async append(page: SpooledPage, sinkPosition: WebhookPlace): Promise<void> {
    await this.#log?.append(encodeSpooled(page, sinkPosition));
  }

  /** Lets go of all pages, if that is worth it. They must be committed. */
  async compact(sinkPosition: WebhookPlace, recent: RecentIds): Promise<void> {
    if ((this.#log?.bytes ?? 0) >= maxBytes) await this.empty(sinkPosition, recent);
  }

  /** Lets go of all pages, and keeps their ids. They must be committed. */
  async empty(sinkPosition: WebhookPlace, recent: RecentIds): Promise<void> {
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

function encodeSpooled({ at, first, records }: SpooledPage, sinkPosition: WebhookPlace): object {
  return { v: 1, at, first, sinkPosition, records: records.map(({ id, key, body }) => [id, key, body]) };
}
