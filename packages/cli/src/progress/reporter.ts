import type { Clock } from '@sluice/core';
import type { Output } from '../environment/output.js';

/** `none` still prints the last line. */
export const progressModes = ['bar', 'plain', 'json', 'none'] as const;

export type ProgressMode = (typeof progressModes)[number] | 'silent';

/** Reports a run, for people as lines, or for programs as events. At the end either `done` or `ended` is called, once. */
export interface Reporter {
  /** Something happened: fields of its event, and lines that say the same. */
  readonly report: (event: string, fields: object, lines: readonly string[]) => void;
  readonly warn: (message: string) => void;
  readonly info: (message: string) => void;
  /** @param line absent if nothing is to be printed at the end. */
  readonly done: (fields: object, line: string | undefined) => void;
  /** Returns whether it has reported the ending. */
  readonly ended: (ending: Ending) => boolean;
}

/** Why a run ended early. */
interface Ending {
  readonly kind: 'failed' | 'stopped';
  readonly message: string;
  readonly exitCode: number;
  /** Committed rows, if known. */
  readonly keptRows?: number | undefined;
  /** The command line that resumes. */
  readonly resume?: string | undefined;
}

/** A run as a reporter sees it. */
export interface ReportedRun {
  /** Fields of the first event. */
  readonly header: object;
  /** The first line. */
  readonly opening?: string | undefined;
  /** How far it is: fields of the last event. */
  readonly counts: () => object;
  /** Shown regularly, unless `undefined`. Absent for a run that reports what happens instead. */
  readonly progress?:
    { readonly fields: () => object | undefined; readonly line: () => string | undefined } | undefined;
  /** The progress for a line of a terminal, which is redrawn in place. */
  readonly bar?: ((space: { readonly columns: number; readonly colors: Output['colors'] }) => string) | undefined;
}

interface ReporterContext {
  readonly output: Output;
  readonly clock: Clock;
}

/** Ms between two lines, events, or pictures of the bar. */
const intervals = { line: 5000, event: 1000, bar: 100 };

/** `silent` prints nothing, not even the last line. */
export function openReporter(mode: ProgressMode, run: ReportedRun, context: ReporterContext): Reporter {
  switch (mode) {
    case 'bar':
      return lineReporter(run, context);
    case 'plain':
      return lineReporter({ ...run, bar: undefined }, context);
    case 'json':
      return eventReporter(run, context);
    case 'none':
      return { ...lineReporter({ header: run.header, counts: run.counts }, context), info: nothing };
    case 'silent':
      return { report: nothing, warn: nothing, info: nothing, done: nothing, ended: () => false };
  }
}

function nothing(): void {
  // Nothing is shown.
}

/** Lines for people and logs, above a bar if there is one. */
function lineReporter({ opening, progress, bar }: ReportedRun, { output, clock }: ReporterContext): Reporter {
  // The last column stays free: a character there makes some terminals start a new line.
  const draw = bar && (() => output.showLine(bar({ columns: output.columns - 1, colors: output.colors })));
  const print = (line: string): void => {
    output.print(`${line}\n`);
    draw?.();
  };
  if (opening !== undefined) print(opening);
  else draw?.();
  const stop = draw
    ? every(clock, intervals.bar, draw)
    : every(clock, intervals.line, progress && (() => printIfAny(progress.line(), output)));
  return {
    report: (_, __, lines) => {
      for (const line of lines) print(line);
    },
    warn: (message) => {
      print(`sluice: ${message}`);
    },
    info: print,
    done: (_, line) => {
      stop();
      // An error takes the place of the bar by itself, and of another "^C" until then.
      if (draw) output.showLine('');
      printIfAny(line, output);
    },
    ended: () => {
      stop();
      return false;
    },
  };
}

function printIfAny(line: string | undefined, output: Output): void {
  if (line !== undefined) output.print(`${line}\n`);
}

/**
 * One event per line, for programs. The first is `start`. The last is `report`, `failed`, or `stopped` (after a signal,
 * or when the reader closed the output). Errors are events too, so that every line can be parsed.
 */
function eventReporter({ header, counts, progress }: ReportedRun, { output, clock }: ReporterContext): Reporter {
  const emit = (event: string, fields: object): void => {
    output.print(`${JSON.stringify({ event, ...fields })}\n`);
  };
  emit('start', header);
  const tick = (): void => {
    const fields = progress?.fields();
    if (fields) emit('progress', fields);
  };
  const stop = every(clock, intervals.event, progress && tick);
  return {
    report: emit,
    warn: (message) => {
      emit('warning', { message });
    },
    info: (message) => {
      emit('info', { message });
    },
    done: (fields) => {
      stop();
      emit('report', { ...fields, ...counts() });
    },
    ended: ({ kind, ...ending }) => {
      stop();
      emit(kind, { ...ending, ...counts() });
      return true;
    },
  };
}

/** Calls back every `ms` until the returned function is called. */
export function every(clock: Clock, ms: number, callback: (() => void) | undefined): () => void {
  if (!callback) return nothing;
  let cancel = clock.after(ms, tick);
  function tick(): void {
    cancel = clock.after(ms, tick);
    callback?.();
  }
  return () => {
    cancel();
  };
}
