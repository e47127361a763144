/// <reference lib="esnext.disposable" preserve="true" />

/** An async iterator that its consumer can stop at any moment. */
export interface PullIterator<T> extends AsyncIterator<T, undefined>, AsyncDisposable {
  /** Concurrent calls resolve in order. */
  next(): Promise<IteratorResult<T, undefined>>;
  /** Ends the iteration: a pending `next()` resolves with `done` at once. Resolves when all resources are closed. */
  return(): Promise<IteratorResult<T, undefined>>;
  /** Returns itself, for `for await`. */
  [Symbol.asyncIterator](): PullIterator<T>;
}

/** One step of a {@link cancellable} iterator. */
type Step<T> = (signal: AbortSignal) => Promise<IteratorResult<T, undefined>>;

/** The result at the end of an iteration. */
export const done: { readonly done: true; readonly value: undefined } = { done: true, value: undefined };

/**
 * Creates an iterator from a step function. Unlike with an async generator, `return()` does not wait for the current
 * step: it aborts the step's signal and `next()` resolves at once.
 *
 * Steps never overlap. No step starts after the end, an error or `return()`.
 *
 * @param close called once, whatever ends the iteration; `return()` waits for it
 */
export function cancellable<T>(step: Step<T>, close: () => void | Promise<void> = () => undefined): PullIterator<T> {
  const stopped = new AbortController();
  const { signal } = stopped;
  let closed: Promise<void> | undefined;
  /** The result of the latest call of `next`. */
  let last: Promise<unknown> = Promise.resolve();
  let hasEnded = false;
  const isEnded = (): boolean => hasEnded;
  /**
   * Callbacks of pending `next()` calls. They are not listeners of the signal: it would retain a listener that is added
   * while it has another, and with it every page, until a full garbage collection.
   */
  const pending: (() => void)[] = [];
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
      // A step that the consumer stopped may throw because of that.
      if (signal.aborted) return done;
      // The consumer gets the first error, not an error of closing.
      await end().catch(() => undefined);
      throw error;
    }
    await end();
    return done;
  };
  const untilStopped = (result: Promise<IteratorResult<T, undefined>>): Promise<IteratorResult<T, undefined>> =>
    new Promise((resolve, reject) => {
      const onStop = (): void => resolve(done);
      pending.push(onStop);
      // Removed before the consumer continues with its next call.
      result.finally(() => pending.splice(pending.indexOf(onStop), 1)).then(resolve, reject);
    });
  const iterator: PullIterator<T> = {
    next() {
      if (isEnded()) return Promise.resolve(done);
      // The step never starts synchronously: code that it calls may call `next` or `return`.
      const result = last.then(advance, advance);
      last = result;
      return untilStopped(result);
    },
    async return() {
      const closing = end();
      stopped.abort();
      for (const onStop of pending.slice()) onStop();
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
