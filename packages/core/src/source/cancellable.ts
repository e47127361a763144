/// <reference lib="esnext.disposable" preserve="true" />

/** An async iterator that a consumer pulls from, and can stop at any moment. */
export interface PullIterator<T> extends AsyncIterator<T, undefined>, AsyncDisposable {
  /** Calls made side by side are answered in turn. */
  next(): Promise<IteratorResult<T, undefined>>;
  /** Ends it: a pending `next()` answers `done` at once. Resolves when everything behind it is closed. */
  return(): Promise<IteratorResult<T, undefined>>;
  /** Itself, for `for await`. */
  [Symbol.asyncIterator](): PullIterator<T>;
}

/** One step of a {@link stoppable} iterator. */
type Step<T> = (signal: AbortSignal) => Promise<IteratorResult<T, undefined>>;

/** The end of every iteration. */
export const done: { readonly done: true; readonly value: undefined } = { done: true, value: undefined };

/**
 * Makes an iterator from a step. Unlike an async generator's, its `return()` does not wait for the step under way: it aborts
 * the step's signal and answers at once.
 *
 * Steps never overlap. After the end, an error or a stop no further step is made.
 *
 * @param close is called once, when it ends for whatever reason; `return()` waits for it.
 */
export function cancellable<T>(step: Step<T>, close: () => void | Promise<void> = () => undefined): PullIterator<T> {
  const stopped = new AbortController();
  const { signal } = stopped;
  let closed: Promise<void> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let hasEnded = false;
  const isEnded = (): boolean => hasEnded;
  /**
   * Those who wait for a step. They are no listeners of the signal: one that is added before the one before it is gone is remembered by
   * it for good, and so would be every page, until the collector goes through all of the memory.
   */
  const waiting: (() => void)[] = [];
  const end = (): Promise<void> => {
    hasEnded = true;
    return (closed ??= (async () => close())());
  };
  const advance = async (): Promise<IteratorResult<T, undefined>> => {
    if (isEnded()) return done;
    try {
      const result = await step(signal);
      if (!result.done) return isEnded() ? done : result;
    } catch (error) {
      // What a stopped step throws is about the stop, which its consumer asked for.
      if (signal.aborted) return done;
      // What went wrong first is what its consumer has to hear of.
      await end().catch(() => undefined);
      throw error;
    }
    await end();
    return done;
  };
  const untilStopped = (result: Promise<IteratorResult<T, undefined>>): Promise<IteratorResult<T, undefined>> =>
    new Promise((resolve, reject) => {
      const onStop = (): void => resolve(done);
      waiting.push(onStop);
      // Taken out before whoever waits goes on: what is asked for next must not find it there.
      result.then(
        (step) => {
          waiting.splice(waiting.indexOf(onStop), 1);
          resolve(step);
        },
        (error: unknown) => {
          waiting.splice(waiting.indexOf(onStop), 1);
          reject(error);
        },
      );
    });
  const iterator: PullIterator<T> = {
    next() {
      if (isEnded()) return Promise.resolve(done);
      const result = last.then(advance);
      last = result.catch(() => undefined);
      return untilStopped(result);
    },
    async return() {
      const closing = end();
      stopped.abort();
      for (const onStop of waiting.slice()) onStop();
      await closing;
      return done;
    },
    [Symbol.asyncIterator]: () => iterator,
    [Symbol.asyncDispose]: async () => {
      await iterator.return();
    },
  };
  return iterator;
}
