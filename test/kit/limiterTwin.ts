import { decodeLimits, type BookWindow } from '../../packages/cluster/src/limiter/decodeLimits.js';
import { maxRoundTrip, type LimiterCall, type LimiterReply } from '../../packages/cluster/src/limiter/limiterCall.js';

/**
 * The limiter's book, which all processes share: when their requests started, and who waits. All times are integers in
 * microseconds of Redis' clock.
 *
 * This is the twin of the script in `limiterScript.ts`, line by line: it explains the script, plays on simulated clocks, and
 * is compared with it over thousands of random histories.
 */
export interface LimiterBook {
  /** The limits that the first process declared, and those that hold since an operator changed them. */
  declared: string;
  inForce: string;
  /** Redis' run id: after a failover the log may lack the newest starts. */
  runId: string;
  /** When the log was opened. */
  openedAt: number;
  /** The latest time seen. */
  time: number;
  /** How long after it was due a request usually starts: until its process calls, and until it has the permit. */
  usualDelay: { call: number; start: number };
  /** What the responses of all processes tell about how late requests arrive: see `Lateness` of the limiter of one process. */
  lateness: Lateness;
  pausedUntil: number;
  /** By window: nothing starts before. */
  closedUntil: number[];
  /** By window: `[time, cost, time, cost …]`, the oldest first, in buckets whose times are rounded up. */
  log: number[][];
  /** Permits whose start is not reported yet. They count as if they started as late as they may. */
  granted: Granted[];
  /** The ring of processes: the first one that waits has the next turn. */
  workers: Worker[];
}

interface Lateness {
  /** The fastest responses, of the window before and of this one. Of the first window, nothing is known. */
  fastestBefore: number;
  fastest?: number;
  /** Responses in this window. */
  counted: number;
  /** By how much starts may still count later, all together. */
  spare?: number;
}

interface Granted {
  readonly worker: string;
  readonly at: number;
  /** Tells apart the permits of one call. */
  readonly nth: number;
  readonly costs: readonly number[];
}

interface Worker {
  readonly id: string;
  readonly wants: number;
  /** Of its next request, by window. */
  readonly costs: readonly number[];
  readonly running: number;
  /** When it was told to call again, and when its ticket lapses unless it does. */
  due: number;
  until: number;
}

/** How long a ticket outlives the time when it was due, and how long a process that only runs is shown. */
const lease = 500_000;
const shownFor = 60_000_000;
/** When to call again if a turn is due, but somebody has not reported a start. */
const retryAfter = 10_000;
/** The part of each window that is there for requests that arrive late. */
const arrivalMargin = 13_000;
/** A larger disagreement of two clocks is a step. */
const maxDrift = 50_000;

interface RedisServer {
  readonly time: number;
  readonly runId: string;
  /** How long it has certainly kept all keys. */
  readonly knownFor?: number;
}

/** Answers one call. The book is changed in place; without one, a new one is opened. */
export function answerCall(
  found: LimiterBook | undefined,
  call: LimiterCall,
  clock: RedisServer,
): { readonly book: LimiterBook | undefined; readonly reply: LimiterReply } {
  const first = call.replace || call.declared || call.fallback;
  if (!found && (first === '' || call.worker === '')) return { book: undefined, reply: refused('none', clock.time) };
  const book = found ?? newBook(first);
  const isKnown = call.declared === '' || call.declared === book.declared || call.declared === book.inForce;
  if (!isKnown && call.replace === '') return { book, reply: refused('other', clock.time, book) };
  if (call.replace !== '' && call.replace !== book.inForce) {
    book.inForce = call.replace;
    book.runId = '';
  }
  const windows = decodeLimits(book.inForce);
  const isStepped = book.time - clock.time > maxDrift || call.steppedSince === book.openedAt;
  if (book.runId !== clock.runId || isStepped) reopen(book, windows, clock, found ? 0 : (clock.knownFor ?? 0));
  // Each call has a time of its own, which tells its permits apart from those of others.
  const now = Math.max(clock.time, book.time + 1);
  book.time = now;
  // Whoever only looks has computed nothing by other limits.
  if (call.worker !== '' && call.known !== book.inForce) return { book, reply: refused('learn', now, book) };

  report(book, windows, call);
  if (call.pause > 0) book.pausedUntil = Math.max(book.pausedUntil, now + call.pause);
  trim(book, windows, now);
  const granted = takeTurns(book, windows, call, now);
  const due = nextTurn(book, windows, call.worker, now);
  const others = book.workers.filter(({ id }) => id !== call.worker);
  return {
    book,
    reply: {
      status: 'ok',
      time: now,
      openedAt: book.openedAt,
      granted,
      due,
      inForce: book.inForce,
      queued: others.reduce((sum, { wants }) => sum + wants, 0),
      running: others.reduce((sum, { running }) => sum + running, 0),
      pausedFor: Math.max(0, book.pausedUntil - now),
      // To those who want permits a closed window is full. Who only looks sees the starts.
      used: windows.map(({ max }, w) =>
        call.worker !== '' && (book.closedUntil[w] ?? 0) > now ? max : usedNow(book, w),
      ),
    },
  };
}

