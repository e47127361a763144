/**
 * Settles like `promise`, or rejects with `signal.reason` as soon as the signal aborts; a later result is ignored.
 * Needed because not everything that is aborted stops at once.
 */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    // Remove the listener before the waiter continues and adds the next one: a signal keeps a listener that is added
    // while another is there.
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
