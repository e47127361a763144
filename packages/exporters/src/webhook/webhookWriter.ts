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
import { Deliveries, type DeliveriesOptions } from './deliveries.js';
import type { Numbered, Outgoing, RowEncoder } from './outgoing.js';
import { decodeWebhookPlace } from './decodeSpool.js';
import type { RecentIds } from './recentIds.js';
import { Spool, startOfTarget, type Leftover } from './spool.js';
import type { SpooledPage, WebhookPlace } from './decodeSpool.js';

export interface WebhookWriterOptions<T> extends Pick<DeliveriesOptions, 'send' | 'deliveries' | 'batch' | 'onDead'> {
  readonly encode: RowEncoder<T>;
  readonly sender: Sender;
  /** The file of the dead letters; without one the first of them ends the export. */
  readonly deadLetter: string | undefined;
  readonly maxDeadLetters: number;
  readonly lock: Omit<FileStateOptions, 'onWarning'>;
  /** Told of each one that is durable. */
  readonly onDeadLetter: (letter: DeadLetter) => void;
  readonly target: string;
  readonly clock: Clock;
}

/** Sends rows from a spool, so that none is lost and each is the same however often it is sent. */
export class WebhookWriter<T extends object> implements SinkWriter<T> {
  readonly #options: WebhookWriterOptions<T>;
  readonly #source: string;
  readonly #spool: Spool;
  readonly #letters: DeadLetterFile | undefined;
  readonly #deliveries: Deliveries;
  readonly #leave: () => void;
  /** What was on its way lately: it is not sent anew when it comes again. */
  readonly #recent: RecentIds;
  #next: number;
  /** The number of the first record of the page that came last. */
  #latest: number;
  #dead: number;
  /** Those included that are not durable yet: many requests may be refused at once. */
  #buried: number;
  /** What earlier runs wrote; a run without a file of dead letters passes it on. */
  readonly #lettersBefore: WebhookPlace['letters'];
  /** All of the spool is settled, and by the next call a checkpoint says so. */
  #isFlushed = false;

