/** An invalid argument or environment. The command exits with 2, before any request. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A command failed; the message is complete. The command exits with 1. */
export class Failure extends Error {
  override readonly name = 'Failure';
}

/** What remains of a run that ended early. */
export interface InterruptionReport {
  /** What it means for the rows, and what to do. Follows the sentence that says what happened. */
  readonly consequence: string;
  /** The command line to print after the consequence. */
  readonly command?: string;
  /** Committed rows, if known. */
  readonly keptRows?: number;
}

/** A run ended early because of its cause. */
export class EarlyEnd extends Error {
  override readonly name = 'EarlyEnd';
  override readonly cause: unknown;
  /** `undefined` if there is nothing to add to the cause. */
  readonly interruptionReport: InterruptionReport | undefined;
  /** It was already reported, e.g. as an event of `--progress json`. */
  readonly isReported: boolean;

  constructor(cause: unknown, interruptionReport: InterruptionReport | undefined, isReported = false) {
    super('The run ended early.');
    this.cause = cause;
    this.interruptionReport = interruptionReport;
    this.isReported = isReported;
  }
}

/**
 * Exit codes, besides 129, 130 and 143 for signals. `deadLetters`: done, but a webhook refused some records. `unfinished`:
 * `--max-time` ended it, and the same command goes on (`EX_TEMPFAIL` of sysexits.h). `closedOutput`: the reader closed the
 * output; shells report the same code after SIGPIPE.
 */
export const exitCodes = {
  done: 0,
  failed: 1,
  wrongUsage: 2,
  deadLetters: 3,
  unfinished: 75,
  closedOutput: 141,
} as const;

/** As shells expect: 128 plus the signal's number. */
const signalCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

type InterruptingSignal = keyof typeof signalCodes;

/** The signals that end a command. */
export const interruptingSignals = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const satisfies InterruptingSignal[];

/** A signal interrupted the command, or the end of its time. */
export class Interruption extends Error {
  override readonly name = 'Interruption';
  /** Absent at the end of its time. */
  readonly signal: InterruptingSignal | undefined;
  readonly exitCode: number;

  constructor(
    signal: InterruptingSignal | undefined,
    exitCode: number = signal ? signalCodes[signal] : exitCodes.unfinished,
    message = `Stopped by ${signal ?? '--max-time'}.`,
  ) {
    super(message);
    this.signal = signal;
    this.exitCode = exitCode;
  }
}

/** The time of `--max-time` is over, or too short for what all requests wait for. */
export class TimeUp extends Interruption {
  /** It has ended before its time, in a pause that is longer. */
  readonly isPaused: boolean;

  constructor(message?: string, { isPaused = false } = {}) {
    super(undefined, undefined, message);
    this.isPaused = isPaused;
  }
}

/** The signal of a run that has no end of its own: SIGTERM then ends it as asked, so the exit code is 0. */
export function endedByTerm(signal: AbortSignal): AbortSignal {
  const ended = new AbortController();
  const end = (): void => {
    const reason: unknown = signal.reason;
    const isTerm = reason instanceof Interruption && reason.signal === 'SIGTERM';
    ended.abort(isTerm ? new Interruption('SIGTERM', exitCodes.done) : reason);
  };
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  return ended.signal;
}

/** Whether a process exits with this code because of a signal. */
export function isInterruptionCode(code: number): boolean {
  return interruptingSignals.some((signal) => signalCodes[signal] === code);
}

/** The part of a process that {@link abortOnSignals} needs. */
interface SignalSource {
  on(signal: InterruptingSignal, listener: () => void): unknown;
  exit(code: number): void;
}

/** Ms in which the same signal counts once: `timeout` sends it twice; npm forwards what the terminal sends to all. */
const sameSignal = 200;

/**
 * Aborts with an {@link Interruption} on the first of these signals of the process. The second one exits immediately.
 *
 * @param monotonic a monotonic clock in ms.
 * @param interrupted what is aborted. If its time was over before, the first signal changes nothing: it is closing already.
 */
export function abortOnSignals(
  source: SignalSource,
  monotonic: () => number,
  signals: readonly InterruptingSignal[] = interruptingSignals,
  interrupted = new AbortController(),
): AbortSignal {
  const last = new Map<InterruptingSignal, number>();
  for (const signal of signals) {
    source.on(signal, () => {
      const at = monotonic();
      if (at - (last.get(signal) ?? -Infinity) < sameSignal) return;
      if (last.size > 0) source.exit(signalCodes[signal]);
      last.set(signal, at);
      interrupted.abort(new Interruption(signal));
    });
  }
  return interrupted.signal;
}
