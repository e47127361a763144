import { SinkError, type Clock, type Json } from '@sluice/core';
import type { Sender, SinkContext, SinkPage, SinkReport, SinkWriter } from '@sluice/core/kit';
import type { FileStateOptions } from '@sluice/core/node';
import type { DeadLetter } from './letters/deadLetter.js';
import { openDeadLetters, shownPlace, type DeadLetterPlace, type LettersPosition } from './letters/deadLetters.js';
import { decodeWebhookPosition, endOf, type SpooledPage, type WebhookPosition } from './decodeSpool.js';
import { Deliveries, type DeliveriesOptions } from './deliveries.js';
import type { ExportLetters } from './letters/exportLetters.js';
import { OpenPages } from './openPages.js';
import type { Numbered, Outgoing, PageEncoder } from './outgoing.js';
import { Spool, startOfTarget, type RecentIds, type Uncommitted } from './spool.js';

export interface WebhookWriterOptions<T> extends Pick<
  DeliveriesOptions,
  'send' | 'deliveries' | 'batch' | 'onDead' | 'onAccepted'
> {
  readonly encode: PageEncoder<T>;
  readonly sender: Sender;
  /** Where dead letters are; without a place the first refused record fails the export. */
  readonly deadLetter: DeadLetterPlace | undefined;
  readonly maxDeadLetters: number;
  /** Bytes of the rows of a source without end that may wait in the spool. */
  readonly maxSpool: number;
  readonly lock: Omit<FileStateOptions, 'onWarning'>;
  /** Called with each letter when it is durable and its record settled. */
  readonly onDeadLetter: (letter: DeadLetter) => void;
  readonly target: string;
  readonly clock: Clock;
}

/** How many records of a source without end may wait in memory, besides two pages of any size. */
const maxRecords = 10_000;

/** Sends rows through a spool, so that none is lost and a repeated record is identical. */
export class WebhookWriter<T extends object> implements SinkWriter<T> {
  readonly #options: WebhookWriterOptions<T>;
  readonly #source: string;
  readonly #spool: Spool;
  readonly #letters: ExportLetters<LettersPosition> | undefined;
  readonly #deliveries: Deliveries;
  readonly #removeListener: () => void;
  /** These are not sent again when the source repeats them. */
  readonly #recent: RecentIds;
  /** Bytes that may wait in the spool. Absent: the deliveries set the pace, and a commit waits for them. */
  readonly #maxSpool: number | undefined;
  readonly #warnFull: () => void;
  #isFullSaid = false;
  #next: number;
  /** The number after the last record of committed rows. */
  #end: number;
  /** Pages that wait for the spool. */
  #unspooled: SpooledPage[] = [];
  /** Stores them; never rejects. */
  #spooling: Promise<void> | undefined;
  /** Pages that may have records that are not settled, oldest first; without those that are only in the spool. */
  readonly #openPages: OpenPages;
  /** The number after the last record that is queued for its delivery. */
  #queued: number;
  /** Queues what is only in the spool; never rejects. */
  #reading: Promise<void> | undefined;
  #dead: number;
  /** Dead letters that are not parked, including those not durable yet: concurrent requests may be refused together. */
  #refused: number;
  /** The position from earlier runs; a run without a place for dead letters keeps it. */
  readonly #lettersBefore: WebhookPosition['letters'];

