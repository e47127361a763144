import type { ClientEvent, LimiterEvent } from '@sluice/core';
import { Board } from './watchBoard.js';
import { fit, shorten } from './fit.js';
import { Series } from './series.js';
import type { About, ClusterView, Ending, Hold, LimiterView, Snapshot } from './snapshot.js';

const maxPauses = 20;
const maxSlowest = 8;
const maxCommits = 20;
const maxProblems = 20;
const maxPartitions = 8;
const maxReasons = 20;
const maxLimiters = 20;
const maxText = 300;
const maxName = 120;
/** Seconds that count as of late. */
const late = 10;
/** Bytes of JSON that a snapshot may have, and how much of that some lists may take. */
const maxBytes = 64_000;
const share = { board: 14_000, problems: 6_000, workers: 8_000, list: 2_500 } as const;

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

/** Folds the events of a client into what the page shows. It computes only: time is an argument, in ms since 1970. */
export class RunState {
  readonly #startedAt: number;
  readonly #series = new Series();
  #about: About;
  #board: Board | undefined;
  #cluster: ClusterView | undefined;
  /** Partitions that were done at the first look. */
  #doneBefore = 0;
  #end: Snapshot['end'] = null;
  #totals: Mutable<Snapshot['totals']> = emptyTotals();
  #total: number | undefined;
  /** Requests that have not settled. */
  #running = 0;
  /** The average ms of a response, the last ones weigh most. */
  #took = 0;
  readonly #limiters = new Map<string, { readonly event: LimiterEvent; readonly at: number }>();
  /** The one that was counted last comes last. */
  readonly #reasons = new Map<string, { readonly count: number; readonly at: number }>();
  #pauses: Snapshot['pauses'] = [];
  #slowest: Snapshot['slowest'] = [];
  #commits: Snapshot['commits'] = [];
  #problems: Snapshot['problems'] = [];
  #begun = 0;
  #latest: Snapshot['partitions']['latest'] = [];
  /** The last failure of an export, a walk or a watch. */
  #failure: string | undefined;
  #isSealed = false;

  constructor(about: About, now: number) {
    this.#about = about;
    this.#startedAt = now;
  }

  /** Another task begins, or more is known about this one. Rows of another task count from 0. */
  show(about: Partial<About>): void {
    const isAnother = about.title !== undefined && about.title !== this.#about.title && this.#totals.pages > 0;
    this.#about = isAnother ? { kind: this.#about.kind, title: '', ...about } : { ...this.#about, ...about };
    if (!isAnother) return;
    const { requests, retries, failures } = this.#totals;
    this.#totals = { ...emptyTotals(), requests, retries, failures };
    this.#total = undefined;
    this.#begun = 0;
    this.#latest = [];
    this.#isSealed = false;
    this.#failure = undefined;
  }

  showCluster(cluster: ClusterView, now: number): void {
    const bucket = this.#series.bucket(now);
    if (this.#cluster) bucket.rows += Math.max(0, cluster.rows - this.#cluster.rows);
    else this.#doneBefore = cluster.done;
    this.#cluster = cluster;
  }

  /** The first ending counts. */
  end(ending: Ending, now: number): void {
    this.#end ??= {
      ...ending,
      ...(ending.message !== undefined && { message: shorten(ending.message, 1_000) }),
      at: now,
    };
  }

