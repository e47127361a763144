import {
  SinkError,
  type Clock,
  type Json,
  type Sender,
  type SinkContext,
  type SinkPage,
  type SinkReport,
  type SinkWriter,
} from '@sluice/core';
import type { FileStateOptions } from '@sluice/core/node';
import type { DeadLetter } from './deadLetter.js';
import { DeadLetterFile } from './deadLetterFile.js';
import { decodeWebhookPosition, type SpooledPage, type WebhookPosition } from './decodeSpool.js';
import { Deliveries, type DeliveriesOptions } from './deliveries.js';
import type { Numbered, Outgoing, PageEncoder } from './outgoing.js';
import { Spool, startOfTarget, type RecentIds, type Uncommitted } from './spool.js';

export interface WebhookWriterOptions<T> extends Pick<DeliveriesOptions, 'send' | 'deliveries' | 'batch' | 'onDead'> {
  readonly encode: PageEncoder<T>;
  readonly sender: Sender;
  /** The dead letter file; without one the first refused record fails the export. */
  readonly deadLetter: string | undefined;
  readonly maxDeadLetters: number;
  readonly lock: Omit<FileStateOptions, 'onWarning'>;
  /** Called with each letter when it is durable. */
  readonly onDeadLetter: (letter: DeadLetter) => void;
  readonly target: string;
  readonly clock: Clock;
}

interface OpenPage {
  /** The number after its last record. */
  readonly end: number;
  /** Of its bodies, in characters. */
  readonly length: number;
}

/** How much of pages may wait for their delivery, in characters, besides two pages of any size. */
const maxOpen = 8 * 1024 * 1024;

const sumOf = (pages: readonly OpenPage[]): number => pages.reduce((sum, { length }) => sum + length, 0);

/** Sends rows through a spool, so that none is lost and a repeated record is identical. */
export class WebhookWriter<T extends object> implements SinkWriter<T> {
  readonly #options: WebhookWriterOptions<T>;
  readonly #source: string;
  readonly #spool: Spool;
  readonly #letters: DeadLetterFile | undefined;
  readonly #deliveries: Deliveries;
  readonly #removeListener: () => void;
  /** These are not sent again when the source repeats them. */
  readonly #recent: RecentIds;
  #next: number;
  /** Pages that wait for the spool. */
  #unspooled: SpooledPage[] = [];
  /** Stores them; never rejects. */
  #spooling: Promise<void> | undefined;
  /** Pages that may have records that are not settled, oldest first. */
  readonly #openPages: OpenPage[] = [];
  #dead: number;
  /** Dead letters that are not parked, including those not durable yet: concurrent requests may be refused together. */
  #refused: number;
  /** The position from earlier runs; a run without a dead letter file keeps it. */
  readonly #lettersBefore: WebhookPosition['letters'];
  /** All records are settled. By the next `write` a checkpoint has committed that. */
  #isFlushed = false;

