import type { RunHealth, RunLevel } from '@sluice/core/health';

/** How a run ended. */
export type Outcome = 'finished' | 'failed' | 'stopped';

/** What holds the run up, as `RunJudge` of `@sluice/core/health` judges it. */
export interface HealthView {
  readonly kind: RunHealth['kind'];
  readonly level: RunLevel;
  /** Ms for which it has lasted, or 0. */
  readonly since: number;
  /** One sentence. */
  readonly text: string;
}

/** What is shown of the task, besides its numbers. Texts without secrets. */
export interface About {
  readonly kind: 'export' | 'watch' | 'forward' | 'cluster' | 'client';
  /** E.g. `aptos.nfts`. */
  readonly title: string;
  /** Where the rows go. */
  readonly target?: string;
  /** How sentences call the target, with an article. Default `the target`. */
  readonly targetNoun?: string;
  /** The command line that shows the same, to be copied. */
  readonly command?: string;
  /** Partitions of the plan. */
  readonly partitions?: number;
  /** What a partition is, and several are. Default `partition`, `partitions`. */
  readonly partitionNoun?: readonly [one: string, many: string];
  /** Partitions that earlier runs have done. */
  readonly resumedPartitions?: number;
  /** Rows that are expected, e.g. the maximum that was asked for. */
  readonly expectedRows?: number;
  /** Rows of earlier runs. */
  readonly resumedRows?: number;
}

/** What was known of the rows of a watch before it started. Times are in ms since 1970. */
export interface Past {
  /** The start of what is shown. */
  readonly since: number;
  /** At most 100 are kept: those that changed last come last. */
  readonly rows: readonly PastRow[];
  /** Times in which nobody looked. */
  readonly gaps: readonly { readonly from: number; readonly to: number }[];
}

/** A row before the watch started. */
export interface PastRow {
  /** Its key in the watch. */
  readonly key: string;
  /** What it is called. Default: its key. */
  readonly name?: string;
  /** From when on it had which status: `null` is none. Absent: it was gone. */
  readonly statuses: readonly { readonly from: number; readonly status?: string | null }[];
}

/** How a run ended, and what to say of it. */
export interface Ending {
  readonly outcome: Outcome;
  readonly message?: string;
}

/** Rows and times of a limiter's use. `limit` is `null` without one. */
export interface LimiterView {
  readonly name: string;
  readonly used: number;
  readonly limit: number | null;
  readonly per: number;
  readonly queued: number;
  readonly running: number;
  /** Ms that its pause lasts from now on. */
  readonly paused: number;
  readonly cause: string;
}

/** Requests to the endpoint of a target, e.g. a webhook. */
export interface DeliveriesView {
  readonly repeated: number;
  readonly accepted: number;
  /** Records that are neither accepted nor dead letters. */
  readonly waiting: number;
  readonly deadLetters: number;
  /** The endpoint's last answer, or why there was none, e.g. `HTTP 502`; `null` if nothing has come back yet. */
  readonly last: { readonly at: number; readonly answer: string; readonly isAccepted: boolean } | null;
}

/** Values of steps of `step` seconds; the last one ends at `until`, ms since 1970. */
export interface SeriesView {
  readonly step: number;
  readonly until: number;
  /** Sums per step; `null` where nothing was known: before the start, and while nothing succeeded. */
  readonly rows: readonly (number | null)[];
  readonly changes: readonly (number | null)[];
  /** The highest value of each step. */
  readonly used: readonly (number | null)[];
  readonly queued: readonly (number | null)[];
}

export const changeKinds = ['initial', 'added', 'changed', 'removed', 'known'] as const;

/** A change: seconds since `since`, the row's name, index in `changeKinds`, statuses before and after as indices in `names`, or -1. */
export type ChangeView = readonly [at: number, name: string, kind: number, before: number, after: number];

/** A row, its key, and when it took which status: seconds since `since`, index in `names` or -1; -2 once it is gone. */
export type RowView = readonly [
  name: string,
  key: string,
  ...strip: readonly (readonly [at: number, status: number])[],
];

