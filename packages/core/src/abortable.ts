import { SignalWatch } from './signalWatch.js';

/** Settles like `promise`, or rejects with `signal.reason` on abort, even if the work behind it does not stop. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    // Removed before the waiter continues: a signal retains a listener that is added while another is there.
    promise.finally(() => signal.removeEventListener('abort', onAbort)).then(resolve, reject);
  });
}

/**
 * Like {@link abortable}, for many promises with one signal: it has one listener, as long as the signal lives. Only for a
 * signal that lives no longer than the promises are needed.
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