  private constructor(
    options: WebhookWriterOptions<T>,
    { source, signal }: SinkContext<T>,
    spool: Spool,
    letters: DeadLetterFile | undefined,
    { pages, sinkPosition, recent }: Leftover,
  ) {
    const { send, deliveries, batch, onDead, clock } = options;
    this.#options = options;
    this.#source = source;
    this.#spool = spool;
    this.#letters = letters;
    this.#recent = recent;
    // What was replayed, or taken away, is dead no more.
    this.#dead = letters?.own.length ?? sinkPosition.dead;
    this.#buried = this.#dead;
    this.#lettersBefore = sinkPosition.letters;
    this.#deliveries = new Deliveries({
      ...{ send, deliveries, batch, onDead, next: sinkPosition.next },
      dead: letters?.own ?? [],
      bury: (letter) => this.#bury(letter),
      now: () => isoTime(clock),
    });
    const stop = (): void => void this.#deliveries.stop(signal.reason);
    signal.addEventListener('abort', stop);
    this.#leave = () => signal.removeEventListener('abort', stop);
    this.#next = this.#latest = sinkPosition.next;
    for (const page of pages) this.#begin(page);
  }

  /** Goes on with what an interrupted run left. @throws CheckpointError if that can't be read. */
  static async open<T extends object>(
    context: SinkContext<T>,
    options: WebhookWriterOptions<T>,
  ): Promise<WebhookWriter<T>> {
    const { resumeAt, signal } = context;
    const spool = new Spool(context.log?.('spool'));
    const { deadLetter, lock } = options;
    try {
      if (!resumeAt) await spool.remove();
      const left = await spool.read(resumeAt ? decodeWebhookPlace(resumeAt.sinkPosition) : startOfTarget);
      const { letters: place } = left.sinkPosition;
      const letters =
        deadLetter === undefined
          ? undefined
          : await DeadLetterFile.open(deadLetter, { signal, ...lock, ...(place && { place }) });
      return new WebhookWriter(options, context, spool, letters, left);
    } catch (error) {
      await spool.close();
      await options.sender.close();
      throw error;
    }
  }

  get start(): Json {
    return { ...this.#place };
  }

  async write({ items }: SinkPage<T>): Promise<void> {
    if (this.#isFlushed) {
      this.#isFlushed = false;
      this.#recent.forget(this.#next);
      await this.#spool.compact(this.#place, this.#recent);
    }
    const at = isoTime(this.#options.clock);
    const records: Outgoing[] = [];
    for (const row of items) {
      const record = this.#options.encode(row, at, this.#next + records.length);
      if (this.#recent.has(record.id)) continue;
      this.#recent.add(record.id, this.#next + records.length);
      records.push(record);
    }
    if (records.length === 0) return;
    const page = { at, first: this.#next, records };
    await this.#spool.append(page, this.#place);
    this.#begin(page);
    // While the disk takes the next page there is enough to send; two pages of records are in memory, and no more.
    const before = this.#latest;
    this.#latest = page.first;
    await this.#deliveries.until(before);
  }

  async flush(): Promise<Json> {
    await this.#deliveries.until(this.#next);
    this.#isFlushed = true;
    return { ...this.#place };
  }

  seal(): Promise<Json> {
    return this.flush();
  }

  async suspend(): Promise<SinkReport> {
    // Whoever suspends has flushed, but nothing may be thrown away on somebody else's word.
    await this.#deliveries.until(this.#next);
    // What is settled may still be asked for again by the next run, so it has to be known.
    await this.#spool.empty(this.#place, this.#recent);
    return this.#report();
  }

  async close(): Promise<SinkReport> {
    await this.#spool.remove();
    return this.#report();
  }

  async #report(): Promise<SinkReport> {
    await this.#end();
    const { deadLetter: path } = this.#options;
    return {
      target: this.#options.target,
      ...(path !== undefined && this.#dead > 0 && { deadLetters: { count: this.#dead, path } }),
    };
  }

  async abort(reason: unknown, { isResumable }: { readonly isResumable: boolean }): Promise<void> {
    await this.#deliveries.stop(reason);
    try {
      // What was taken meanwhile need not be sent again.
      if (isResumable) await this.#spool.append({ at: '', first: this.#next, records: [] }, this.#place);
      else await this.#spool.remove();
    } finally {
      await this.#end();
    }
  }

  /** Begins to send what is in the spool. */
  #begin({ at, first, records }: SpooledPage): void {
    const numbered: Numbered[] = records.map((record, index) => ({ ...record, number: first + index }));
    this.#next = first + records.length;
    this.#deliveries.add(numbered, { source: this.#source, at });
  }

  get #place(): WebhookPlace {
    return { next: this.#deliveries.next, dead: this.#dead, letters: this.#letters?.place ?? this.#lettersBefore };
  }

  async #bury(letter: DeadLetter): Promise<void> {
    const { sender, maxDeadLetters } = this.#options;
    const what = `${sender.name} refused a record (${letter.id}) with ${String(letter.status)}${letter.answer === '' ? '' : ` ("${letter.answer}")`}`;
    if (!this.#letters)
      throw new SinkError(
        `${what}. Name a file for such records with deadLetter, then run it again: it goes on here.`,
        {
          details: { id: letter.id, status: letter.status },
          fault: 'endpoint',
        },
      );
    const isParked = letter.attempts === 0;
    if (!isParked && this.#buried >= maxDeadLetters)
      throw new SinkError(
        `${what}, and ${this.#buried} before it: that is no accident any more. Look at ${this.#options.deadLetter ?? ''} for what is wrong.`,
        {
          details: { id: letter.id, status: letter.status, deadLetters: this.#buried },
          advice: [{ kind: 'raise', option: 'maxDeadLetters' }],
          fault: 'endpoint',
        },
      );
    if (!isParked) this.#buried += 1;
    await this.#letters.append(letter);
    this.#dead += 1;
    this.#options.onDeadLetter(letter);
  }

  async #end(): Promise<void> {
    this.#leave();
    await this.#letters?.close();
    await this.#spool.close();
    await this.#options.sender.close();
  }
}

function isoTime(clock: Clock): string {
  return new Date(clock.now()).toISOString();
}
