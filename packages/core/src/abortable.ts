/**
 * Settles as `promise` does, or rejects with `signal.reason` the moment the signal is aborted. What comes after that is
 * dropped: not everything that is told to stop does so at once.
 */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    // The listener goes before whoever waits goes on: one that is added while it is there would be remembered by it.
    const settle = (): void => signal.removeEventListener('abort', onAbort);
    promise.then(
      (value) => {
        settle();
        resolve(value);
      },
      (error: unknown) => {
        settle();
        reject(error);
      },
    );
  });
}
