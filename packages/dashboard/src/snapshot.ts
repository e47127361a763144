/** How a run ended. */
export type Outcome = 'finished' | 'failed' | 'stopped';

/** What keeps a run from being faster. */
export type Hold =
  /** No request was sent yet. */
  | { readonly kind: 'starting' }
  /** Requests wait for the rate limit. */
  | { readonly kind: 'limit'; readonly used: number; readonly limit: number; readonly queued: number }
  /** A limiter is paused for `left` ms. */
  | { readonly kind: 'pause'; readonly left: number; readonly cause: string }
  /** Requests wait for responses, which took `took` ms each of late. */
  | { readonly kind: 'responses'; readonly running: number; readonly took: number }
  /** Requests are retried, and no row arrived for ten seconds. */
  | { readonly kind: 'retries'; readonly reason: string }
  /** No request runs: rows are being written, or a watch waits for its next poll. */
  | { readonly kind: 'target' | 'poll' };

/** What is shown of the task, besides its numbers. Texts without secrets. */
export interface About {
  readonly kind: 'export' | 'watch' | 'forward' | 'cluster' | 'client';
  /** E.g. `aptos.nfts`. */
  readonly title: string;
  /** Where the rows go. */
  readonly target?: string;
  /** The command line that shows the same, to be copied. */
  readonly command?: string;
  /** Partitions of the plan. */
  readonly partitions?: number;
  /** Rows that are expected, e.g. the maximum that was asked for. */
  readonly expectedRows?: number;
  /** Rows of earlier runs. */
  readonly resumedRows?: number;
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

/** Values of steps of `step` seconds; the last one ends at `until`, ms since 1970. */
export interface SeriesView {
  readonly step: number;
  readonly until: number;
  /** Sums per step. */
  readonly rows: readonly number[];
  readonly changes: readonly number[];
  /** The highest value of each step. */
  readonly used: readonly number[];
  readonly queued: readonly number[];
}

export const changeKinds = ['initial', 'added', 'changed', 'removed', 'known'] as const;

/** A change: seconds since `since`, key, index in `changeKinds`, statuses before and after as indices in `names`, or -1. */
export type ChangeView = readonly [at: number, key: string, kind: number, before: number, after: number];

/** A row and when it took which status: seconds since `since`, index in `names` or -1; -2 once it is gone. */
export type RowView = readonly [key: string, ...strip: readonly (readonly [at: number, status: number])[]];

export interface BoardView {
  /** Ms since 1970. */
  readonly since: number;
  /** Names of statuses. */
  readonly names: readonly string[];
  /** Rows by status, in the order of `names`; then those without one. */
  readonly counts: readonly number[];
  /** Changes by kind, in the order of `changeKinds`. */
  readonly kinds: readonly number[];
  readonly total: number;
  /** The rows that changed last. */
  readonly rows: readonly RowView[];
  /** The last changes, the newest first. */
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
}

/** All that the page shows, in one message of at most 64,000 bytes. */
export interface Snapshot {
  /** Ms since 1970, by the server's clock. */
  readonly now: number;
  readonly startedAt: number;
  readonly about: About;
  readonly hold: Hold;
  /** Set in the last snapshot only. */
  readonly end: (Ending & { readonly at: number }) | null;
  readonly totals: {
    readonly rows: number;
    readonly pages: number;
    readonly committedRows: number;
    readonly committedPages: number;
    readonly requests: number;
    readonly retries: number;
    readonly failures: number;
    readonly changes: number;
  };
  /** Rows per second of the last ten seconds. */
  readonly pace: number;
  readonly expectedRows: number | null;
  /** Ms until all expected rows are there; `null` if that is unknown. */
  readonly left: number | null;
  readonly series: SeriesView;
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
  }[];
  readonly board: BoardView | null;
  readonly cluster: ClusterView | null;
}
