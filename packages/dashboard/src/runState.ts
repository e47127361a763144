import type { ClientEvent, EventOf } from '@sluice/core';
import { causeOf, healthLevel, healthText, noCounts, RunJudge } from '@sluice/core/health';
import type { LimiterEvent } from '@sluice/core/kit';
import { Board } from './watchBoard.js';
import { first, fit, maxName, maxText, shorten } from './fit.js';
import { Gaps } from './gaps.js';
import { Problems } from './problems.js';
import { Series } from './series.js';
import type { About, ClusterView, Ending, HealthView, LimiterView, Past, Snapshot } from './snapshot.js';
import { Walked } from './walked.js';

const maxPauses = 20;
const maxSlowest = 8;
const maxCommits = 20;
const maxReasons = 20;
const maxLimiters = 20;
/** Seconds that count as of late. */
const late = 10;
/** Seconds whose rows tell how long the rest takes: a pace that changes every second is no help. */
const steady = 60;
/** Bytes of JSON that a snapshot may have, and how much of that some lists may take. */
const maxBytes = 64_000;
const share = { board: 14_000, problems: 6_000, workers: 8_000, list: 2_500 } as const;

/** What a watch does while all is well: it has no pace. */
const watchTexts: ReadonlyMap<HealthView['kind'], string> = new Map([
  ['idle', 'All is quiet until the next poll.'],
  ['pace', 'A poll is in progress.'],
]);

const tellsOfOutages: ReadonlySet<ClientEvent['type']> = new Set([
  'settled',
  'retry',
  'delivery',
  'outage',
  'error',
  'attempt',
]);

/** Folds the events of a client into what the page shows. It computes only: time is an argument, in ms since 1970. */
export class RunState {
  readonly #startedAt: number;
  readonly #judge = new RunJudge();
  readonly #series = new Series();
  readonly #gaps = new Gaps();
  readonly #problems = new Problems();
  readonly #slowest = new Slowest();
  #about: About;
  #board: Board | undefined;
  #cluster: ClusterView | undefined;
  #end: Snapshot['end'] = null;
  #walked = new Walked();
  #deliveries: Pick<NonNullable<Snapshot['deliveries']>, 'waiting' | 'last'> | undefined;
  readonly #limiters = new Map<string, { readonly event: LimiterEvent; readonly at: number }>();
  /** The one that was counted last comes last. */
  readonly #reasons = new Map<string, { readonly count: number; readonly at: number }>();
  #pauses: Snapshot['pauses'] = [];
  #commits: Snapshot['commits'] = [];
  /** How the run ended, as far as its events tell. */
  #outcome: Ending = { outcome: 'stopped' };

  constructor(about: About, now: number) {
    this.#about = about;
    this.#startedAt = now;
  }

  /** Another task begins, or more is known about this one. Rows of another task count from 0. */
  show(about: Partial<About>): void {
    const isAnother = about.title !== undefined && about.title !== this.#about.title && this.#judge.counts.pages > 0;
    this.#about = isAnother ? { kind: this.#about.kind, title: '', ...about } : { ...this.#about, ...about };
    if (!isAnother) return;
    const { requests, retries, deliveries, redeliveries, accepted, deadLetters } = this.#judge.counts;
    this.#judge.counts = { ...noCounts(), requests, retries, deliveries, redeliveries, accepted, deadLetters };
    this.#walked = new Walked();
    this.#outcome = { outcome: 'stopped' };
  }

