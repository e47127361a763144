import type { Clock, PageHealth } from '@sluice/core';
import { scrubbed } from '../faults/scrubbed.js';
import type { WatchProgressMode } from '../options/watchProgressMode.js';
import type { Begun } from '../terminal/begun.js';
import { formatCount } from '../terminal/formatNumber.js';
import { formatTime } from '../terminal/formatTime.js';
import { openingLine } from '../terminal/openingLine.js';
import type { Output } from '../terminal/output.js';
import type { Ending, Reporter } from '../terminal/reporter.js';
import { visibleText } from '../terminal/visibleText.js';
import { faultOf, healthLines, type Watched } from './healthLines.js';

/** What a run of a watch came to. */
export interface WatchCounts {
  readonly changes: number;
  readonly polls: number;
  /** Of an endpoint: requests to it, those of them that repeated one that had failed, and what it did not take. */
  readonly deliveries?: number;
  readonly redeliveries?: number;
  readonly deadLetters?: { readonly count: number; readonly path: string };
}

/** Shows how a watch goes. At the end either `done` or `ended` is called, once. */
export interface WatchReporter extends Pick<Reporter, 'warn' | 'info' | 'ended'> {
  readonly health: (health: PageHealth) => void;
  readonly done: (counts: WatchCounts) => void;
}

/** What a watch's reporter stands on. */
export interface WatchReporterContext {
  readonly output: Output;
  readonly clock: Clock;
  readonly secrets: ReadonlySet<string>;
  readonly watched: Watched;
  readonly begun: Begun;
  readonly read: () => WatchCounts;
}

/** The reporter of a mode; `silent` shows nothing. */
export function openWatchReporter(mode: WatchProgressMode | 'silent', context: WatchReporterContext): WatchReporter {
  switch (mode) {
    case 'plain':
      return plainReporter(context);
    case 'json':
      return jsonReporter(context);
    case 'silent':
      return { health: nothing, warn: nothing, info: nothing, done: nothing, ended: () => false };
  }
}

function nothing(): void {
  // Quiet.
}

/** Calm lines, for people and logs. */
function plainReporter({ output, clock, secrets, watched, begun, read }: WatchReporterContext): WatchReporter {
  const opening = openingLine(begun);
  if (opening !== undefined) output.tell(`${opening}\n`);
  let before: PageHealth | undefined;
  return {
    health: (health) => {
      // The last poll of a run that fails is its end, and told as such.
      if (health.outcome === 'failed' && read().polls === watched.polls) return;
      const time = output.colors.dim(formatTime(new Date(clock.now())));
      for (const line of healthLines(health, before, watched))
        output.tell(`${time}  ${visibleText(scrubbed(line, secrets))}\n`);
      before = health;
    },
    warn: (message) => {
      output.tell(`sluice: ${message}\n`);
    },
    info: (message) => {
      output.tell(`${message}\n`);
    },
    done: ({ changes, polls }) => {
      output.tell(`${formatCount(changes, 'change')} in ${formatCount(polls, 'poll')} -> ${begun.target}\n`);
    },
    ended: () => false,
  };
}

/** A line of a watch's `--progress json`. The first is `start`; the last is `report`, `failed` or `stopped`. */
type WatchEvent =
  | ({ readonly event: 'start' } & WatchReporterContext['begun'])
  | ({ readonly event: 'poll'; readonly message?: string } & Omit<PageHealth, 'error'>)
  | { readonly event: 'warning' | 'info'; readonly message: string }
  | ({ readonly event: 'report'; readonly target: string } & WatchCounts)
  | ({ readonly event: Ending['kind'] } & Omit<Ending, 'kind'> & WatchCounts);

/** One event a line, for programs. */
function jsonReporter({ output, secrets, begun, read }: WatchReporterContext): WatchReporter {
  const emit = (event: WatchEvent): void => {
    output.tell(`${JSON.stringify(event)}\n`);
  };
  emit({ event: 'start', ...begun });
  return {
    health: ({ error, ...health }) => {
      emit({ event: 'poll', ...health, ...(error !== undefined && { message: scrubbed(faultOf(error), secrets) }) });
    },
    warn: (message) => {
      emit({ event: 'warning', message });
    },
    info: (message) => {
      emit({ event: 'info', message });
    },
    done: (counts) => {
      emit({ event: 'report', target: begun.target, ...counts });
    },
    ended: ({ kind, ...ending }) => {
      emit({ event: kind, ...ending, ...read() });
      return true;
    },
  };
}