  private constructor(
    options: WebhookWriterOptions<T>,
    { source, signal }: SinkContext<T>,
    spool: Spool,
    letters: DeadLetterFile | undefined,
    { pages, sinkPosition, recent }: Uncommitted,
  ) {
    const { send, deliveries, batch, onDead, clock } = options;
    this.#options = options;
    this.#source = source;
    this.#spool = spool;
    this.#letters = letters;
    this.#recent = recent;
    // Without letters that were replayed or removed since.
    this.#dead = letters?.own.length ?? sinkPosition.dead;
    this.#refused = letters?.own.filter(({ isParked }) => !isParked).length ?? 0;
    this.#lettersBefore = sinkPosition.letters;
    this.#deliveries = new Deliveries({
      send,
      deliveries,
      batch,
      onDead,
      next: sinkPosition.next,
      dead: letters?.own ?? [],
      store: (letter) => this.#storeDeadLetter(letter),
      now: () => isoTime(clock),
    });
    const stop = (): void => void this.#deliveries.stop(signal.reason);
    signal.addEventListener('abort', stop);
    this.#removeListener = () => signal.removeEventListener('abort', stop);
    this.#next = sinkPosition.next;
    for (const page of pages) {
      this.#open(page);
      this.#send(page);
    }
  }

  /** Resumes from the spool of an interrupted run. @throws CheckpointError if that can't be read. */
  static async open<T extends object>(
    context: SinkContext<T>,
    options: WebhookWriterOptions<T>,
  ): Promise<WebhookWriter<T>> {
    const { resumeAt, signal } = context;
    const spool = new Spool(context.log?.('spool'));
    const { deadLetter, lock } = options;
    try {
      if (!resumeAt) await spool.remove();
      const uncommitted = await spool.read(resumeAt ? decodeWebhookPosition(resumeAt.sinkPosition) : startOfTarget);
      const { letters: position } = uncommitted.sinkPosition;
      const resent = new Set(uncommitted.pages.flatMap(({ records }) => records.map(({ id }) => id)));
      const letters =
        deadLetter === undefined
          ? undefined
          : await DeadLetterFile.open(deadLetter, { signal, ...lock, position: position ?? undefined, resent });
      return new WebhookWriter(options, context, spool, letters, uncommitted);
    } catch (error) {
      await spool.close();
      await options.sender.close();
      throw error;
    }
  }

  /** Records that are not settled. */
  get waiting(): number {
    return this.#next - this.#deliveries.next;
  }

  get start(): Json {
    return { ...this.#sinkPosition };
  }

  /** Resolves when there is room for another page, while this one may still wait for the spool. */
  async write({ items, scope }: SinkPage<T>): Promise<void> {
    this.#deliveries.throwIfStopped();
    if (this.#isFlushed) {
      this.#isFlushed = false;
      this.#recent.forget(this.#next);
      await this.#spool.compact(this.#sinkPosition, this.#recent);
    }
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
    this.#open(page);
    this.#unspooled.push(page);
    this.#spooling ??= this.#spoolPages();
    await this.#waitForRoom();
  }

  /** Stores pages, those that came while the disk was busy together, and sends them once they are durable. */
  async #spoolPages(): Promise<void> {
    try {
      while (this.#unspooled.length > 0) {
        const pages = this.#unspooled;
        this.#unspooled = [];
        await this.#spool.append(pages, this.#sinkPosition);
        for (const page of pages) this.#send(page);
      }
    } catch (error) {
      void this.#deliveries.stop(error);
    }
    this.#spooling = undefined;
  }

  /** Waits for the oldest pages while too much is open, except for two: one is sent while the next is written to disk. */
  async #waitForRoom(): Promise<void> {
    const { deliveries, batch } = this.#options;
    const enough = 2 * deliveries * (batch?.count ?? 1);
    const isFull = (): boolean => this.#next - this.#deliveries.next > enough || sumOf(this.#openPages) > maxOpen;
    for (const { end } of this.#openPages.slice(0, -2)) {
      if (end > this.#deliveries.next && !isFull()) return;
      await this.#deliveries.until(end);
      this.#openPages.shift();
    }
  }

  async flush(): Promise<Json> {
    await this.#deliveries.until(this.#next);
    this.#isFlushed = true;
    return { ...this.#sinkPosition };
  }

  seal(): Promise<Json> {
    return this.flush();
  }

  async suspend(): Promise<SinkReport> {
    // The caller has flushed, but pages are removed only if they are settled.
    await this.#deliveries.until(this.#next);
    // The next run may fetch settled records again, so their ids are kept.
    await this.#spool.empty(this.#sinkPosition, this.#recent);
    return this.#report();
  }

  async close(): Promise<SinkReport> {
    await this.#spool.remove();
    return this.#report();
  }

  async #report(): Promise<SinkReport> {
    await this.#closeAll();
    const { deadLetter: path } = this.#options;
    return {
      target: this.#options.target,
      ...(path !== undefined && this.#dead > 0 && { deadLetters: { count: this.#dead, path } }),
    };
  }

  async abort(reason: unknown, { isResumable }: { readonly isResumable: boolean }): Promise<void> {
    // Not sent, so the next run fetches them again.
    this.#unspooled = [];
    await this.#deliveries.stop(reason);
    await this.#spooling;
    try {
      // Records that were accepted since the last page need not be sent again.
      if (isResumable) await this.#spool.append([], this.#sinkPosition);
      else await this.#spool.remove();
    } finally {
      await this.#closeAll();
    }
  }

  #open({ first, records }: SpooledPage): void {
    this.#next = first + records.length;
    this.#openPages.push({ end: this.#next, length: records.reduce((sum, { body }) => sum + body.length, 0) });
  }

  /** Queues a page of the spool. */
  #send({ at, first, records }: SpooledPage): void {
    const numbered = records.map(({ id, key, body }, index): Numbered => ({ id, key, body, number: first + index }));
    this.#deliveries.add(numbered, { source: this.#source, at });
  }

  get #sinkPosition(): WebhookPosition {
    return { next: this.#deliveries.next, dead: this.#dead, letters: this.#letters?.position ?? this.#lettersBefore };
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
    const reasons = this.#refused > 0 ? ` See ${this.#options.deadLetter ?? ''} for the reasons.` : '';
    if (!isParked && this.#refused >= maxDeadLetters)
      throw new SinkError(`${what}, and ${this.#refused} before it: too many to continue.${reasons}`, {
        details: { ...details, deadLetters: this.#refused },
        advice: [{ kind: 'raise', option: 'maxDeadLetters' }],
        fault: 'endpoint',
      });
    if (!isParked) this.#refused += 1;
    await this.#letters.append(letter);
    this.#dead += 1;
    this.#options.onDeadLetter(letter);
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