  /** How the run ended, as far as its events tell. */
  get outcome(): Ending {
    if (this.#failure !== undefined) return { outcome: 'failed', message: this.#failure };
    return { outcome: this.#isSealed ? 'finished' : 'stopped' };
  }

  fold(event: ClientEvent, now: number): void {
    const totals = this.#totals;
    switch (event.type) {
      case 'request':
        this.#running += 1;
        break;
      case 'settled':
        this.#running = Math.max(0, this.#running - 1);
        if (event.outcome === 'failed') totals.failures += 1;
        break;
      case 'attempt':
        totals.requests += 1;
        // The pace counts from the first one.
        this.#series.bucket(now);
        break;
      case 'response':
        this.#took = this.#took === 0 ? event.took : 0.8 * this.#took + 0.2 * event.took;
        this.#rank({ route: shorten(event.route, maxName), took: event.took, status: event.status, at: now });
        break;
      case 'retry':
        totals.retries += 1;
        this.#series.bucket(now).retries += 1;
        this.#count(event.reason, now);
        break;
      case 'paused':
        this.#pauses = first(
          { at: now, ms: event.for, cause: event.quota ? 'quota' : 'refused', route: shorten(event.route, maxName) },
          this.#pauses,
          maxPauses,
        );
        break;
      case 'limiter':
        this.#limit(event, now);
        break;
      case 'page':
        totals.rows += event.rows;
        totals.pages += 1;
        this.#series.bucket(now).rows += event.rows;
        if (event.total !== undefined) this.#total = event.total;
        this.#begun = Math.max(this.#begun, event.partition + 1);
        this.#latest = first(
          [event.partition, event.page, now] as const,
          this.#latest.filter(([partition]) => partition !== event.partition),
          maxPartitions,
        );
        break;
      case 'commit':
        totals.committedRows = event.rows;
        totals.committedPages = event.pages;
        this.#isSealed = event.isSealed;
        this.#commits = first(
          { at: now, rows: event.rows, pages: event.pages, isLast: event.isSealed },
          this.#commits,
          maxCommits,
        );
        break;
      case 'change':
        this.#board ??= new Board(now);
        this.#board.add(event);
        if (event.kind === 'known') break;
        totals.changes += 1;
        this.#series.bucket(now).changes += 1;
        break;
      case 'error':
        if (event.of !== 'request') this.#failure = shorten(event.error.message, maxText);
        this.#report('error', event.name, event.error.message, now);
        break;
      case 'warning':
      case 'info':
        this.#report(event.type, event.plugin, event.message, now);
        break;
      case 'plugin-fault':
        this.#report('error', event.plugin, event.error.message, now);
        break;
      case 'close':
        break;
    }
  }

  /** @param span seconds that the series cover; `Infinity` for all. */
  snapshot(now: number, span: number): Snapshot {
    const limiters = this.#limiterViews(now);
    const pace = this.#series.pace(now, late);
    const { list, problems } = share;
    const rest = {
      now,
      startedAt: this.#startedAt,
      about: shortenAbout(this.#about),
      hold: this.#hold(now, limiters),
      end: this.#end,
      totals: { ...this.#totals },
      ...this.#estimate(pace, now),
      series: this.#series.view(now, span),
      limiters: fit(limiters, list),
      pauses: fit(this.#pauses, list),
      retries: fit(
        [...this.#reasons].map(([reason, { count, at }]) => ({ reason, count, at })).sort((a, b) => b.count - a.count),
        list,
      ),
      slowest: fit(this.#slowest, list),
      partitions: { begun: this.#begun, of: this.#about.partitions ?? null, latest: this.#latest },
      commits: this.#commits,
      problems: fit(this.#problems, problems),
      cluster: this.#cluster ? fitCluster(this.#cluster) : null,
    };
    if (!this.#board) return { ...rest, board: null };
    const board = this.#board.view(share.board);
    // What all others leave is for the changes.
    const used = Buffer.byteLength(JSON.stringify({ ...rest, board }));
    return { ...rest, board: { ...board, changes: this.#board.changes(maxBytes - used) } };
  }

  #hold(now: number, limiters: readonly LimiterView[]): Hold {
    const paused = limiters.find((limiter) => limiter.paused > 0 && limiter.queued > 0);
    if (paused) return { kind: 'pause', left: paused.paused, cause: paused.cause };
    if (this.#totals.requests + this.#totals.pages === 0) return { kind: 'starting' };
    const retries = this.#series.recent('retries', now, late);
    if (retries > 0 && this.#series.recent('rows', now, late) === 0)
      return { kind: 'retries', reason: [...this.#reasons.keys()].at(-1) ?? '' };
    // A single walk waits for a permit, then for its response, and so on: it is the last seconds that tell.
    const queued = this.#series.peak('queued', now, 3);
    const full = limiters.find(({ used, limit }) => queued > 0 && limit !== null && used >= 0.8 * limit);
    if (full) return { kind: 'limit', used: full.used, limit: full.limit ?? 0, queued };
    if (this.#running > 0) return { kind: 'responses', running: this.#running, took: Math.round(this.#took) };
    return { kind: this.#about.kind === 'watch' ? 'poll' : 'target' };
  }

  #estimate(pace: number, now: number): Pick<Snapshot, 'pace' | 'expectedRows' | 'left'> {
    if (this.#cluster) {
      const { done, partitions } = this.#cluster;
      // What was done before we looked says nothing about how fast it is.
      const since = done - this.#doneBefore;
      const left = since <= 0 || this.#end ? null : ((now - this.#startedAt) / since) * Math.max(0, partitions - done);
      return { pace, expectedRows: null, left };
    }
    const { expectedRows, resumedRows = 0, partitions, kind } = this.#about;
    const expected = kind === 'watch' ? undefined : lower(expectedRows, this.#total);
    const { rows, committedRows } = this.#totals;
    const there = Math.max(resumedRows + rows, committedRows);
    if (this.#end) {
      const seconds = Math.max(1, (this.#end.at - this.#startedAt) / 1_000);
      return { pace: rows / seconds, expectedRows: expected ?? null, left: null };
    }
    if (expected !== undefined && pace > 0)
      return { pace, expectedRows: expected, left: (1_000 * Math.max(0, expected - there)) / pace };
    const isCountable = expected === undefined && partitions !== undefined && this.#begun > 1 && kind !== 'watch';
    const left = isCountable ? ((now - this.#startedAt) / this.#begun) * Math.max(0, partitions - this.#begun) : null;
    return { pace, expectedRows: expected ?? null, left };
  }

  #limiterViews(now: number): LimiterView[] {
    return [...this.#limiters].map(([name, { event, at }]) => {
      const age = now - at;
      const { used, limit, per, queued, running, paused, cause } = event;
      return {
        name,
        // Without requests there are no events, and the window empties.
        used: age > per ? 0 : used,
        limit: limit === Infinity ? null : limit,
        per,
        queued,
        running,
        paused: Math.max(0, Math.round(paused - age)),
        cause: cause ?? '',
      };
    });
  }

  #limit(event: LimiterEvent, now: number): void {
    const name = shorten(event.apis.join(', '), maxName);
    if (!this.#limiters.has(name) && this.#limiters.size >= maxLimiters) return;
    this.#limiters.set(name, { event, at: now });
    const bucket = this.#series.bucket(now);
    bucket.used = Math.max(bucket.used, event.used);
    bucket.queued = Math.max(bucket.queued, event.queued);
  }

  #rank(response: Snapshot['slowest'][number]): void {
    const last = this.#slowest.at(-1);
    if (last && this.#slowest.length >= maxSlowest && response.took <= last.took) return;
    this.#slowest = [...this.#slowest, response].sort((a, b) => b.took - a.took).slice(0, maxSlowest);
  }

  #count(reason: string, now: number): void {
    const name = shorten(reason, 60);
    const count = (this.#reasons.get(name)?.count ?? 0) + 1;
    this.#reasons.delete(name);
    this.#reasons.set(name, { count, at: now });
    const [oldest] = this.#reasons.keys();
    if (this.#reasons.size > maxReasons && oldest !== undefined) this.#reasons.delete(oldest);
  }

  #report(level: Snapshot['problems'][number]['level'], from: string, message: string, now: number): void {
    const problem = { at: now, level, from: shorten(from, maxName), message: shorten(message, maxText) };
    this.#problems = first(problem, this.#problems, maxProblems);
  }
}

function emptyTotals(): Mutable<Snapshot['totals']> {
  return {
    rows: 0,
    pages: 0,
    committedRows: 0,
    committedPages: 0,
    requests: 0,
    retries: 0,
    failures: 0,
    changes: 0,
  };
}

function first<T>(item: T, items: readonly T[], max: number): readonly T[] {
  return [item, ...items].slice(0, max);
}

function lower(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : Math.min(a, b);
}

function shortenAbout(about: About): About {
  const { title, target, command } = about;
  return {
    ...about,
    title: shorten(title, maxText),
    ...(target !== undefined && { target: shorten(target, maxText) }),
    ...(command !== undefined && { command: shorten(command, 2_000) }),
  };
}

function fitCluster(cluster: ClusterView): ClusterView {
  const { failures, workers } = cluster;
  return {
    ...cluster,
    failures: fit(
      failures.map(([partition, reason]) => [partition, shorten(reason, maxText)] as const),
      share.list,
    ),
    workers: fit(
      workers.map(({ name, unable, working, rows }) => ({
        name: shorten(name, maxName),
        unable: shorten(unable, maxText),
        working: working.slice(0, 8),
        rows,
      })),
      share.workers,
    ),
  };
}
