import { batchDelivery, batchesOf, type BatchContext, type BatchLimits, type Delivery } from './batches.js';
import type { DeadLetter } from './deadLetter.js';
import { isRecordFault } from './faultKind.js';
import { KeyedQueue } from './keyedQueue.js';
import type { Numbered } from './outgoing.js';

/** What came of a request: taken or not, and after how many attempts. */
export type Outcome = { readonly attempts: number } & (
  { readonly isTaken: true } | { readonly isTaken: false; readonly error: unknown }
);

export interface DeliveriesOptions {
  readonly send: (delivery: Delivery, signal: AbortSignal) => Promise<Outcome>;
  readonly deliveries: number;
  /** Absent: each record by itself. */
  readonly batch: BatchLimits | undefined;
  /** What becomes of later records with the key of a dead letter: they go on, or are kept with it. */
  readonly onDead: 'continue' | 'park';
  /** Keeps a record that was not taken; resolves when it is durable. */
  readonly bury: (letter: DeadLetter) => Promise<void>;
  /** What earlier runs of this export have buried: it is not sent again, and parks what comes after it. */
  readonly dead: Iterable<Pick<DeadLetter, 'id' | 'key'>>;
  readonly now: () => string;
  /** The first record that is not settled. */
  readonly next: number;
}

/**
 * Records under way: many requests at once, those with the same key in their order, refused records set aside. The first fault of the
 * endpoint itself ends all of it.
 */
export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #queue: KeyedQueue;
  readonly #settled: SettledMark;
  readonly #parked = new Set<string>();
  readonly #dead = new Set<string>();
  readonly #ending = new AbortController();

  constructor(options: DeliveriesOptions) {
    this.#options = options;
    this.#settled = new SettledMark(options.next);
    for (const { id, key } of options.dead) {
      this.#dead.add(id);
      if (options.onDead === 'park' && key !== null) this.#parked.add(key);
    }
    this.#queue = new KeyedQueue(options.deliveries, (error) => {
      void this.stop(error);
    });
  }

  /** All records below this number are settled: taken, or set aside. */
  get next(): number {
    return this.#settled.next;
  }

  /** Begins with the records of a page; those that are settled already are left out. */
  add(records: readonly Numbered[], context: BatchContext): void {
    const { batch } = this.#options;
    for (const each of batch ? batchesOf(records, batch) : records.map((record) => [record])) {
      // A batch is sent again as it was, even if an earlier run got as far as into the middle of it.
      if (each.every(({ number }) => number < this.#settled.next)) continue;
      const keys = new Set(each.flatMap(({ key }) => (key === null ? [] : [key])));
      this.#queue.add(keys, () => this.#deliver(each, context));
    }
  }

  /** Resolves when all records below a number are settled. @throws what ended it. */
  until(below: number): Promise<void> {
    return this.#settled.until(below);
  }

  /** Ends what is under way, and resolves when nothing is any more. */
  async stop(reason: unknown): Promise<void> {
    this.#queue.stop();
    this.#settled.fail(reason);
    this.#ending.abort(reason);
    await this.#queue.idle();
  }

  async #deliver(records: readonly Numbered[], context: BatchContext): Promise<void> {
    const going: Numbered[] = [];
    for (const record of records) {
      if (this.#dead.has(record.id)) this.#settled.settle(record.number);
      else if (record.key !== null && this.#parked.has(record.key)) await this.#bury(record, { attempts: 0 });
      else going.push(record);
    }
    const [first, second] = going;
    if (!first) return;
    const { batch, send } = this.#options;
    const outcome = await send(batch ? batchDelivery(going, context) : first, this.#ending.signal);
    if (outcome.isTaken) for (const { number } of going) this.#settled.settle(number);
    else if (!isRecordFault(outcome.error)) throw outcome.error;
    else if (second) {
      // Which of them it does not like is found by halves, one after the other: their order is kept.
      const middle = Math.ceil(going.length / 2);
      await this.#deliver(going.slice(0, middle), context);
      await this.#deliver(going.slice(middle), context);
    } else {
      const { status, excerpt } = outcome.error.details;
      await this.#bury(first, { attempts: outcome.attempts, status: Number(status), answer: String(excerpt) });
      if (this.#options.onDead === 'park' && first.key !== null) this.#parked.add(first.key);
    }
  }

  async #bury(
    { id, key, body, number }: Numbered,
    { attempts, status = null, answer = '' }: { attempts: number; status?: number | null; answer?: string },
  ): Promise<void> {
    const record: unknown = JSON.parse(body);
    await this.#options.bury({ id, key, attempts, status, answer, at: this.#options.now(), record });
    this.#settled.settle(number);
  }
}

interface Waiting {
  readonly below: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Knows up to where numbered things are all settled, though they settle in any order. */
export class SettledMark {
  #next: number;
  readonly #ahead = new Set<number>();
  #waiting: Waiting[] = [];
  #failure: { readonly error: unknown } | undefined;

  constructor(next: number) {
    this.#next = next;
  }

  get next(): number {
    return this.#next;
  }

  settle(number: number): void {
    if (number < this.#next) return;
    this.#ahead.add(number);
    while (this.#ahead.delete(this.#next)) this.#next += 1;
    const isReached = ({ below }: Waiting): boolean => below <= this.#next;
    for (const { resolve } of this.#waiting.filter(isReached)) resolve();
    this.#waiting = this.#waiting.filter((each) => !isReached(each));
  }

  /** Nothing more will settle: whoever waits, now or later, is told why. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    for (const { reject } of this.#waiting) reject(this.#failure.error);
    this.#waiting = [];
  }

  /** Resolves when all below a number are settled. @throws why that will never be. */
  until(below: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#failure) reject(this.#failure.error);
      else if (below <= this.#next) resolve();
      else this.#waiting.push({ below, resolve, reject });
    });
  }
}
