import { type Clock, type PageHealth, SluiceError } from '@sluice/core';
import type { Output } from '../environment/output.js';
import { sentenceOf } from '../errors/cliTerms.js';
import { redact } from '../errors/redact.js';
import type { GroupOptions } from '../options/options.js';
import { openingLine } from '../progress/messages.js';
import type { Deliveries, RunHeader } from '../progress/progress.js';
import { type Ending, messageLines, type Reporter } from '../progress/reporter.js';
import { type Wait, type WaitEvent, waitEvent, waitText } from '../progress/waits.js';
import { formatCount, formatDuration, formatTime } from '../terminal/format.js';
import { visibleText } from '../terminal/text.js';
import type { RowView } from './rowView.js';

/** The counts of this run. The optional ones are for webhooks. */
export interface WatchCounts extends Partial<Deliveries> {
  readonly changes: number;
  readonly polls: number;
  readonly deadLetters?: { readonly count: number; readonly path: string };
}

/** Shows the progress of a watch. At the end either `done` or `ended` is called, once. */
interface WatchReporter extends Pick<Reporter, 'warn' | 'info' | 'ended'> {
  readonly health: (health: PageHealth) => void;
  /** A poll, or the delivery of its changes, has to wait for long. */
  readonly waiting: (wait: Wait) => void;
  readonly done: (counts: WatchCounts) => void;
}

/** What a reporter of a watch needs. */
interface WatchReporterContext {
  readonly output: Output;
  readonly clock: Clock;
  readonly secrets: ReadonlySet<string>;
  readonly hasFlag: (flag: string) => boolean;
  readonly watched: Watched;
  readonly header: RunHeader;
  readonly read: () => WatchCounts;
}

/** `silent` shows nothing. */
export function openWatchReporter(
  mode: NonNullable<GroupOptions<'watchProgress'>['progress']> | 'silent',
  context: WatchReporterContext,
): WatchReporter {
  switch (mode) {
    case 'plain':
      return plainReporter(context);
    case 'json':
      return jsonReporter(context);
    case 'silent':
      return { health: nothing, waiting: nothing, warn: nothing, info: nothing, done: nothing, ended: () => false };
  }
}

function nothing(): void {
  // For --quiet.
}

/** Lines for people and logs. */
function plainReporter({
  output,
  clock,
  secrets,
  hasFlag,
  watched,
  header,
  read,
}: WatchReporterContext): WatchReporter {
  const opening = openingLine(header);
  if (opening !== undefined) output.print(`${opening}\n`);
  let before: PageHealth | undefined;
  return {
    health: (health) => {
      // If the last poll fails, the caller reports its error.
      if (health.outcome === 'failed' && read().polls === watched.polls) return;
      const time = output.colors.dim(formatTime(new Date(clock.now())));
      for (const line of healthLines(health, before, watched, hasFlag))
        output.print(`${time}  ${visibleText(redact(line, secrets))}\n`);
      before = health;
    },
    waiting: (wait) => {
      const time = output.colors.dim(formatTime(new Date(clock.now())));
      output.print(`${time}  ${visibleText(redact(`The watch waits: ${waitText(wait)}.`, secrets))}\n`);
    },
    ...messageLines(output),
    done: ({ changes, polls }) => {
      output.print(`${formatCount(changes, 'change')} in ${formatCount(polls, 'poll')} -> ${header.target}\n`);
    },
    ended: () => false,
  };
}

/** A line of a watch's `--progress json`. The first is `start`; the last is `report`, `failed` or `stopped`. */
type WatchEvent =
  | ({ readonly event: 'start' } & WatchReporterContext['header'])
  | ({ readonly event: 'poll'; readonly message?: string } & Omit<PageHealth, 'error'>)
  | ({ readonly event: 'waiting' } & WaitEvent)
  | { readonly event: 'warning' | 'info'; readonly message: string }
  | ({ readonly event: 'report'; readonly target: string } & WatchCounts)
  | ({ readonly event: Ending['kind'] } & Omit<Ending, 'kind'> & WatchCounts);

/** One event per line, for programs. */
function jsonReporter({ output, secrets, hasFlag, header, read }: WatchReporterContext): WatchReporter {
  const emit = (event: WatchEvent): void => {
    output.print(`${JSON.stringify(event)}\n`);
  };
  emit({ event: 'start', ...header });
  return {
    health: ({ error, ...health }) => {
      emit({
        event: 'poll',
        ...health,
        ...(error !== undefined && { message: redact(errorText(error, hasFlag), secrets) }),
      });
    },
    waiting: (wait) => {
      emit({ event: 'waiting', ...waitEvent(wait) });
    },
    warn: (message) => {
      emit({ event: 'warning', message });
    },
    info: (message) => {
      emit({ event: 'info', message });
    },
    done: (counts) => {
      emit({ event: 'report', target: header.target, ...counts });
    },
    ended: ({ kind, ...ending }) => {
      emit({ event: kind, ...ending, ...read() });
      return true;
    },
  };
}

interface Watched {
  readonly noun: RowView<never>['noun'];
  /** Interval between polls in ms. */
  readonly every: number;
  /** Maximum number of polls. */
  readonly polls?: number;
}

/** Sentences about a poll; none for most polls. @param before the previous poll of this run. */
export function healthLines(
  health: PageHealth,
  before: PageHealth | undefined,
  { noun, every }: Watched,
  hasFlag: (flag: string) => boolean,
): string[] {
  const { outcome, rows, held = 0, repeated = 0 } = health;
  const count = formatCount(rows, ...noun);
  const lines: string[] = [];
  if (outcome === 'failed') return [failedLine(health, hasFlag)];
  if (health.isRecovered) lines.push(`Polls succeed again: ${count}.`);
  if (health.isSynced) lines.push(`Watching ${count}, polling every ${formatDuration(every)}.`);
  else if (!before || (before.outcome === 'failed' && before.generation === 0))
    lines.push(`Resuming with ${count}, polling every ${formatDuration(every)}.`);
  if (outcome === 'replayed' && !before) lines.push('Redelivering changes from the previous run first.');
  if (held > (before?.held ?? 0)) {
    lines.push(
      `${formatCount(held, 'removal is', 'removals are')} pending, since the listing shrank suspiciously: reported once three polls agree, or with --accept-removals.`,
    );
  }
  if (repeated > (before?.repeated ?? 0))
    lines.push(
      `The listing has ${formatCount(repeated, 'key', 'keys')} more than once, with different rows: the last one counts.`,
    );
  return lines;
}

function failedLine({ failures = 1, error }: PageHealth, hasFlag: (flag: string) => boolean): string {
  const row = failures > 1 ? ` (${formatCount(failures, 'in a row', 'in a row')})` : '';
  return `A poll failed${row}, and the watch continues: ${errorText(error, hasFlag)}`;
}

function errorText(error: unknown, hasFlag: (flag: string) => boolean): string {
  if (SluiceError.is(error)) return sentenceOf(error, hasFlag);
  return error instanceof Error ? error.message : String(error);
}
