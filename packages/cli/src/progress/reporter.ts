import type { Clock } from '@sluice/core';
import type { Output } from '../environment/output.js';
import type { Resumed, Summary } from './messages.js';
import type { RunHeader, Progress } from './progress.js';

/** How progress is shown: drawn on a terminal, in lines, as JSON events, or not at all but for the last line. */
export const progressModes = ['bar', 'plain', 'json', 'none'] as const;

export type ProgressMode = (typeof progressModes)[number];

/** What shows progress has to stand on. */
export interface ReporterContext {
  readonly output: Output;
  readonly clock: Clock;
  readonly header: RunHeader;
  /** How far it is now; asked whenever something is shown. */
  readonly read: () => Progress;
}

/** Why an export ended without a report. */
export interface Ending {
  readonly kind: 'failed' | 'stopped';
  /** The sentence for people. */
  readonly message: string;
  readonly exitCode: number;
  /** Rows that the next run resumes after, where one can. */
  readonly keptRows?: number;
  /** The command line that resumes. */
  readonly resume?: string;
}

/** Shows how an export goes. At the end either `done` or `ended` is called, once; nothing is shown afterwards. */
export interface Reporter {
  readonly resumed: (resumed: Resumed) => void;
  readonly warn: (message: string) => void;
  /** What is worth knowing, and no more. */
  readonly info: (message: string) => void;
  /** @param summary what is said to people at the end, if anything. */
  readonly done: (summary: Summary | undefined) => void;
  /** Whether it told the ending, so that nobody else has to. */
  readonly ended: (ending: Ending) => boolean;
}

/** Calls back every `ms` until the answer is called. */
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