function refused(status: 'none' | 'other' | 'learn', time: number, book?: LimiterBook): LimiterReply {
  const { openedAt = 0, inForce = '' } = book ?? {};
  return { status, time, openedAt, granted: 0, due: -1, queued: 0, running: 0, pausedFor: 0, inForce, used: [] };
}

function newBook(limits: string): LimiterBook {
  return {
    declared: limits,
    inForce: limits,
    runId: '',
    openedAt: 0,
    time: 0,
    usualDelay: { call: 0, start: 0 },
    lateness: { fastestBefore: 0, counted: 0 },
    pausedUntil: 0,
    closedUntil: [],
    log: [],
    granted: [],
    workers: [],
  };
}

/** The past that is not known is taken for full: nothing starts until it has left the window. */
function reopen(
  book: LimiterBook,
  windows: readonly BookWindow[],
  { time, runId }: RedisServer,
  knownFor: number,
): void {
  book.runId = runId;
  book.openedAt = time;
  // What was left of a pause at the last call.
  book.pausedUntil = time + Math.max(0, book.pausedUntil - book.time);
  book.time = time;
  book.closedUntil = windows.map(({ span }) => time + span + maxRoundTrip - knownFor);
  book.log = windows.map(() => []);
  book.granted = [];
  book.workers = [];
}

/**
 * Moves the permits that were used to the time of their start, and drops those that were given back. A response moves the
 * start once more.
 */
function report(book: LimiterBook, windows: readonly BookWindow[], { worker, used }: LimiterCall): void {
  for (const { at, nth, late, took, isCounted, costs } of used) {
    // Limits that were replaced since, or a clock that was set, have closed the log, which covers such a start. A clock that
    // was set back makes it one of the future.
    if (at < book.openedAt || at > book.time || costs.length !== windows.length) continue;
    const start = at + late;
    if (!isCounted) {
      const { length } = book.granted;
      book.granted = book.granted.filter((each) => each.worker !== worker || each.at !== at || each.nth !== nth);
      // It was not reported in time.
      if (book.granted.length === length) leave(book.log, windows, at + maxRoundTrip, costs);
      if (late >= 0) enter(book.log, windows, start, costs);
      if (late >= 0 && late <= maxRoundTrip) book.usualDelay.start = averaged(book.usualDelay.start, late);
    }
    if (took >= 0) shift(book.log, windows, start, shiftOf(book.lateness, windows, took), costs);
  }
}

