/** Settles like `promise`, or rejects with `signal.reason` on abort, even if the work behind it does not stop. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    // Removed before the waiter continues: a signal retains a listener that is added while another is there.
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