  private constructor(
    options: WebhookWriterOptions<T>,
    { source, signal, isEndless, log, warn }: SinkContext<T>,
    spool: Spool,
    letters: ExportLetters<LettersPosition> | undefined,
    { sinkPosition, ahead, end, recent }: Uncommitted,
  ) {
    const { send, deliveries, batch, onDead, onAccepted, onDeadLetter, clock, maxSpool, target } = options;
    this.#options = options;
    this.#source = source;
    this.#spool = spool;
    this.#letters = letters;
    this.#recent = recent;
    // A listing that is far ahead of its deliveries is of no use, and a watch that isn't misses what changes meanwhile.
    this.#maxSpool = isEndless && log ? maxSpool : undefined;
    this.#openPages = new OpenPages(isEndless ? Math.max(maxRecords, 2 * deliveries * (batch?.count ?? 1)) : Infinity);
    this.#warnFull = () =>
      warn?.(
        `The spool is full: ${inBytes(maxSpool)} wait for ${target}. No more is fetched until it has taken some of them.`,
      );
    // Without letters that were replayed or removed since.
    this.#dead = letters?.own.length ?? sinkPosition.dead;
    this.#refused = letters?.own.filter(({ isParked }) => !isParked).length ?? 0;
    this.#lettersBefore = sinkPosition.letters;
    this.#deliveries = new Deliveries({
      send,
      deliveries,
      batch,
      onDead,
      onAccepted,
      onSetAside: onDeadLetter,
      next: sinkPosition.settled,
      ahead,
      dead: letters?.own ?? [],
      store: (letter) => this.#storeDeadLetter(letter),
      now: () => isoTime(clock),
    });
    const stop = (): void => void this.#deliveries.stop(signal.reason);
    signal.addEventListener('abort', stop);
    this.#removeListener = () => signal.removeEventListener('abort', stop);
    this.#next = end;
    this.#end = sinkPosition.end;
    this.#queued = sinkPosition.settled;
    if (this.#queued < this.#next) this.#reading = this.#readSpool();
  }

  /** Resumes from the spool of an interrupted run. @throws CheckpointError if that can't be read. */
  static async open<T extends object>(
    context: SinkContext<T>,
    options: WebhookWriterOptions<T>,
  ): Promise<WebhookWriter<T>> {
    const { resumeAt, signal } = context;
    const { deadLetter, lock, maxSpool } = options;
    const spool = new Spool(context.log, maxSpool);
    try {
      if (!resumeAt) await spool.remove();
      const committed = resumeAt ? decodeWebhookPosition(resumeAt.sinkPosition) : startOfTarget;
      const uncommitted = await spool.read(committed, signal);
      const { letters: position, settled } = uncommitted.sinkPosition;
      const resent = { has: (id: string) => uncommitted.recent.has(id, settled) };
      const before = { position: position ?? undefined, resent };
      const letters = deadLetter === undefined ? undefined : await openDeadLetters(deadLetter, context, before, lock);
      return new WebhookWriter(options, context, spool, letters, uncommitted);
    } catch (error) {
      await spool.close();
      await options.sender.close();
      throw error;
    }
  }

  /** Records that are not settled. */
  get waiting(): number {
    return this.#next - this.#deliveries.settled;
  }

  /** A delivery may fail while no call is made. */
  get failed(): AbortSignal {
    return this.#deliveries.signal;
  }

  get start(): Json {
    return { ...this.#sinkPosition };
  }

  /** Resolves when there is room for another page, while this one may still wait for the spool. */
  async write({ items, scope }: SinkPage<T>): Promise<void> {
    this.#deliveries.throwIfStopped();
    // A listing waits for what an earlier run left.
    if (this.#maxSpool === undefined) await this.#reading;
    this.#recent.forget(this.#end);
    const at = isoTime(this.#options.clock);
    const records: Outgoing[] = [];
    const encode = this.#options.encode(scope);
    for (const row of items) {
      const record = encode(row, at, this.#next + records.length);
      if (this.#recent.has(record.id)) continue;
      this.#recent.add(record.id, this.#next + records.length);
      records.push(record);
    }
    if (records.length === 0) return;
    const page = { at, first: this.#next, records };
    this.#next = endOf(page);
    this.#openPages.add(page);
    this.#unspooled.push(page);
    this.#spooling ??= this.#spoolPages();
    await (this.#maxSpool === undefined ? this.#waitForDeliveries() : this.#waitForSpool(this.#maxSpool));
  }

  /** Stores pages, those that came while the disk was busy together, and sends them once they are durable. */
  async #spoolPages(): Promise<void> {
    try {
      while (this.#unspooled.length > 0) {
        const pages = this.#unspooled;
        this.#unspooled = [];
        await this.#spool.append(pages, this.#sinkPosition);
        for (const page of pages) this.#sendOrLeave(page);
        await this.#spool.compact(this.#sinkPosition, this.#recent);
      }
    } catch (error) {
      void this.#deliveries.stop(error);
    }
    this.#spooling = undefined;
  }

  /** Queues a page that is in the spool, or leaves it there if others are before it, or too many wait in memory. */
  #sendOrLeave(page: SpooledPage): void {
    this.#openPages.settle(this.#deliveries.next);
    if (!this.#reading && this.#queued === page.first && (this.#maxSpool === undefined || !this.#openPages.isFull)) {
      this.#send(page);
      return;
    }
    this.#openPages.remove(page);
    this.#reading ??= this.#readSpool();
  }

  /** Queues what is only in the spool, as fast as it is delivered. */
  async #readSpool(): Promise<void> {
    try {
      await this.#waitForMemory();
      // Pages may be left there until the moment in which it ends.
      while (this.#queued < this.#spool.end)
        for await (const page of this.#spool.pagesFrom(this.#queued)) {
          await this.#waitForMemory();
          this.#openPages.add(page);
          this.#send(page);
          await this.#spool.compact(this.#sinkPosition, this.#recent);
        }
    } catch (error) {
      void this.#deliveries.stop(error);
    }
    this.#reading = undefined;
  }

  /** Waits until half of what may wait in memory is settled, if it is full: so segments that are read are not small. */
  async #waitForMemory(): Promise<void> {
    this.#openPages.settle(this.#deliveries.next);
    while (this.#openPages.isFull) {
      await this.#deliveries.until(this.#openPages.middle);
      this.#openPages.settle(this.#deliveries.next);
    }
  }

  /** Waits for the oldest pages while too much is open, except for two: one is sent while the next is written to disk. */
  async #waitForDeliveries(): Promise<void> {
    const { deliveries, batch } = this.#options;
    const enough = 2 * deliveries * (batch?.count ?? 1);
    this.#openPages.settle(this.#deliveries.next);
    while (this.#openPages.count > 2 && (this.#next - this.#deliveries.next > enough || this.#openPages.isFull)) {
      await this.#deliveries.until(this.#openPages.first);
      this.#openPages.settle(this.#deliveries.next);
    }
  }

  /** Waits until the page is stored, and for the oldest records while too many bytes wait. */
  async #waitForSpool(maxSpool: number): Promise<void> {
    await this.#spooling;
    this.#deliveries.throwIfStopped();
    const bytes = this.#spool.waiting(this.#deliveries.next);
    if (2 * bytes < maxSpool) this.#isFullSaid = false;
    if (bytes <= maxSpool) return;
    if (!this.#isFullSaid) this.#warnFull();
    this.#isFullSaid = true;
    do await this.#deliveries.until(this.#spool.oldestEnd(this.#deliveries.next));
    while (this.#spool.waiting(this.#deliveries.next) > maxSpool);
    await this.#spool.compact(this.#sinkPosition, this.#recent);
  }

  /** All rows are durable: delivered, or, of a source without end, in the spool. */
  async flush(): Promise<Json> {
    if (this.#maxSpool === undefined) await this.#deliveries.until(this.#next);
    await this.#spooling;
    this.#deliveries.throwIfStopped();
    this.#end = this.#next;
    return { ...this.#sinkPosition };
  }

  async seal(): Promise<Json> {
    await this.#deliveries.until(this.#next);
    return this.flush();
  }

  async suspend(): Promise<SinkReport> {
    await this.#deliveries.until(this.#next);
    await this.#reading;
    // The next run may fetch settled records again, so their ids are kept.
    await this.#spool.removeSettled(this.#sinkPosition, this.#recent);
    return this.#report();
  }

  async close(): Promise<SinkReport> {
    await this.#spool.remove();
    return this.#report();
  }

  async #report(): Promise<SinkReport> {
    await this.#closeAll();
    const { deadLetter: place, target } = this.#options;
    if (place === undefined || this.#dead === 0) return { target };
    return { target, deadLetters: { count: this.#dead, ...(place !== true && { path: place }) } };
  }

  async abort(reason: unknown, { isResumable }: { readonly isResumable: boolean }): Promise<void> {
    // Not sent, so the next run fetches them again.
    this.#unspooled = [];
    // A cancel gives deliveries that are under way the time that is left: a service without ids would get them twice.
    if (reason === undefined) await this.#deliveries.drain();
    await this.#deliveries.stop(reason);
    await this.#spooling;
    await this.#reading;
    try {
      // Records that were accepted since the last page need not be sent again.
      if (isResumable) await this.#spool.append([], this.#sinkPosition, this.#deliveries.ahead);
      else await this.#spool.remove();
    } finally {
      await this.#closeAll();
    }
  }

  /** Queues a page of the spool. */
  #send({ at, first, records }: SpooledPage): void {
    this.#queued = first + records.length;
    const numbered = records.map(({ id, key, body }, index): Numbered => ({ id, key, body, number: first + index }));
    this.#deliveries.add(numbered, { source: this.#source, at });
  }

  get #sinkPosition(): WebhookPosition {
    const letters = this.#letters?.position ?? this.#lettersBefore;
    return { settled: this.#deliveries.next, end: this.#end, dead: this.#dead, letters };
  }

  async #storeDeadLetter(letter: DeadLetter): Promise<void> {
    const { sender, maxDeadLetters } = this.#options;
    const what = `${sender.name} refused a record (${letter.id}) with ${String(letter.status)}${letter.answer === '' ? '' : ` ("${letter.answer}")`}`;
    const details = { id: letter.id, status: letter.status };
    if (!this.#letters)
      throw new SinkError(
        `${what}. Name a file for such records with deadLetter, then run it again: it resumes here.`,
        { details, fault: 'endpoint' },
      );
    const isParked = letter.attempts === 0;
    // The file is created with the first letter.
    const reasons = this.#refused > 0 ? ` See ${shownPlace(this.#options.deadLetter)} for the reasons.` : '';
    if (!isParked && this.#refused >= maxDeadLetters)
      throw new SinkError(`${what}, and ${this.#refused} before it: too many to continue.${reasons}`, {
        details: { ...details, deadLetters: this.#refused },
        advice: [{ kind: 'raise', option: 'maxDeadLetters' }],
        fault: 'endpoint',
      });
    if (!isParked) this.#refused += 1;
    await this.#letters.append(letter);
    this.#dead += 1;
  }

  async #closeAll(): Promise<void> {
    this.#removeListener();
    await this.#letters?.close();
    await this.#spool.close();
    await this.#options.sender.close();
  }
}

function isoTime(clock: Clock): string {
  return new Date(clock.now()).toISOString();
}

/** @example inBytes(1_000_000_000) // '1 GB' */
function inBytes(bytes: number): string {
  const power = Math.min(3, Math.floor(Math.log10(bytes) / 3));
  return `${String(Number((bytes / 1_000 ** power).toPrecision(3)))} ${['bytes', 'kB', 'MB', 'GB'][power] ?? ''}`;
}