/** A row for which a rule of the watch is due. Times in ms since 1970. */
export interface DueView {
  readonly name: string;
  /** Empty if that is the name. */
  readonly key: string;
  readonly rule: string;
  /** When it began, at the earliest; or earlier still. */
  readonly since: number;
  readonly isEarlier: boolean;
  /** Absent without a deadline, `null` if it is unknown. */
  readonly actBefore?: number | null;
}

export interface BoardView {
  /** Ms since 1970. */
  readonly since: number;
  /** Names of statuses. */
  readonly names: readonly string[];
  /** Rows by status, in the order of `names`; then those without one. */
  readonly counts: readonly number[];
  /** Changes by kind, in the order of `changeKinds`. Rows that were there at the start are `initial` or `known`. */
  readonly kinds: readonly number[];
  readonly total: number;
  /** Rows that are due, the most urgent first, and how many there are. */
  readonly due: readonly DueView[];
  readonly dueTotal: number;
  /** Times in which nothing was known, in seconds since `since`; the last one may go on. */
  readonly gaps: readonly (readonly [from: number, to: number | null])[];
  /** Rows whose status is an error, then those that changed last. */
  readonly rows: readonly RowView[];
  /** The last changes, the newest first, without the rows of the start. */
  readonly changes: readonly ChangeView[];
}

/** What a worker does for a run. */
export interface WorkerView {
  readonly name: string;
  /** Partitions and for how long, in ms. */
  readonly working: readonly (readonly [partition: number, since: number])[];
  readonly rows: number;
  readonly unable: string;
}

/** The state of a run on several machines. */
export interface ClusterView {
  readonly partitions: number;
  readonly done: number;
  readonly rows: number;
  readonly active: number;
  readonly delayed: number;
  readonly failed: number;
  readonly failures: readonly (readonly [partition: number, reason: string])[];
  readonly workers: readonly WorkerView[];
  /** Why Redis can't be reached, so that nothing is known of jobs and workers. */
  readonly redisError?: string | undefined;
}

/** All that the page shows, in one message of at most 64,000 bytes. */
export interface Snapshot {
  /** Ms since 1970, by the server's clock. */
  readonly now: number;
  readonly startedAt: number;
  readonly about: About;
  readonly health: HealthView;
  /** Set in the last snapshot only. */
  readonly end: (Ending & { readonly at: number }) | null;
  readonly totals: {
    readonly rows: number;
    readonly pages: number;
    readonly committedRows: number;
    readonly committedPages: number;
    readonly requests: number;
    readonly retries: number;
    readonly changes: number;
  };
  /** Rows per second of the last ten seconds. */
  readonly pace: number;
  readonly expectedRows: number | null;
  /** Ms until all expected rows are there, at this pace, at least 1,000; `null` if that is not known. */
  readonly left: number | null;
  readonly series: SeriesView;
  /** `null` unless the target is an endpoint. */
  readonly deliveries: DeliveriesView | null;
  readonly limiters: readonly LimiterView[];
  readonly pauses: readonly {
    readonly at: number;
    readonly ms: number;
    readonly cause: string;
    readonly route: string;
  }[];
  readonly retries: readonly { readonly reason: string; readonly count: number; readonly at: number }[];
  readonly slowest: readonly {
    readonly route: string;
    readonly took: number;
    readonly status: number;
    readonly at: number;
  }[];
  readonly partitions: {
    readonly begun: number;
    readonly done: number;
    readonly of: number | null;
    readonly latest: readonly (readonly [partition: number, pages: number, at: number])[];
  };
  readonly commits: readonly {
    readonly at: number;
    readonly rows: number;
    readonly pages: number;
    readonly isLast: boolean;
  }[];
  readonly problems: readonly {
    readonly at: number;
    readonly level: 'error' | 'warning' | 'info';
    readonly from: string;
    readonly message: string;
    /** How often it has happened. */
    readonly count: number;
  }[];
  readonly board: BoardView | null;
  readonly cluster: ClusterView | null;
}
