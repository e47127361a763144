import { Observable, type Subscriber } from 'rxjs';
import { done, type PullIterator } from './cancellable.js';

/**
 * How a flow's consumer takes what comes. A pusher is served as fast as it goes and shows no demand; a puller asks for each
 * piece, so something can be made ready for it in the meantime.
 */
type Demand = 'push' | 'pull';

/** Opens a flow for one consumer: an iterator over chunks, each given out whole before the next one is asked for. */
type OpenFlow<T> = (demand: Demand) => PullIterator<readonly T[]>;

/**
 * An Observable that can also be pulled, with `for await`.
 *
 * Cold: every subscription and every loop opens it anew, and nothing happens before. Unsubscribing, `take(n)` and `break`
 * stop it at once. Since RxJS has no demand, slow consumers should pull.
 *
 * @example
 * flow.pipe(take(10)).subscribe(console.log);   // push
 * for await (const item of flow) await save(item);   // pull: nothing runs further ahead than its source reads ahead
 */
export class Flow<T> extends Observable<T> implements AsyncIterable<T> {
  readonly #open: OpenFlow<T>;

  constructor(open: OpenFlow<T>) {
    super((subscriber) => {
      const chunks = open('push');
      subscriber.add(() => {
        // A teardown can't wait, and has nobody to tell what goes wrong in closing.
        chunks.return().catch(() => undefined);
      });
      void push(chunks, subscriber);
    });
    this.#open = open;
  }

  /** Pulls: nothing runs further ahead of the consumer than the source reads ahead. */
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

/** The items of chunks, one by one. An item that is already there costs no further step. */
function items<T>(chunks: PullIterator<readonly T[]>): PullIterator<T> {
  let chunk: Iterator<T> = [][Symbol.iterator]();
  let last: Promise<unknown> = Promise.resolve();
  let ended = false;
  const step = async (): Promise<IteratorResult<T, undefined>> => {
    for (;;) {
      if (ended) return done;
      const item = chunk.next();
      if (!item.done) return item;
      const next = await chunks.next();
      if (next.done) return done;
      chunk = next.value[Symbol.iterator]();
    }
  };
  const iterator: PullIterator<T> = {
    next() {
      const result = last.then(step);
      last = result.catch(() => undefined);
      return result;
    },
    async return() {
      ended = true;
      await chunks.return();
      return done;
    },
    [Symbol.asyncIterator]: () => iterator,
    [Symbol.asyncDispose]: async () => {
      await iterator.return();
    },
  };
  return iterator;
}
