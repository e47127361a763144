import { encodeBatch, splitIntoBatches, type BatchContext, type BatchLimits } from './batches.js';
import type { DeadLetter } from './letters/deadLetter.js';
import type { Send } from './endpoint.js';
import { KeyedQueue } from './keyedQueue.js';
import type { Numbered } from './outgoing.js';

export interface DeliveriesOptions {
  readonly send: Send;
  readonly deliveries: number;
  /** Absent: one record per request. */
  readonly batch: BatchLimits | undefined;
  /** Whether later records with the key of a dead letter are sent, or become dead letters too. */
  readonly onDead: 'continue' | 'park';
  /** Stores a record that was refused; resolves when it is durable. */
  readonly store: (letter: DeadLetter) => Promise<void>;
  /** Called with each delivery that was accepted, and each letter that is durable, once its records are settled. */
  readonly onAccepted?:
    ((accepted: { readonly status: number | undefined; readonly records: number }) => void) | undefined;
  readonly onSetAside?: ((letter: DeadLetter) => void) | undefined;
  /** Dead letters of earlier runs of this export: not sent again; they park later records. */
  readonly dead: Iterable<Pick<DeadLetter, 'id' | 'key'>>;
  readonly now: () => string;
  /** The number of the first record that is not settled. */
  readonly next: number;
  /** The numbers after it that are. Default: none. */
  readonly ahead?: readonly number[] | undefined;
}

/**
 * Sends records concurrently, those with the same key in order. Refused records become dead letters. The first failure
 * of the endpoint stops all deliveries.
 */
export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #queue: KeyedQueue;
  readonly #settled: Watermark;
  readonly #parked = new Set<string>();
  readonly #dead = new Set<string>();

  constructor(options: DeliveriesOptions) {
    this.#options = options;
    for (const { id, key } of options.dead) {
      this.#dead.add(id);
      if (options.onDead === 'park' && key !== null) this.#parked.add(key);
    }
    this.#queue = new KeyedQueue(options.deliveries);
    this.#settled = new Watermark(options.next, this.#queue.signal, options.ahead);
  }

  /** All records before this number are settled: accepted, or dead letters. */
  get next(): number {
    return this.#settled.next;
  }

  /** The numbers after `next` that are settled, too. */
  get ahead(): readonly number[] {
    return this.#settled.ahead;
  }

  /** How many records were settled, before `next` and after it. */
  get settled(): number {
    return this.#settled.count;
  }

  /** Aborted with what stopped the deliveries. */
  get signal(): AbortSignal {
    return this.#queue.signal;
  }

  /** Queues the records of a page, without those that are already settled. */
  add(records: readonly Numbered[], context: BatchContext): void {
    const { batch } = this.#options;
    for (const each of batch ? splitIntoBatches(records, batch) : records.map((record) => [record])) {
      // A batch is sent again unchanged, even if some of its records are settled: its id must stay the same.
      if (each.every(({ number }) => this.#settled.has(number))) continue;
      const keys = new Set(each.flatMap(({ key }) => (key === null ? [] : [key])));
      this.#queue.add(keys, () => this.#deliver(each, context));
    }
  }

  /** Resolves when all records before a number are settled. @throws the failure that stopped the deliveries. */
  until(number: number): Promise<void> {
    return this.#settled.until(number);
  }

  /** @throws what stopped the deliveries. */
  throwIfStopped(): void {
    this.#queue.signal.throwIfAborted();
  }

  /** Begins no more deliveries; resolves when none is running. */
  async drain(): Promise<void> {
    this.#queue.pause();
    await this.#queue.idle();
  }

  /** Cancels all deliveries; resolves when none is running. */
  async stop(reason: unknown): Promise<void> {
    this.#queue.stop(reason);
    await this.#queue.idle();
  }

  async #deliver(records: readonly Numbered[], context: BatchContext): Promise<void> {
    const pending: Numbered[] = [];
    for (const record of records) {
      if (this.#dead.has(record.id)) this.#settled.settle(record.number);
      else if (record.key !== null && this.#parked.has(record.key)) await this.#setAside(record, { attempts: 0 });
      else pending.push(record);
    }
    const [first, second] = pending;
    if (!first) return;
    const { batch, send, onAccepted } = this.#options;
    const delivery = batch ? encodeBatch(pending, context) : first;
    const { attempts, status: accepted, refusal } = await send(delivery, this.#queue.signal);
    if (!refusal) {
      for (const { number } of pending) this.#settled.settle(number);
      onAccepted?.({ status: accepted, records: pending.length });
    } else if (second) {
      // Bisects the batch to find the refused records. The halves are sent in order.
      const middle = Math.ceil(pending.length / 2);
      await this.#deliver(pending.slice(0, middle), context);
      await this.#deliver(pending.slice(middle), context);
    } else {
      const { status, excerpt } = refusal.details;
      await this.#setAside(first, { attempts, status: Number(status), answer: String(excerpt) });
      if (this.#options.onDead === 'park' && first.key !== null) this.#parked.add(first.key);
    }
  }

  async #setAside(
    { id, key, body, number }: Numbered,
    { attempts, status = null, answer = '' }: { attempts: number; status?: number | null; answer?: string },
  ): Promise<void> {
    const record: unknown = JSON.parse(body);
    const letter = { id, key, attempts, status, answer, at: this.#options.now(), record };
    await this.#options.store(letter);
    this.#settled.settle(number);
    this.#options.onSetAside?.(letter);
  }
}

interface Waiter {
  readonly number: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Numbers settle in any order; tracks the first that has not. */
export class Watermark {
  #next: number;
  /** Settled numbers after `#next`. */
  readonly #ahead = new Set<number>();
  #waiters: Waiter[] = [];
  readonly #signal: AbortSignal;

  /** @param signal rejects all current and future waiters: nothing more will settle. */
  constructor(next: number, signal: AbortSignal, ahead: readonly number[] = []) {
    this.#next = next;
    for (const number of ahead) this.settle(number);
    this.#signal = signal;
    signal.addEventListener('abort', () => {
      for (const { reject } of this.#waiters.splice(0)) reject(signal.reason);
    });
  }

  get next(): number {
    return this.#next;
  }

  /** The numbers that have settled: those before `next`, and others. */
  get count(): number {
    return this.#next + this.#ahead.size;
  }

  get ahead(): readonly number[] {
    return [...this.#ahead];
  }

  has(number: number): boolean {
    return number < this.#next || this.#ahead.has(number);
  }

  settle(number: number): void {
    if (number < this.#next) return;
    this.#ahead.add(number);
    while (this.#ahead.delete(this.#next)) this.#next += 1;
    for (const waiter of this.#waiters) if (waiter.number <= this.#next) waiter.resolve();
    this.#waiters = this.#waiters.filter((waiter) => waiter.number > this.#next);
  }

  /** Resolves when all numbers before this one are settled. @throws the reason of the signal. */
  until(number: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#signal.aborted) reject(this.#signal.reason);
      else if (number <= this.#next) resolve();
      else this.#waiters.push({ number, resolve, reject });
    });
  }
}
