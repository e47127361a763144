/** Time as an argument, so that tests can turn it by hand. */
export interface Clock {
  /** Wall time in ms since 1970. It may jump; only ever compare it with dates from outside. */
  now(): number;
  /** Ms from an arbitrary point. It never jumps: every wait is measured by it. */
  monotonic(): number;
  /** Calls back once after `ms`; the answer cancels it. */
  after(ms: number, callback: () => void): () => void;
}

/** Longer delays overflow a timer and fire at once. */
const longestTimer = 2 ** 31 - 1;

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, callback) {
    let rest = ms;
    const step = (): ReturnType<typeof setTimeout> => {
      const part = Math.min(rest, longestTimer);
      rest -= part;
      return setTimeout(() => {
        if (rest > 0) timer = step();
        else callback();
      }, part);
    };
    let timer = step();
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`; rejects at once with `signal.reason` when aborted, and leaves no timer behind. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Whether a promise is fulfilled or rejected within `ms`; leaves no timer behind. */
export async function settlesWithin(clock: Clock, ms: number, promise: Promise<unknown>): Promise<boolean> {
  // Then nobody has to find out.
  if (ms === Infinity) return true;
  let cancel: () => void = () => undefined;
  const late = new Promise<boolean>((resolve) => {
    cancel = clock.after(ms, () => resolve(false));
  });
  const inTime = (): boolean => true;
  const isInTime = await Promise.race([promise.then(inTime, inTime), late]);
  cancel();
  return isInTime;
}