/** By how much a start counts later than it was written, or earlier, since its response took this long. */
function shiftOf(lateness: Lateness, windows: readonly BookWindow[], took: number): number {
  let [length, maxSpare, sparePerStart] = [Infinity, Infinity, Infinity];
  for (const { max, per } of windows)
    if (per !== undefined) {
      length = Math.min(length, max);
      maxSpare = Math.min(maxSpare, Math.floor(500 * max * per));
      sparePerStart = Math.min(sparePerStart, Math.floor(10 * per));
    }
  const fastest = Math.min(lateness.fastest ?? took, took);
  const usual = Math.min(fastest, lateness.fastestBefore);
  lateness.fastest = fastest;
  lateness.counted += 1;
  if (lateness.counted >= length) {
    lateness.fastestBefore = fastest;
    delete lateness.fastest;
    lateness.counted = 0;
  }
  const spare = Math.min(maxSpare, (lateness.spare ?? maxSpare) + sparePerStart);
  let by = took - arrivalMargin;
  if (by > 0) by = Math.min(spare, Math.max(0, by - usual));
  lateness.spare = spare - by;
  return by;
}

/** An average of the last ones. */
function averaged(average: number, value: number): number {
  return Math.floor((7 * average + value) / 8);
}

/** Counts a start. Reports come out of order, but never long after. */
function enter(log: number[][], windows: readonly BookWindow[], time: number, costs: readonly number[]): void {
  windows.forEach((window, w) => enterIn(log[w] ?? [], window, time, costs[w] ?? 0));
}

/** Takes back what was entered at this time. */
function leave(log: number[][], windows: readonly BookWindow[], time: number, costs: readonly number[]): void {
  windows.forEach((window, w) => leaveIn(log[w] ?? [], window, time, costs[w] ?? 0));
}

/** Counts a start later, or earlier: in windows of rates, which servers count, unless it has left them. */
function shift(
  log: number[][],
  windows: readonly BookWindow[],
  time: number,
  by: number,
  costs: readonly number[],
): void {
  windows.forEach((window, w) => {
    const starts = log[w] ?? [];
    const cost = costs[w] ?? 0;
    if (window.per !== undefined && leaveIn(starts, window, time, cost)) enterIn(starts, window, time + by, cost);
  });
}

function enterIn(starts: number[], { width }: BookWindow, time: number, cost: number): void {
  const bucket = Math.ceil(time / width) * width;
  let place = starts.length;
  while (place > 0 && (starts[place - 2] ?? 0) > bucket) place -= 2;
  if (place > 0 && starts[place - 2] === bucket) starts[place - 1] = (starts[place - 1] ?? 0) + cost;
  else starts.splice(place, 0, bucket, cost);
}

/** Whether it was there. */
function leaveIn(starts: number[], { width }: BookWindow, time: number, cost: number): boolean {
  const bucket = Math.ceil(time / width) * width;
  for (let place = 0; place < starts.length; place += 2) {
    const used = starts[place + 1] ?? 0;
    if (starts[place] !== bucket || used < cost) continue;
    starts[place + 1] = used - cost;
    return true;
  }
  return false;
}

/** Forgets what has left its window, and who has not called in time. */
function trim(book: LimiterBook, windows: readonly BookWindow[], now: number): void {
  // What was not reported by then has started as late as it may.
  for (const { at, costs } of book.granted)
    if (at + maxRoundTrip <= now) enter(book.log, windows, at + maxRoundTrip, costs);
  book.granted = book.granted.filter(({ at }) => at + maxRoundTrip > now);
  windows.forEach(({ span }, w) => {
    const starts = book.log[w] ?? [];
    let old = 0;
    while (old < starts.length && (starts[old] ?? 0) + span <= now) old += 2;
    book.log[w] = starts.slice(old);
  });
  book.workers = book.workers.filter(({ until }) => until > now);
}

/**
 * Gives the process its turns that are due now, one for each time around the ring, and its place in the ring.
 *
 * Others whose turn is due have theirs first, although they have not called yet: they will, or their tickets lapse. Due is
 * also who will be before a call usually comes: if somebody took that place, all who wait would call a turn too early.
 */
