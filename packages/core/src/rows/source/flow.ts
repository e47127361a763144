import { Observable, type Subscriber } from 'rxjs';
import { cancellable, done, type PullIterator } from './cancellable.js';

/** How items reach a consumer: pushed as fast as they come, or pulled one by one, which leaves time to prefetch. */
type Demand = 'push' | 'pull';

/** Opens a flow for one consumer: an iterator over chunks. A chunk is emitted completely before the next request. */
type OpenFlow<T> = (demand: Demand) => PullIterator<readonly T[]>;

/**
 * An Observable that can also be pulled, with `for await`.
 *
 * Cold: every subscription and every loop starts it again. Unsubscribing, `take(n)` and `break` stop it at once. RxJS
 * has no backpressure, so slow consumers should pull.
 *
 * @example
 * flow.pipe(take(10)).subscribe(console.log);   // push
 * for await (const item of flow) await save(item);   // pull: bounded read-ahead
 */
export class Flow<T> extends Observable<T> implements AsyncIterable<T> {
  readonly #open: OpenFlow<T>;

  constructor(open: OpenFlow<T>) {
    super((subscriber) => {
      const chunks = open('push');
      subscriber.add(() => {
        // A teardown cannot wait, and cannot report an error of closing.
        chunks.return().catch(() => undefined);
      });
      void push(chunks, subscriber);
    });
    this.#open = open;
  }

  /** Pulls the items. The source reads ahead by at most its `prefetch`. */
  [Symbol.asyncIterator](): PullIterator<T> {
    return items(this.#open('pull'));
  }

  /** A web stream of the items, pulled by its reader. */
  toReadableStream(): ReadableStream<T> {
    const items = this[Symbol.asyncIterator]();
    return new ReadableStream<T>(
      {
        async pull(controller) {
          const next = await items.next();
          if (next.done) controller.close();
          else controller.enqueue(next.value);
        },
        async cancel() {
          await items.return();
        },
      },
      { highWaterMark: 0 },
    );
  }
}

async function push<T>(chunks: PullIterator<readonly T[]>, subscriber: Subscriber<T>): Promise<void> {
  try {
    for await (const chunk of chunks) {
      for (const item of chunk) {
        if (subscriber.closed) return;
        subscriber.next(item);
      }
    }
    subscriber.complete();
  } catch (error) {
    subscriber.error(error);
  }
}

/** The items of chunks, one by one. */
function items<T>(chunks: PullIterator<readonly T[]>): PullIterator<T> {
  let chunk: Iterator<T> = [][Symbol.iterator]();
  return cancellable<T>(
    async () => {
      for (;;) {
        const item = chunk.next();
        if (!item.done) return item;
        const next = await chunks.next();
        if (next.done) return done;
        chunk = next.value[Symbol.iterator]();
      }
    },
    async () => {
      await chunks.return();
    },
  );
}
