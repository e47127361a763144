/** Time as an argument, so that tests can control it. */
export interface Clock {
  /** Wall time in ms since 1970. It may jump, so compare it only with dates from outside. */
  now(): number;
  /** Ms from an arbitrary point. It never jumps, so all waits are measured with it. */
  monotonic(): number;
  /** Calls back once after `ms`. Returns a function that cancels it. */
  after(ms: number, callback: () => void): () => void;
}

/** Longer delays overflow a timer, which then fires at once. */
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

/** Resolves after `ms`; rejects at once with the reason of a signal that aborts. It leaves no timer or listener behind. */
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
 * Whether a timer is so late that the process stood still when it was due. When it goes on, it hears of its timers before it hears
 * of all else that has happened meanwhile, and how long it ran before is unknown: so a deadline begins again.
 */
export function isLate(clock: Clock, due: number): boolean {
  return clock.monotonic() - due >= standstill;
}

/**
 * Calls back at a deadline, once after `ms`. If the process stood still then, it is called `again` ms later, and `onLate` at once.
 * Returns a function that cancels it.
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

/** Whether a promise settles within `ms`, and a second more if the process stood still. It leaves no timer behind. */
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

/** Whether a text as `2024-02-29` is a day of the calendar. `Date.parse` takes 30 February for 1 March. */
export function isCalendarDay(day: string): boolean {
  const ms = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day);
}