function takeTurns(book: LimiterBook, windows: readonly BookWindow[], call: LimiterCall, now: number): number {
  const { worker, wants, running } = call;
  const used = windows.map((_, w) => usedNow(book, w));
  const isOpen = now >= book.pausedUntil && book.closedUntil.every((until) => until <= now);
  const soon = now + book.usualDelay.call;
  const turns = book.workers.filter(({ id, wants: waiting, due }) => id === worker || (waiting > 0 && due <= soon));
  const ring = turns.map(({ id, wants, costs }) => ({ id, wants, costs }));
  if (!ring.some(({ id }) => id === worker)) ring.push({ id: worker, wants: 0, costs: [] });
  let granted = 0;
  for (let turn = ring.shift(); isOpen && turn && granted < wants.length; turn = ring.shift()) {
    const isOwn = turn.id === worker;
    const costs = (isOwn ? wants[granted] : turn.costs) ?? [];
    if (windows.some(({ max }, w) => (used[w] ?? 0) + (costs[w] ?? 0) > max)) break;
    windows.forEach((_, w) => (used[w] = (used[w] ?? 0) + (costs[w] ?? 0)));
    if (isOwn) {
      book.granted.push({ worker, at: now, nth: granted, costs });
      granted += 1;
    }
    if (isOwn || turn.wants > 1) ring.push({ ...turn, wants: turn.wants - 1 });
  }
  const seat = { id: worker, wants: wants.length - granted, costs: wants[granted] ?? [], running, due: 0, until: 0 };
  const last = book.workers.find(({ id }) => id === worker);
  if (granted > 0 && last && last.wants > 0)
    book.usualDelay.call = averaged(book.usualDelay.call, Math.max(0, now - last.due));
  const place = granted > 0 ? -1 : book.workers.findIndex(({ id }) => id === worker);
  book.workers = book.workers.filter(({ id }) => id !== worker);
  if (seat.wants === 0 && running === 0) return granted;
  book.workers.splice(place === -1 ? book.workers.length : place, 0, seat);
  return granted;
}

/** The cost units of a window that are in use. Permits that are not reported count in full. */
function usedNow({ log, granted }: LimiterBook, w: number): number {
  let used = 0;
  for (let at = 1; at < (log[w]?.length ?? 0); at += 2) used += log[w]?.[at] ?? 0;
  for (const { costs } of granted) used += costs[w] ?? 0;
  return used;
}

/** When the next turn of the process is due, after one of each that waits before it; -1 if it waits for nothing. */
function nextTurn(book: LimiterBook, windows: readonly BookWindow[], worker: string, now: number): number {
  const place = book.workers.findIndex(({ id }) => id === worker);
  const seat = book.workers[place];
  if (!seat) return -1;
  if (seat.wants === 0) {
    seat.until = now + shownFor;
    return -1;
  }
  // Most permits are used as soon as they are granted, and reported before they would matter.
  const log = windows.map((_, w) => [...(book.log[w] ?? [])]);
  for (const { at, costs } of book.granted) enter(log, windows, at + book.usualDelay.start, costs);
  const delay = book.usualDelay.call + book.usualDelay.start;
  const used = log.map((starts) => starts.reduce((sum, cost, at) => (at % 2 === 1 ? sum + cost : sum), 0));
  const oldest = windows.map(() => 0);
  let time = Math.max(now, book.pausedUntil, ...book.closedUntil);
  for (const { wants, costs } of book.workers.slice(0, place + 1)) {
    if (wants === 0) continue;
    windows.forEach(({ max, span }, w) => {
      const starts = log[w] ?? [];
      for (let at = oldest[w] ?? 0; at < starts.length; at = oldest[w] ?? 0) {
        const end = (starts[at] ?? 0) + span;
        if (end > time && (used[w] ?? 0) + (costs[w] ?? 0) <= max) break;
        time = Math.max(time, end);
        used[w] = (used[w] ?? 0) - (starts[at + 1] ?? 0);
        oldest[w] = at + 2;
      }
    });
    windows.forEach((_, w) => (used[w] = (used[w] ?? 0) + (costs[w] ?? 0)));
    enter(log, windows, time + delay, costs);
  }
  seat.due = time > now ? time : now + retryAfter;
  seat.until = seat.due + lease;
  return seat.due - now;
}
