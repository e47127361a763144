import { CheckpointError, SluiceError } from '@sluice/core';
import type { StateLog } from '@sluice/core/kit';
import { decodeSpoolRecord, endOf, type SpooledPage, type SpoolRecord, type WebhookPosition } from './decodeSpool.js';

export const startOfTarget: WebhookPosition = { settled: 1, end: 1, dead: 0, letters: null };

/** What an interrupted run left. */
export interface Uncommitted {
  readonly sinkPosition: WebhookPosition;
  /** Numbers of settled records after the first one that is not. */
  readonly ahead: readonly number[];
  /** The number after the last record in the spool. */
  readonly end: number;
  /** Ids of recently sent records and of those in the spool. */
  readonly recent: RecentIds;
}

/** A part of the spool, which is removed as a whole. */
interface Segment {
  readonly log: StateLog;
  readonly number: number;
  /** The number after its last record. */
  end: number;
  bytes: number;
}

/** The size at which a segment is complete, and at which so many settled ones are removed. */
const segmentBytes = 4 * 1024 * 1024;

/**
 * Pages that wait for their delivery. A page is durable here before its first record is sent, so that it can be sent
 * again unchanged even if the API has changed. Without a log a run cannot resume, and nothing is stored.
 *
 * The pages are in segments, so that those that are settled can be removed, and those that wait can be read while others
 * are added: only the last segment is written to, and only others are read. An index says which segments there are.
 */
export class Spool {
  readonly #openLog: ((name: string) => StateLog) | undefined;
  readonly #segmentBytes: number;
  readonly #index: StateLog | undefined;
  /** Oldest first, by numbers without gaps. */
  #segments: Segment[] = [];
  /** The number of the last segment that there was; -1 for a new spool. */
  #last = -1;
  /** Takes the next pages. Absent: they begin a new segment. */
  #current: Segment | undefined;
  #reading: Segment | undefined;
  /** The latest call that writes: they are made one after another. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(log: ((name: string) => StateLog) | undefined, maxBytes = Infinity) {
    this.#openLog = log;
    this.#segmentBytes = Math.min(segmentBytes, maxBytes / 4);
    this.#index = log?.('spool-index');
  }

  /**
   * Reads what there is behind a committed position.
   *
   * @throws CheckpointError if that fails; `signal.reason` if it is cancelled: what waits may be large.
   */
  async read(committed: WebhookPosition, signal?: AbortSignal): Promise<Uncommitted> {
    const recent = new RecentIds();
    let sinkPosition = committed;
    let ahead: readonly number[] = [];
    let end = committed.settled;
    const take = ({ recent: ids = [], before = ids.length, pages, ...spooled }: SpoolRecord): void => {
      ids.forEach((id, index) => recent.add(id, before - ids.length + index));
      // Both are of the same moment: a dead letter behind the position of the letters is not settled.
      if (spooled.sinkPosition.settled >= sinkPosition.settled) ({ sinkPosition, ahead = [] } = spooled);
      end = Math.max(end, sinkPosition.settled);
      for (const page of pages) {
        if (page.first > end) throw lostRecords();
        page.records.forEach(({ id }, index) => recent.add(id, page.first + index));
        end = Math.max(end, endOf(page));
      }
      recent.forget(committed.end);
    };
    const indexed = await this.#readIndex(take);
    const [first, last] = indexed ?? onlySegment;
    for (let number = first; number <= last; number += 1) {
      const segment = this.#open(number);
      if (!segment) break;
      for await (const record of segment.log.read()) {
        signal?.throwIfAborted();
        const spooled = decodeSpoolRecord(record);
        take(spooled);
        for (const page of spooled.pages) segment.end = endOf(page);
      }
      segment.bytes = segment.log.bytes;
      await segment.log.close();
    }
    if (indexed || this.waiting(-1) > 0) this.#last = last;
    // Committed rows are not fetched again.
    if (end < committed.end) throw lostRecords();
    return { sinkPosition, ahead, end, recent };
  }

