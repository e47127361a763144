import type { Clock } from '@sluice/core';
import type { ReplayCounts } from '@sluice/exporters/webhook';
import type { Output } from '../../environment/output.js';
import type { GroupOptions } from '../../options/options.js';
import { type Ending, every, type Reporter } from '../../progress/reporter.js';
import { formatCount, formatDuration, formatNumber } from '../../terminal/format.js';

/** Shows the progress of a replay. At the end either `done` or `ended` is called, once. */
interface ReplayReporter extends Pick<Reporter, 'warn' | 'ended'> {
  readonly done: (counts: ReplayCounts) => void;
}

/** What a reporter of a replay needs. */
interface ReplayReporterContext {
  readonly output: Output;
  readonly clock: Clock;
  readonly header: { readonly file: string; readonly target: string };
  /** The current counts; `undefined` before the first letter. */
  readonly read: () => ReplayCounts | undefined;
}

const lineEvery = 5000;
const eventEvery = 1000;

/** `silent` shows only how many letters are left. */
export function openReplayReporter(
  mode: NonNullable<GroupOptions<'lineProgress'>['progress']> | 'silent',
  context: ReplayReporterContext,
): ReplayReporter {
  switch (mode) {
    case 'plain':
      return plainReporter(context);
    case 'json':
      return jsonReporter(context);
    case 'silent':
      return silentReporter(context);
  }
}

function plainReporter({ output, clock, header, read }: ReplayReporterContext): ReplayReporter {
  const began = clock.monotonic();
  const stop = every(clock, lineEvery, () => {
    const counts = read();
    if (counts) output.print(`${replayProgress(counts)}\n`);
  });
  return {
    warn: (message) => {
      output.print(`sluice: ${message}\n`);
    },
    done: (counts) => {
      stop();
      const took = formatDuration(clock.monotonic() - began);
      output.print(
        `${formatCount(counts.replayed, 'dead letter')} replayed -> ${header.target} (${took}), ${replayRest(counts)}\n`,
      );
    },
    ended: () => {
      stop();
      return false;
    },
  };
}

function silentReporter({ output, header }: ReplayReporterContext): ReplayReporter {
  return {
    warn: () => undefined,
    done: (counts) => {
      if (counts.left > 0) output.print(`sluice: ${header.file}: ${replayRest(counts)}.\n`);
    },
    ended: () => false,
  };
}

/** A line of a replay's `--progress json`. The first is `start`; the last is `report`, `failed` or `stopped`. */
type ReplayEvent =
  | ({ readonly event: 'start' } & ReplayReporterContext['header'])
  | { readonly event: 'warning'; readonly message: string }
  | ({ readonly event: 'progress' } & ReplayFigures)
  | ({ readonly event: 'report' } & ReplayFigures)
  | ({ readonly event: Ending['kind'] } & Omit<Ending, 'kind'> & ReplayFigures);

type ReplayFigures = Partial<ReplayCounts> & { readonly elapsedMs: number };

/** One event per line, for programs. */
function jsonReporter({ output, clock, header, read }: ReplayReporterContext): ReplayReporter {
  const began = clock.monotonic();
  const emit = (event: ReplayEvent): void => {
    output.print(`${JSON.stringify(event)}\n`);
  };
  const elapsed = (): Pick<ReplayFigures, 'elapsedMs'> => ({ elapsedMs: Math.round(clock.monotonic() - began) });
  emit({ event: 'start', ...header });
  const stop = every(clock, eventEvery, () => {
    const counts = read();
    if (counts) emit({ event: 'progress', ...counts, ...elapsed() });
  });
  return {
    warn: (message) => {
      emit({ event: 'warning', message });
    },
    done: (counts) => {
      stop();
      emit({ event: 'report', ...counts, ...elapsed() });
    },
    ended: ({ kind, ...ending }) => {
      stop();
      emit({ event: kind, ...ending, ...read(), ...elapsed() });
      return true;
    },
  };
}

/** The progress of a replay. @example '1,200 of 3,000 dead letters replayed, 3 refused again' */
function replayProgress({ replayed, stillDead, left }: ReplayCounts): string {
  const again = stillDead === 0 ? '' : `, ${formatNumber(stillDead)} refused again`;
  return `${formatNumber(replayed)} of ${formatCount(replayed + left, 'dead letter')} replayed${again}`;
}

/** How many letters are left, and why. @example '3 left (1 refused again, 2 behind one with their key)' */
function replayRest({ stillDead, left }: ReplayCounts): string {
  if (left === 0) return 'none left';
  const pending = left - stillDead;
  const why = [
    ...(stillDead > 0 ? [`${formatNumber(stillDead)} refused again`] : []),
    ...(pending > 0 && stillDead > 0
      ? [`${formatNumber(pending)} behind one with ${pending === 1 ? 'its' : 'their'} key`]
      : []),
  ];
  return `${formatNumber(left)} left${why.length === 0 ? '' : ` (${why.join(', ')})`}`;
}
