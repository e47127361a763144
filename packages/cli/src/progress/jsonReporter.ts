import type { Resumed } from './messages.js';
import { type RunHeader, type Progress, rowsPerSecond, timeLeft } from './progress.js';
import { every, type Reporter, type ReporterContext } from './reporter.js';

const eventEvery = 1000;

/** `--progress json`: one event a line, for programs. Faults are events too, so that every line can be parsed. */
export function jsonReporter({ output, clock, header, read }: ReporterContext): Reporter {
  const emit = (event: ProgressEvent): void => {
    output.tell(`${JSON.stringify(event)}\n`);
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
      const { bytes, deadLetters, finishedAt } = summary ?? {};
      emit({
        ...{ event: 'report', target: header.target },
        ...(bytes !== undefined && { bytes }),
        ...(deadLetters && { deadLetters }),
        ...(finishedAt !== undefined && { finishedAt }),
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

/** What an export has done so far, in most events. Times are ms, sizes bytes. */
interface ProgressCounts {
  /** Rows and pages count those of an interrupted run before it too; the pace is this run's. */
  readonly rows: number;
  readonly pages: number;
  readonly rowsPerSecond: number;
  /** Requests sent, retries included. */
  readonly requests: number;
  readonly retries: number;
  /** What the requests waited for the limiter, added up. */
  readonly waitedMs: number;
  readonly elapsedMs: number;
  /** Requests to the webhook, repeated ones included, where rows go to one. */
  readonly deliveries?: number;
  readonly redeliveries?: number;
}

/**
 * A line of `--progress json`: one JSON object a line on stderr. The first is `start`; the last is `report`, or where there is none
 * `failed`, or `stopped` after a signal or when nobody reads the output any more.
 */
type ProgressEvent =
  | ({ readonly event: 'start' } & RunHeader)
  | ({ readonly event: 'resumed' } & Resumed)
  | ({ readonly event: 'progress'; readonly total?: number; readonly leftMs?: number } & ProgressCounts)
  | { readonly event: 'warning' | 'info'; readonly message: string }
  | ({
      readonly event: 'report';
      readonly target: string;
      readonly bytes?: number;
      /** When an earlier run finished the export, after which this one had nothing to do (ISO 8601). */
      readonly finishedAt?: string;
      readonly deadLetters?: { readonly count: number; readonly path: string };
    } & ProgressCounts)
  | ({
      readonly event: 'failed' | 'stopped';
      readonly message: string;
      /** What the command is going to exit with. */
      readonly exitCode: number;
      /** Rows that the next run resumes after, where one can. */
      readonly keptRows?: number;
      /** The command line that resumes. */
      readonly resume?: string;
    } & ProgressCounts);

/** The figures of an event. */
function countsOf(progress: Progress): ProgressCounts {
  const { rows, pages, requests, retries, waited, elapsed, sent } = progress;
  return {
    rows,
    pages,
    rowsPerSecond: Math.round(rowsPerSecond(progress)),
    requests,
    retries,
    waitedMs: Math.round(waited),
    elapsedMs: Math.round(elapsed),
    ...sent,
  };
}

/** The event of a moment on the way. */
export function progressEvent(progress: Progress): ProgressEvent {
  const left = timeLeft(progress);
  return {
    event: 'progress',
    ...countsOf(progress),
    ...(progress.total !== undefined && { total: progress.total }),
    ...(left !== undefined && { leftMs: Math.round(left) }),
  };
}