  /** The numbers of the first and the last segment; `undefined` before there is a second one. */
  async #readIndex(take: (record: SpoolRecord) => void): Promise<SpoolRecord['segments']> {
    let segments: SpoolRecord['segments'];
    for await (const record of this.#index?.read() ?? []) {
      const indexed = decodeSpoolRecord(record);
      take(indexed);
      if (indexed.segments) ({ segments } = indexed);
    }
    return segments;
  }

  /** The pages behind a record's number, until the last one that there is then. Nothing may read them meanwhile. */
  async *pagesFrom(number: number): AsyncGenerator<SpooledPage, void, undefined> {
    let from = number;
    for (;;) {
      const segment = this.#segments.find(({ end }) => end > from);
      if (!segment) return;
      this.#reading = segment;
      try {
        await this.#inTurn(() => this.#endSegment(segment));
        for await (const record of segment.log.read())
          for (const page of decodeSpoolRecord(record).pages) {
            if (endOf(page) <= from) continue;
            from = endOf(page);
            yield page;
          }
        await segment.log.close();
        if (from < segment.end) throw lostRecords();
      } finally {
        this.#reading = undefined;
      }
    }
  }

  /** Durable together when it resolves. After a crash, settled records of `sinkPosition` are not sent again. */
  append(pages: readonly SpooledPage[], sinkPosition: WebhookPosition, ahead?: readonly number[]): Promise<void> {
    return this.#inTurn(async () => {
      const record: SpoolRecord = { v: 2, sinkPosition, pages, ...(ahead && { ahead }) };
      if (this.#current && this.#current.bytes >= this.#segmentBytes) await this.#endSegment(this.#current);
      const current = this.#current;
      if (current) await current.log.append(record);
      else if (pages.length === 0) await this.#index?.append(record);
      else await this.#begin(record);
      for (const page of pages) if (this.#current) this.#current.end = endOf(page);
      if (this.#current) this.#current.bytes = this.#current.log.bytes;
    });
  }

  /** The number after the last record. */
  get end(): number {
    return Math.max(0, ...this.#segments.map(({ end }) => end));
  }

  /** Bytes of the segments with records that are not settled. */
  waiting(settled: number): number {
    return this.#segments.reduce((sum, { end, bytes }) => (end > settled ? sum + bytes : sum), 0);
  }

  /** The number after the oldest records that can be removed together. */
  oldestEnd(settled: number): number {
    return this.#segments.find(({ end }) => end > settled)?.end ?? settled;
  }

  /** Removes settled segments if they are large. */
  async compact(sinkPosition: WebhookPosition, recent: RecentIds): Promise<void> {
    const { settled } = sinkPosition;
    const bytes = this.#segments.reduce((sum, segment) => sum + (segment.end > settled ? 0 : segment.bytes), 0);
    if (bytes >= this.#segmentBytes) await this.removeSettled(sinkPosition, recent);
  }

  /** Removes settled segments, but keeps the recent ids. */
  removeSettled(sinkPosition: WebhookPosition, recent: RecentIds): Promise<void> {
    return this.#inTurn(async () => {
      if (!this.#index) return;
      const isKept = (segment: Segment): boolean => segment.end > sinkPosition.settled || segment === this.#reading;
      const first = this.#segments.findIndex(isKept);
      const removed = first === -1 ? this.#segments : this.#segments.slice(0, first);
      const record: SpoolRecord = { v: 2, sinkPosition, pages: [] };
      const before = removed[0]?.number ?? this.#last + 1;
      // It has what the segments are still needed for before they go, and names them until they are gone.
      // Without ids of pages that are not stored yet: their rows may come again.
      const ids = recent.before(Math.max(this.end, sinkPosition.settled));
      await this.#index.replace([{ ...record, ...ids, segments: [before, this.#last] }]);
      if (this.#current && removed.includes(this.#current)) this.#current = undefined;
      for (const { log } of removed) await log.remove();
      // Not earlier: if the disk fails, they are closed at the end.
      this.#segments = this.#segments.slice(removed.length);
      await this.#index.append({ ...record, segments: [before + removed.length, this.#last] });
    });
  }

  /** Removes all that an earlier run left, or this one. */
  remove(): Promise<void> {
    return this.#inTurn(async () => {
      const indexed = await this.#readIndex(() => undefined).catch((error: unknown) => {
        // A new segment replaces what is left of one with its name.
        if (SluiceError.is(error, 'checkpoint')) return onlySegment;
        throw error;
      });
      const [first, last] = indexed ?? onlySegment;
      for (const { log } of this.#segments) await log.close();
      this.#segments = [];
      this.#current = undefined;
      this.#last = -1;
      for (let number = first; number <= last; number += 1) await this.#openLog?.(segmentName(number)).remove();
      if (indexed || (this.#index?.bytes ?? 0) > 0) await this.#index?.remove();
    });
  }

  async close(): Promise<void> {
    await this.#inTurn(async () => {
      for (const { log } of this.#segments) await log.close();
      await this.#index?.close();
    });
  }

  /** Begins a segment with its first pages. It replaces what may be left of an earlier run. */
  async #begin(record: SpoolRecord): Promise<void> {
    const number = this.#last + 1;
    const first = this.#segments[0]?.number ?? number;
    const { sinkPosition } = record;
    if (number > 0 || (this.#index?.bytes ?? 0) > 0)
      await this.#index?.append({ v: 2, sinkPosition, pages: [], segments: [first, number] } satisfies SpoolRecord);
    this.#last = number;
    const segment = this.#open(number);
    await segment?.log.replace([record]);
    this.#current = segment;
  }

  #open(number: number): Segment | undefined {
    const log = this.#openLog?.(segmentName(number));
    if (!log) return undefined;
    const segment = { log, number, end: 0, bytes: 0 };
    this.#segments.push(segment);
    return segment;
  }

  /** Nothing more is written to it. */
  async #endSegment(segment: Segment): Promise<void> {
    if (this.#current !== segment) return;
    this.#current = undefined;
    await segment.log.close();
  }

  #inTurn<R>(write: () => R | Promise<R>): Promise<R> {
    const written = this.#writing.then(write);
    this.#writing = written.catch(() => undefined);
    return written;
  }
}

function lostRecords(): CheckpointError {
  return new CheckpointError('The spool lacks records that wait for their delivery: somebody has removed them.', {}, [
    { kind: 'restart' },
  ]);
}

/** Of a spool without an index. */
const onlySegment = [0, 0] as const;

function segmentName(number: number): string {
  return number === 0 ? 'spool' : `spool-${String(number)}`;
}

/** At least this many ids are kept: a row that the API lists again is recognized within this many records. */
const minIds = 20_000;

/**
 * The ids of recently sent records. The API may list a row again, because rows moved or because a run resumed. Its
 * record must not be sent again: it would have the same id but another text.
 */
export class RecentIds {
  /** Record numbers by id, oldest first. */
  readonly #numbers = new Map<string, number>();

  /** @param from the number of a record: only ids from it on count */
  has(id: string, from = -Infinity): boolean {
    const number = this.#numbers.get(id);
    return number !== undefined && number >= from;
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

  /** The ids before a number, oldest first. Their numbers have no gaps. */
  before(end: number): { readonly recent: readonly string[]; readonly before: number } {
    const recent = [...this.#numbers].flatMap(([id, number]) => (number < end ? [id] : []));
    return { recent, before: end };
  }
}
