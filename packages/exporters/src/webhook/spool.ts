import type { StateLog } from '@sluice/core';
import { decodeSpoolRecord, type SpooledPage, type SpoolRecord, type WebhookPosition } from './decodeSpool.js';

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
      const spooled = decodeSpoolRecord(record);
      for (const id of spooled.recent ?? []) recent.add(id, 0);
      if (spooled.sinkPosition.next >= sinkPosition.next) ({ sinkPosition } = spooled);
      for (const page of spooled.pages) {
        page.records.forEach(({ id }, index) => recent.add(id, page.first + index));
        if (page.first >= committed.next) pages.push(page);
      }
    }
    return { pages, sinkPosition, recent };
  }

  /** Durable together when it resolves. After a crash, records before `sinkPosition` are not sent again. */
  async append(pages: readonly SpooledPage[], sinkPosition: WebhookPosition): Promise<void> {
    await this.#log?.append({ v: 2, sinkPosition, pages } satisfies SpoolRecord);
  }

  /** Removes all pages if the spool is large. They must be committed. */
  async compact(sinkPosition: WebhookPosition, recent: RecentIds): Promise<void> {
    if ((this.#log?.bytes ?? 0) >= maxBytes) await this.empty(sinkPosition, recent);
  }

  /** Removes all pages, but keeps the recent ids. They must be committed. */
  async empty(sinkPosition: WebhookPosition, recent: RecentIds): Promise<void> {
    await this.#log?.replace([{ v: 2, sinkPosition, pages: [], recent: [...recent] } satisfies SpoolRecord]);
  }

  remove(): Promise<void> {
    return this.#log?.remove() ?? Promise.resolve();
  }

  close(): Promise<void> {
    return this.#log?.close() ?? Promise.resolve();
  }
}

/** At least this many ids are kept: a row that the API lists again is recognized within this many records. */
const minIds = 20_000;

/**
 * The ids of recently sent records. The API may list a row again, because rows moved or because a run resumed. Its
 * record must not be sent again: it would have the same id but another text.
 */
export class RecentIds implements Iterable<string> {
  /** Record numbers by id, oldest first. */
  readonly #numbers = new Map<string, number>();

  has(id: string): boolean {
    return this.#numbers.has(id);
  }

  add(id: string, number: number): void {
    this.#numbers.set(id, number);
  }

  /** Drops the oldest, but none from this number on: the next run may fetch those again. */
  forget(before: number): void {
    for (const [id, number] of this.#numbers) {
      if (this.#numbers.size <= minIds || number >= before) return;
      this.#numbers.delete(id);
    }
  }

  [Symbol.iterator](): Iterator<string> {
    return this.#numbers.keys();
  }
}
