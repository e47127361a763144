/** Where processes share what they know of a limit. All times are integers in microseconds of Redis' clock. */
export interface LimiterBookAccess {
  /** Answers one call. @throws ConfigError if that is final, any other error if it may be tried again. */
  call(call: LimiterCall): Promise<LimiterReply>;
  /** Whether somebody waits for an answer, so that the process must stay alive for it. */
  isNeeded(needed: boolean): void;
  close(): void;
}

/** What a process says and asks in one call. */
export interface LimiterCall {
  /** Empty: somebody who only looks, so the book stays as it is. */
  readonly worker: string;
  /** The limits that the process was given; empty: those of the book, whatever they are. */
  readonly declared: string;
  /** Those of a book that does not exist yet, if `declared` is empty; empty: then there is none. */
  readonly fallback: string;
  /** The limits by which it has computed `wants`. */
  readonly known: string;
  /** The costs, by window, of each of its requests that wait, the first ones. */
  readonly wants: readonly (readonly number[])[];
  readonly running: number;
  /** Permits of earlier calls. */
  readonly used: readonly UsedPermit[];
  /** The process has seen the clock jump, since the log was opened at this time; 0: it has not. */
  readonly steppedSince: number;
  /** Nothing starts for this long. */
  readonly pause: number;
  /** Limits that replace those in force; empty: none. */
  readonly replace: string;
}

export interface UsedPermit {
  /** The time of the reply that granted it. */
  readonly at: number;
  /** Tells apart the permits of one call. */
  readonly nth: number;
  /** By window. */
  readonly costs: readonly number[];
  /** How long after `at` its request was written. Negative: it gives the permit back. */
  readonly late: number;
  /** How long after that its response came; negative: none has come yet. */
  readonly took: number;
  /** An earlier call has reported `late`. */
  readonly isCounted: boolean;
}

export interface LimiterReply {
  /** `none`: there are no limits of this name. `other`: there are others. `learn`: use the limits in force and call again. */
  readonly status: 'ok' | 'none' | 'other' | 'learn';
  readonly time: number;
  readonly openedAt: number;
  /** Permits that are granted, of the requests in the order of `wants`. They count from `time`. */
  readonly granted: number;
  /** From `time` on, when to call again for the next permit; -1 if all are granted. */
  readonly due: number;
  /** Of all processes. */
  readonly queued: number;
  readonly running: number;
  /** How long the pause lasts from `time` on. */
  readonly pausedFor: number;
  readonly inForce: string;
  /** By window: cost units in use. None unless the status is `ok`. */
  readonly used: readonly number[];
}

/** A call of somebody who only looks. */
export const look: LimiterCall = {
  worker: '',
  declared: '',
  fallback: '',
  known: '',
  wants: [],
  running: 0,
  used: [],
  steppedSince: 0,
  pause: 0,
  replace: '',
};

/** The longest time between a permit and its start that the book takes into account. A later one is given back. */
export const maxRoundTrip = 250_000;