  showCluster(cluster: ClusterView, now: number): void {
    const isKnown = cluster.redisError === undefined;
    this.#gaps.note(isKnown ? undefined : now, now);
    const bucket = isKnown ? this.#series.bucket(now) : { rows: 0 };
    if (this.#cluster) bucket.rows += Math.max(0, cluster.rows - this.#cluster.rows);
    this.#cluster = cluster;
  }

  showPast({ since, rows, gaps }: Past): void {
    if (this.#board) return;
    this.#board = new Board(since, rows);
    this.#gaps.addPast(gaps);
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
    return this.#outcome;
  }

  fold(event: ClientEvent, now: number): void {
    const isTold = tellsOfOutages.has(event.type);
    // Before what may end an outage, and after what may show that there is one.
    if (isTold) this.#noteGap(now);
    this.#judge.follow(event, now);
    if (isTold) this.#noteGap(now);
    switch (event.type) {
      case 'attempt':
        // The pace counts from the first one.
        this.#series.bucket(now);
        break;
      case 'response':
        this.#slowest.add({ route: shorten(event.route, maxName), took: event.took, status: event.status, at: now });
        break;
      case 'retry':
        this.#count(causeOf(event.error), now);
        this.#problems.reportFailure(event.route, event.error, now);
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
        this.#series.bucket(now).rows += event.rows;
        this.#walked.add(event, now);
        break;
      case 'commit':
        if (this.#outcome.outcome !== 'failed') this.#outcome = { outcome: event.isSealed ? 'finished' : 'stopped' };
        this.#commits = first(
          { at: now, rows: event.rows, pages: event.pages, isLast: event.isSealed },
          this.#commits,
          maxCommits,
        );
        break;
      case 'change':
        this.#board ??= new Board(now);
        this.#board.add(event);
        if (event.kind === 'known' || event.kind === 'initial') break;
        this.#series.bucket(now).changes += 1;
        break;
      case 'due':
        this.#board ??= new Board(now);
        this.#board.due.fold(event);
        break;
      case 'error':
        if (event.of !== 'request')
          this.#outcome = { outcome: 'failed', message: shorten(event.error.message, maxText) };
        this.#problems.reportError(event, now);
        break;
      case 'delivery':
        this.#deliver(event, now);
        break;
      case 'outage':
        if (event.cause === undefined) break;
        this.#count(`${event.sink}: ${event.cause}`, now);
        this.#problems.report('warning', event.sink, event.error?.summary ?? event.cause, now);
        break;
      case 'warning':
      case 'info':
        this.#problems.report(event.type, event.plugin, event.message, now);
        break;
      case 'plugin-fault':
        this.#problems.report('error', event.plugin, event.error.message, now);
        break;
      case 'request':
      case 'settled':
      case 'sink':
      case 'close':
        break;
    }
  }

  /** @param span seconds that the series cover; `Infinity` for all. */
  snapshot(now: number, span: number): Snapshot {
    this.#noteGap(now);
    const limiters = this.#limiterViews(now);
    const pace = this.#series.pace(now, late);
    const { resumedPartitions: resumed = 0 } = this.#about;
    const { list, problems } = share;
    const {
      partitionsDone,
      deliveries: _,
      redeliveries: repeated,
      accepted,
      deadLetters,
      ...totals
    } = this.#judge.counts;
    const rest = {
      now,
      startedAt: this.#startedAt,
      about: shortenAbout(this.#about),
      health: this.#health(now),
      end: this.#end,
      totals,
      ...this.#estimate(pace, now),
      // A second that is not over would look like a slump.
      series: this.#series.view(this.#end ? now : now - 1_000, span, this.#gaps.own, { areRowsKnown: !this.#cluster }),
      deliveries: this.#deliveries ? { repeated, accepted, deadLetters, ...this.#deliveries } : null,
      limiters: fit(limiters, list),
      pauses: fit(this.#pauses, list),
      retries: fit(
        [...this.#reasons].map(([reason, { count, at }]) => ({ reason, count, at })).sort((a, b) => b.count - a.count),
        list,
      ),
      slowest: fit(this.#slowest.list, list),
      partitions: this.#walked.partitions(resumed + partitionsDone, this.#about.partitions),
      commits: this.#commits,
      problems: fit(this.#problems.list, problems),
      cluster: this.#cluster ? fitCluster(this.#cluster) : null,
    };
    if (!this.#board) return { ...rest, board: null };
    const board = this.#board.view(share.board, this.#gaps.all);
    // What all others leave is for the changes.
    const used = Buffer.byteLength(JSON.stringify({ ...rest, board }));
    return { ...rest, board: { ...board, changes: this.#board.changes(maxBytes - used) } };
  }

  #health(now: number): HealthView {
    const { targetNoun = this.#deliveries ? 'the webhook' : undefined, kind } = this.#about;
    const health = this.#judge.health(now);
    return {
      kind: health.kind,
      level: healthLevel(health),
      since: 'since' in health ? health.since : 0,
      text:
        (kind === 'watch' && !('backlog' in health) && watchTexts.get(health.kind)) ||
        healthText(health, targetNoun, kind === 'watch' ? 'changes' : 'rows'),
    };
  }

  /** While nothing succeeds, nothing is known of the rows. */
  #noteGap(now: number): void {
    // The events of a cluster stay with its workers.
    if (this.#cluster) return;
    const health = this.#judge.health(now);
    const since = 'since' in health ? health.since : 0;
    // A watch goes on polling while its changes wait for a webhook.
    const isPolling = health.kind === 'target' && this.#about.kind === 'watch' && this.#deliveries !== undefined;
    this.#gaps.note(healthLevel(health) === 'failing' && !isPolling ? now - since : undefined, now);
  }

  /** How long the rest takes is only told where rows are counted: partitions are unlike. */
  #estimate(pace: number, now: number): Pick<Snapshot, 'pace' | 'expectedRows' | 'left'> {
    if (this.#cluster) return { pace, expectedRows: null, left: null };
    const { expectedRows, resumedRows = 0, kind } = this.#about;
    const expected = kind === 'watch' ? undefined : lower(expectedRows, this.#walked.total);
    const { rows, committedRows } = this.#judge.counts;
    if (this.#end) {
      const seconds = Math.max(1, (this.#end.at - this.#startedAt) / 1_000);
      return { pace: rows / seconds, expectedRows: expected ?? null, left: null };
    }
    const there = Math.max(resumedRows + rows, committedRows);
    const usual = this.#series.pace(now, steady);
    const isStopped = healthLevel(this.#judge.health(now)) === 'failing';
    if (expected === undefined || usual === 0 || isStopped) return { pace, expectedRows: expected ?? null, left: null };
    return { pace, expectedRows: expected, left: Math.max(1_000, (1_000 * (expected - there)) / usual) };
  }

  #deliver({ step, waiting, status, error, sink }: EventOf<'delivery'>, now: number): void {
    const { last = null } = this.#deliveries ?? {};
    this.#deliveries = { waiting, last };
    if (step === 'retry' && error) this.#count(`${sink}: ${causeOf(error)}`, now);
    if (step === 'retry' || step === 'failed' || step === 'refused') this.#problems.reportFailure(sink, error, now);
    if (step === 'queued' || step === 'sent' || step === 'dead-letter') return;
    const answer = error ? causeOf(error) : `HTTP ${status ?? 200}`;
    this.#deliveries = { waiting, last: { at: now, answer, isAccepted: step === 'accepted' } };
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

  #count(reason: string, now: number): void {
    const name = shorten(reason, 60);
    const count = (this.#reasons.get(name)?.count ?? 0) + 1;
    this.#reasons.delete(name);
    this.#reasons.set(name, { count, at: now });
    const [oldest] = this.#reasons.keys();
    if (this.#reasons.size > maxReasons && oldest !== undefined) this.#reasons.delete(oldest);
  }
}

/** The slowest responses, the slowest first. */
class Slowest {
  #list: Snapshot['slowest'] = [];

  get list(): Snapshot['slowest'] {
    return this.#list;
  }

  add(response: Snapshot['slowest'][number]): void {
    const last = this.#list.at(-1);
    if (last && this.#list.length >= maxSlowest && response.took <= last.took) return;
    this.#list = [...this.#list, response].sort((a, b) => b.took - a.took).slice(0, maxSlowest);
  }
}

function lower(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : Math.min(a, b);
}

function shortenAbout(about: About): About {
  const { title, target, targetNoun, command } = about;
  return {
    ...about,
    title: shorten(title, maxText),
    ...(target !== undefined && { target: shorten(target, maxText) }),
    ...(targetNoun !== undefined && { targetNoun: shorten(targetNoun, maxName) }),
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
