import type { Clock } from '@sluice/core';
import type { Output } from '../environment/output.js';
import type { Resumed, Summary } from './messages.js';
import type { RunHeader, Progress } from './progress.js';

/** `none` still prints the last line. */
export const progressModes = ['bar', 'plain', 'json', 'none'] as const;

export type ProgressMode = (typeof progressModes)[number];

/** What a reporter needs. */
export interface ReporterContext {
  readonly output: Output;
  readonly clock: Clock;
  readonly header: RunHeader;
  /** The current progress. */
  readonly read: () => Progress;
}

/** Why an export ended without a report. */
export interface Ending {
  readonly kind: 'failed' | 'stopped';
  readonly message: string;
  readonly exitCode: number;
  /** Committed rows, if known. */
  readonly keptRows?: number;
  /** The command line that resumes. */
  readonly resume?: string;
}

/** Shows the progress of an export. At the end either `done` or `ended` is called, once. Shows nothing afterwards. */
export interface Reporter {
  readonly resumed: (resumed: Resumed) => void;
  readonly warn: (message: string) => void;
  readonly info: (message: string) => void;
  /** @param summary absent if nothing is to be printed at the end. */
  readonly done: (summary: Summary | undefined) => void;
  /** Returns whether it has reported the ending. */
  readonly ended: (ending: Ending) => boolean;
}

/** Prints warnings and notes as lines for people. */
export function messageLines(output: Output): Pick<Reporter, 'warn' | 'info'> {
  return {
    warn: (message) => {
      output.print(`sluice: ${message}\n`);
    },
    info: (message) => {
      output.print(`${message}\n`);
    },
  };
}

/** Calls back every `ms` until the returned function is called. */
export function every(clock: Clock, ms: number, callback: () => void): () => void {
  let cancel = clock.after(ms, tick);
  function tick(): void {
    cancel = clock.after(ms, tick);
    callback();
  }
  return () => {
    cancel();
  };
}
