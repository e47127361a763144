/** An argument or the environment can't be used. The command ends with exit code 2, before any request. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A command could not do its work, and its message says all of it. The command ends with exit code 1. */
export class Failure extends Error {
  override readonly name = 'Failure';
}

/** What ended a command was already told, e.g. as an event of `--progress json`; only the exit code is left. */
export class ReportedError extends Error {
  override readonly name = 'ReportedError';
  readonly exitCode: number;

  constructor(exitCode: number) {
    super('The fault was told already.');
    this.exitCode = exitCode;
  }
}

/** What is left of an export that ended early. */
export interface InterruptionReport {
  /** What it means for the rows, and what to do: behind the sentence that says what happened. */
  readonly consequence: string;
  /** The command line that the consequence ends with. */
  readonly command?: string;
  /** Rows that the next run goes on behind, where one can. */
  readonly keptRows?: number;
}

/** An export ended early; its cause says why. */
export class UnfinishedExport extends Error {
  override readonly name = 'UnfinishedExport';
  override readonly cause: unknown;
  readonly interruptionReport: InterruptionReport;

  constructor(cause: unknown, interruptionReport: InterruptionReport) {
    super('The export ended early.');
    this.cause = cause;
    this.interruptionReport = interruptionReport;
  }
}

/**
 * What a command can exit with, besides 129, 130 and 143 for signals. `deadLetters`: done, but some records were not taken.
 * `closedOutput`: nobody read the output any more; it is what a shell reports of a program that SIGPIPE ended.
 */
export const exitCodes = { done: 0, failed: 1, wrongUsage: 2, deadLetters: 3, closedOutput: 141 } as const;

/** The exit codes that shells expect: 128 and the signal's number. */
const signalCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

type InterruptingSignal = keyof typeof signalCodes;

/** The signals that end a command. */
export const interruptingSignals = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const satisfies InterruptingSignal[];

/** A signal asked the command to end. */
export class Interruption extends Error {
  override readonly name = 'Interruption';
  readonly signal: InterruptingSignal;

  constructor(signal: InterruptingSignal) {
    super(`Stopped by ${signal}.`);
    this.signal = signal;
  }

  get exitCode(): number {
    return signalCodes[this.signal];
  }
}

/** Whether a process that exits with this code does so because of a signal. */
export function isInterruptionCode(code: number): boolean {
  return interruptingSignals.some((signal) => signalCodes[signal] === code);
}

/** What a process has to have for {@link abortOnSignals}. */
interface SignalSource {
  on(signal: InterruptingSignal, listener: () => void): unknown;
  exit(code: number): void;
}

/** Ms in which the same signal counts once: `timeout` sends its own twice, and npm hands on what the terminal has sent to all already. */
const sameSignal = 200;

/**
 * A signal of ours that the first of the process's signals aborts, with an {@link Interruption}. The second one exits at once.
 *
 * @param monotonic the time in ms, from any point.
 */
export function abortOnSignals(source: SignalSource, monotonic: () => number): AbortSignal {
  const interrupted = new AbortController();
  const last = new Map<InterruptingSignal, number>();
  for (const signal of interruptingSignals) {
    source.on(signal, () => {
      const at = monotonic();
      if (at - (last.get(signal) ?? -Infinity) < sameSignal) return;
      last.set(signal, at);
      if (interrupted.signal.aborted) source.exit(signalCodes[signal]);
      interrupted.abort(new Interruption(signal));
    });
  }
  return interrupted.signal;
}
