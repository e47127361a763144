import type { Resumed } from './messages.js';
import { type RunHeader, type Progress, rowsPerSecond, timeLeft } from './progress.js';
import { type WaitEvent, waitEvent } from './waits.js';
import { every, type Reporter, type ReporterContext } from './reporter.js';

const eventEvery = 1000;

/** `--progress json`: one event per line, for programs. Errors are events too, so that every line can be parsed. */
export function jsonReporter({ output, clock, header, read }: ReporterContext): Reporter {
  const emit = (event: ProgressEvent): void => {
    output.print(`${JSON.stringify(event)}\n`);
  };
  emit({ event: 'start', ...header });
  const stop = every(clock, eventEvery, () => {
    emit(progressEvent(read()));
  });
  return {
    resumed: (resumed) => {
      emit({ event: 'resumed', ...resumed });
    },
    warn: (message) => {
      emit({ event: 'warning', message });
    },
    info: (message) => {
      emit({ event: 'info', message });
    },
    done: (summary) => {
      stop();
      const { bytes, deadLetters, finishedAt, isIncomplete, rowsNotRemoved, shortOfTotal } = summary ?? {};
      emit({
        event: 'report',
        target: header.target,
        ...(bytes !== undefined && { bytes }),
        ...(deadLetters && { deadLetters }),
        ...(finishedAt !== undefined && { finishedAt }),
        ...(isIncomplete && { isIncomplete }),
        ...(rowsNotRemoved !== undefined && { rowsNotRemoved }),
        ...(shortOfTotal && { shortOfTotal }),
        ...countsOf(read()),
      });
    },
    ended: ({ kind, ...ending }) => {
      stop();
      emit({ event: kind, ...ending, ...countsOf(read()) });
      return true;
    },
  };
}

/** Counts so far. Times are in ms, sizes in bytes. */
interface ProgressCounts {
  /** Rows and pages include those of earlier runs; `rowsPerSecond` is this run's. */
  readonly rows: number;
  readonly pages: number;
  readonly rowsPerSecond: number;
  /** Includes retries. */
  readonly requests: number;
  readonly retries: number;
  /** Total time that requests waited for the limiter. */
  readonly waitedMs: number;
  readonly elapsedMs: number;
  /** Why the latest attempt was repeated, in a few words. */
  readonly lastRetry?: string;
  /** Requests to the webhook, including redeliveries. Absent for other targets. */
  readonly deliveries?: number;
  readonly redeliveries?: number;
}

/**
 * A line of `--progress json` on stderr. The first is `start`. The last is `report`, `failed`, or `stopped` (after a
 * signal, or when the reader closed the output).
 */
type ProgressEvent =
  | ({ readonly event: 'start' } & RunHeader)
  | ({ readonly event: 'resumed' } & Resumed)
  | ({
      readonly event: 'progress';
      readonly total?: number;
      readonly leftMs?: number;
      readonly waiting?: WaitEvent;
    } & ProgressCounts)
  | { readonly event: 'warning' | 'info'; readonly message: string }
  | ({
      readonly event: 'report';
      readonly target: string;
      readonly bytes?: number;
      /** When an earlier run finished the export, so that this one had nothing to do (ISO 8601). */
      readonly finishedAt?: string;
      /** Rows may be missing: the API refused a part for good, or reported errors beside its rows. */
      readonly isIncomplete?: boolean;
      /** Rows of the table that the walk did not find, and that stay since it was incomplete. */
      readonly rowsNotRemoved?: number;
      /** The API lists fewer rows than it says that there are. */
      readonly shortOfTotal?: { readonly total: number; readonly listed: number };
      readonly deadLetters?: { readonly count: number; readonly path: string };
    } & ProgressCounts)
  | ({
      readonly event: 'failed' | 'stopped';
      readonly message: string;
      readonly exitCode: number;
      /** Committed rows, if known. */
      readonly keptRows?: number;
      /** The command line that resumes. */
      readonly resume?: string;
    } & ProgressCounts);

function countsOf(progress: Progress): ProgressCounts {
  const { rows, pages, requests, retries, waited, elapsed, lastRetry, sent } = progress;
  return {
    rows,
    pages,
    rowsPerSecond: Math.round(rowsPerSecond(progress)),
    requests,
    retries,
    waitedMs: Math.round(waited),
    elapsedMs: Math.round(elapsed),
    ...(lastRetry !== undefined && { lastRetry }),
    ...sent,
  };
}

export function progressEvent(progress: Progress): ProgressEvent {
  const left = timeLeft(progress);
  return {
    event: 'progress',
    ...countsOf(progress),
    ...(progress.total !== undefined && { total: progress.total }),
    ...(left !== undefined && { leftMs: Math.round(left) }),
    ...(progress.wait && { waiting: waitEvent(progress.wait) }),
  };
}
