import { SignalWatch } from './signalWatch.js';

/** Settles like `promise`, or rejects with `signal.reason` on abort, even if the work of the promise does not stop. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    // Removes the listener before the waiter continues: a signal retains a listener that is added while it has another.
    promise.finally(() => signal.removeEventListener('abort', onAbort)).then(resolve, reject);
  });
}

/**
 * Like {@link abortable}, for many promises with one signal. It adds one listener, for as long as the signal exists, so
 * the signal must not outlive the promises.
 */
export function abortableBy(signal: AbortSignal): <T>(promise: Promise<T>) => Promise<T> {
  const signals = new SignalWatch();
  // Keeps the listener while nothing is pending.
  signals.watch(signal, () => undefined);
  return (promise) =>
    new Promise((resolve, reject) => {
      const stop = (): void => reject(signal.reason);
      if (signal.aborted) stop();
      promise.finally(signals.watch(signal, stop)).then(resolve, reject);
    });
}
