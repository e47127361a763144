/** Time as an argument, so that tests can control it. */
export interface Clock {
  /** Wall time in ms since 1970. It may jump, so compare it only with dates from outside. */
  now(): number;
  /** Ms from an arbitrary point. It never jumps, so all waits are measured with it. */
  monotonic(): number;
  /** Calls back once after `ms`. Returns a function that cancels it. */
  after(ms: number, callback: () => void): () => void;
}

/** Ms. A longer delay overflows a timer, which then fires at once. */
const longestTimer = 2 ** 31 - 1;

/** The machine's clock. */
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

/** Resolves after `ms`; rejects at once if a signal aborts, with its reason. Leaves no timer or listener behind. */
export function sleep(clock: Clock, ms: number, ...signals: readonly (AbortSignal | undefined)[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = (): AbortSignal | undefined => signals.find((signal) => signal?.aborted);
    if (aborted()) {
      reject(aborted()?.reason);
      return;
    }
    const onAbort = (): void => {
      cancel();
      settle();
    };
    const settle = (): void => {
      for (const signal of signals) signal?.removeEventListener('abort', onAbort);
      if (aborted()) reject(aborted()?.reason);
      else resolve();
    };
    const cancel = clock.after(ms, settle);
    for (const signal of signals) signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Ms that a timer may be late on a busy machine. */
const standstill = 1_000;

/**
 * Whether a timer is so late that the process stood still when it was due. After a standstill, timers fire before other
 * events of that time, and it is unknown how long the process ran before. So a deadline starts again.
 */
export function isLate(clock: Clock, due: number): boolean {
  return clock.monotonic() - due >= standstill;
}

/**
 * Calls back at a deadline, once after `ms`. If the process stood still then, calls `onLate` at once, and calls back
 * `again` ms later. Returns a function that cancels the callback.
 */
export function afterRunning(
  clock: Clock,
  ms: number,
  callback: () => void,
  { again = ms, onLate }: { readonly again?: number; readonly onLate?: () => void } = {},
): () => void {
  const due = clock.monotonic() + ms;
  let cancel = clock.after(ms, () => {
    if (!isLate(clock, due)) {
      callback();
      return;
    }
    cancel = afterRunning(clock, again, callback, onLate && { onLate });
    onLate?.();
  });
  return () => cancel();
}

/** Whether a promise settles within `ms`, or a second more if the process stood still. Leaves no timer behind. */
export function settlesWithin(clock: Clock, ms: number, promise: Promise<unknown>): Promise<boolean> {
  if (ms === Infinity)
    return promise.then(
      () => true,
      () => true,
    );
  return new Promise((resolve) => {
    const cancel = afterRunning(clock, ms, () => resolve(false), { again: standstill });
    const onSettled = (): void => {
      cancel();
      resolve(true);
    };
    promise.then(onSettled, onSettled);
  });
}

/** Whether a text such as `2024-02-29` is a day of the calendar. `Date.parse` reads 30 February as 1 March. */
export function isCalendarDay(day: string): boolean {
  const ms = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day);
}
