import { type Clock, settlesWithin, sleep } from '../../clock.js';
import { LockError, SinkError, SluiceError } from '../../errors.js';
import {
  type BudgetRecord,
  costOf,
  decodeBudget,
  freeAt,
  living,
  noBudget,
  reserve,
  type Slice,
  sliceLength,
  sliceSize,
} from './budgetRecord.js';
import { type BootClock, timeOf, withBoot } from '../../timeline.js';
import type { RateWindow } from './limit.js';
import type { BudgetUse } from './limiterTypes.js';

/** What a budget uses of a `StateStore`. */
export interface BudgetStore {
  /** Keeps other processes out until the release. @throws LockError while another process holds it. */
  lock(signal: AbortSignal): Promise<() => Promise<void>>;
  /** Returns a record, also without the lock; `undefined` if there is none. @throws CheckpointError if it can't be read. */
  load(name: string): Promise<unknown>;
  /** Resolves when the record is durable. */
  save(name: string, record: object): Promise<void>;
}

/** Locks where a budget is stored, once other processes have released it. */
export type LockBudget = (store: BudgetStore) => Promise<() => Promise<void>>;

interface BudgetTools {
  /** Opens where it is stored. */
  readonly open: (lock: LockBudget) => Promise<BudgetStore>;
  readonly boot: BootClock;
  readonly clock: Clock;
  readonly random: () => number;
  readonly warn: (message: string) => void;
}

/** The last look at a record. */
interface Look {
  readonly at: number;
  /** Ms that it took. */
  readonly took: number;
  /** Less was free than a slice has. */
  readonly isShort: boolean;
  /** Set while the budget is used up. */
  readonly usedUp?: { readonly until: number; readonly lookAt: number };
}

/** Of a limiter. */
interface BudgetHooks {
  /** Called when a wait has ended. */
  readonly onChange: () => void;
  /** Called when another process was told to pause, for so many ms. */
  readonly onPause: (ms: number) => void;
}

/** Creates the budget of a limiter; `undefined` if its windows need none. */
export type OpenBudget = (windows: readonly RateWindow[], hooks: BudgetHooks) => Budget | undefined;

/** A slice of this process. */
interface OwnSlice extends Slice {
  cost: number;
  used: number;
  /** The last start. */
  lastAt: number;
  /** When its first request was written, if it has those that no slice was reserved for. */
  readonly unreservedSince?: number;
}

/** A window that outlives the process. */
interface KeptWindow extends RateWindow {
  /** In the record. Limits of the same length have one each. */
  readonly name: string;
  /** Its place in the costs. */
  readonly w: number;
  /** Slices of this process, oldest first. */
  own: readonly OwnSlice[];
  /** Those of all processes, as of the last look. */
  all: readonly Slice[];
  /** Cost of permits whose requests are not written yet. */
  pending: number;
}

const recordName = 'budget';
/** Ms. Shorter windows are over before another process has started. */
const shortestWindow = 10_000;
/** Ms after which the record is read again, since another process may have been told to pause. */
const freshFor = 750;
/** Ms that a lock is waited for, which others hold for a few ms; and when the client closes. */
const longestLock = 30_000;
const longestLastLock = 2_000;
/** Ms that closing may take. */
const longestClose = 5_000;
/** Ms that a look at the record may take. */
const longestSync = 40_000;
/** Ms between two attempts to lock, at least. */
const lockEvery = 5;
/** Ms until the place is tried again after it failed. */
const retryAfter = 60_000;
/** Ms between looks at a budget that is used up, at least and at most: others may end their slices early. */
const lookEvery = { min: 1_000, max: 60_000 };

/**
 * The part of a limit that outlives the process: how many units this process may start, and until when. It reserves them
 * in slices, in a record that all processes share, and the next slice at half of the last one, so that no request waits
 * for a disk. What is spaced within the process is the limiter's.
 */
export class Budget {
  readonly #windows: readonly KeptWindow[];
  readonly #tools: BudgetTools;
  readonly #hooks: BudgetHooks;
  readonly #closing = new AbortController();
  #store: BudgetStore | undefined;
  #bootId = '';
  #syncing: Promise<void> | undefined;
  /** Ms from the time since the boot to that of the record. */
  #ahead = 0;
  #latest = 0;
  /** What it knows of the record. */
  #seen: Look = { at: -Infinity, took: 0, isShort: false };
  /** The end of a pause that the record does not have, by the time since the boot. */
  #newPause: number | undefined;
  #hasWarned = false;
  /** Set while the place fails, so that only the limiter of this process counts: when it is tried again. */
  #retryAt: number | undefined;

  private constructor(windows: readonly KeptWindow[], tools: BudgetTools, hooks: BudgetHooks) {
    this.#windows = windows;
    this.#tools = tools;
    this.#hooks = hooks;
  }

  /** @returns what creates the budget of a limiter with windows of ten seconds or more. */
  static opener(tools: BudgetTools): OpenBudget {
    return (windows, hooks) => {
      const kept = windows.flatMap((window, w): KeptWindow[] =>
        window.span < shortestWindow
          ? []
          : [{ ...window, name: nameWindow(windows, w), w, own: [], all: [], pending: 0 }],
      );
      return kept.length === 0 ? undefined : new Budget(kept, tools, hooks);
    };
  }

  /** Adds to the use of each window what other processes have used. */
  used(own: readonly number[]): readonly number[] {
    if (this.#isOff) return own;
    const now = this.#now;
    const all = new Map(this.#windows.map((window) => [window.w, window.max - this.#left(window, now)]));
    return own.map((used, w) => Math.max(used, all.get(w) ?? 0));
  }

  /** The use of the window of which least is left; `undefined` before the record was read. */
  get use(): BudgetUse | undefined {
    if (this.#isOff || this.#seen.at === -Infinity) return undefined;
    const now = this.#now;
    const refused = this.#seen.usedUp ? this.#seen.usedUp.until - now : 0;
    const uses = this.#windows.flatMap((window): BudgetUse[] => {
      // A burst is spaced soon.
      if (window.per === undefined) return [];
      const all = living(window.all, window, now);
      const left = this.#left(window, now);
      const nextAt = left < 1 ? freeAt(all, window, 1) : now;
      return [
        {
          left,
          limit: window.max,
          per: window.per,
          returnsIn: Math.max(0, refused, nextAt - now),
          allIn: Math.max(0, freeAt(all, window, window.max) - now),
        },
      ];
    });
    return uses.sort((a, b) => a.left / a.limit - b.left / b.limit)[0];
  }

  /** Ms until a request of these costs may start; `Infinity` until `onChange`. */
  waitFor(costs: readonly number[]): number {
    if (this.#retryAt !== undefined) {
      if (this.#tools.clock.monotonic() >= this.#retryAt) this.#sync([]);
      return 0;
    }
    const now = this.#now;
    // At most the window: permits that are pending may be void by now.
    const need = this.#windows.map((window) =>
      Math.min(window.max, Math.max(0, window.pending + costIn(window, costs) - this.#room(window, now))),
    );
    if (need.every((units) => units === 0)) {
      const isLow = !this.#seen.isShort && this.#windows.some((window) => this.#isLow(window, now));
      if (isLow) this.#sync(need);
      else if (now - this.#seen.at >= freshFor) this.#look();
      return 0;
    }
    const { usedUp } = this.#seen;
    if (usedUp && usedUp.lookAt > now) return usedUp.lookAt - now;
    this.#sync(need);
    return Infinity;
  }

  /** Counts a permit, until `settle`. */
  hold(costs: readonly number[]): void {
    for (const window of this.#windows) window.pending += costIn(window, costs);
  }

  /** Whether a request may be written now: its slice may have ended since it got its permit. */
  mayStart(costs: readonly number[]): boolean {
    if (this.#isOff) return true;
    const now = this.#now;
    return this.#windows.every((window) => this.#room(window, now) >= costIn(window, costs));
  }

  /** Counts the request of a permit, if it was written. */
  settle(costs: readonly number[], isWritten: boolean): void {
    const now = this.#now;
    for (const window of this.#windows) {
      const cost = costIn(window, costs);
      window.pending -= cost;
      if (isWritten) this.#spend(window, cost, now);
    }
  }

  /** Ms since it has returned after it was used up, negative until then; `undefined` if it was not used up, or nothing knows. */
  async returnedFor(): Promise<number | undefined> {
    const { boot, clock } = this.#tools;
    // If the place fails, the first request says so.
    const stored = await this.#locked((store) => store.load(recordName)).catch(() => undefined);
    const record = decodeBudget(stored);
    if (!record) return undefined;
    const { now } = timeOf(record, { id: this.#bootId, uptime: boot.now(), wall: clock.now() });
    const returned = this.#windows.flatMap(({ name }) => now - (record.returns?.[name] ?? NaN)).filter(Number.isFinite);
    return returned.length === 0 ? undefined : Math.min(...returned);
  }

  /** Tells the other processes. */
  pause(ms: number): void {
    this.#newPause = Math.max(this.#newPause ?? 0, this.#tools.boot.now() + ms);
    if (!this.#isOff) this.#sync([]);
  }

  /** Gives back what this process has reserved and not used, and stores a pause that is new. */
  async close(): Promise<void> {
    this.#closing.abort();
    const save = async (): Promise<void> => {
      await this.#syncing;
      if (this.#isOff || (this.#newPause === undefined && this.#windows.every(({ own }) => own.length === 0))) return;
      await this.#syncOnce([]);
    };
    // Without it, they count in full until they leave.
    await settlesWithin(
      this.#tools.clock,
      longestClose,
      save().catch(() => undefined),
    );
  }

  get #isOff(): boolean {
    return this.#retryAt !== undefined;
  }

  /** The record's time. */
  get #now(): number {
    return (this.#latest = Math.max(this.#latest, this.#tools.boot.now() + this.#ahead));
  }

  /** Units that are not used, of those that all processes may start. */
  #left(window: KeptWindow, now: number): number {
    return Math.max(0, window.max - costOf(living(window.all, window, now)) + this.#room(window, now));
  }

  #room({ own }: KeptWindow, now: number): number {
    return own.reduce((sum, { to, cost, used }) => (to > now ? sum + Math.max(0, cost - used) : sum), 0);
  }

  /** Whether half of what was reserved is used or over. */
  #isLow(window: KeptWindow, now: number): boolean {
    const size = sliceSize(window);
    const last = window.own.at(-1);
    if (size < 2 || !last) return false;
    return this.#room(window, now) - window.pending <= size / 2 || last.to - now <= sliceLength(window) / 2;
  }

  #sync(need: readonly number[]): void {
    if (this.#syncing || this.#closing.signal.aborted) return;
    this.#syncing = this.#inTime(this.#syncOnce(need))
      .catch((error: unknown) => this.#goOn(error))
      .finally(() => this.#ended());
  }

  /** Reads the record without its lock: another process may have been told to pause. */
  #look(): void {
    const store = this.#store;
    if (!store || this.#syncing || this.#closing.signal.aborted) return;
    const read = async (): Promise<void> => {
      const record = decodeBudget(await store.load(recordName));
      // If it is damaged, the next reservation says so.
      if (!record) return;
      const now = this.#now;
      this.#seen = { ...this.#seen, at: now };
      for (const window of this.#windows) window.all = record.slices[window.name] ?? [];
      if (record.pausedUntil > now) this.#hooks.onPause(record.pausedUntil - now);
    };
    this.#syncing = this.#inTime(read())
      .catch(() => {
        this.#seen = { ...this.#seen, at: this.#now };
      })
      .finally(() => this.#ended());
  }

  /** A request must not wait for ever for a place that does not answer. */
  async #inTime(work: Promise<void>): Promise<void> {
    if (await settlesWithin(this.#tools.clock, longestSync, work)) return work;
    throw new SinkError(`There was no answer for ${longestSync / 1_000} s.`);
  }

  #ended(): void {
    this.#syncing = undefined;
    if (this.#newPause !== undefined && !this.#isOff) this.#sync([]);
    this.#hooks.onChange();
  }

  async #locked<R>(use: (store: BudgetStore) => Promise<R>): Promise<R> {
    const { boot, open } = this.#tools;
    const store = (this.#store ??= await open(this.#lock));
    this.#bootId ||= await boot.id();
    const release = await this.#lock(store);
    try {
      return await use(store);
    } finally {
      await release();
    }
  }

  /** Reads the record, ends slices of this process that are over, reserves what is needed, and saves it. */
  #syncOnce(need: readonly number[]): Promise<void> {
    const { boot, clock } = this.#tools;
    return this.#locked(async (store) => {
      const { stored, isDamaged } = await this.#load(store);
      const uptime = boot.now();
      const wall = clock.now();
      const { now, ahead } = timeOf(stored, { id: this.#bootId, uptime, wall });
      // Not `ahead`: what this process does must not lag behind what the record has.
      this.#ahead = now - uptime;
      this.#latest = now;
      const kept = this.#windows.map((window, nth) => this.#plan(window, stored, need[nth] ?? 0, now));
      const isGranted = kept.every(({ isEnough }) => isEnough);
      const pause = this.#newPause;
      const pausedUntil = Math.max(stored.pausedUntil, pause === undefined ? 0 : pause + this.#ahead);
      const lists = kept.map(({ window, all, granted }) => ({
        window,
        all: isGranted && granted ? [...all, granted] : all,
      }));
      const isReserved = isGranted && kept.some(({ granted }) => granted);
      if (isReserved || isDamaged || pause !== undefined || kept.some(({ ended }) => ended.length > 0)) {
        const changed = lists.map(({ window, all }): [string, readonly Slice[]] => [window.name, all]);
        const slices = { ...stored.slices, ...Object.fromEntries(changed) };
        const boots = withBoot(stored.boots, this.#bootId, { ahead, at: now });
        const usedUp = lists.flatMap(({ window, all }): [string, number][] =>
          costOf(all) > window.max - 1 ? [[window.name, freeAt(all, window, 1)]] : [],
        );
        const returns = { ...stored.returns, ...Object.fromEntries(usedUp) };
        await store.save(recordName, { saved: now, wall, boots, pausedUntil, slices, returns } satisfies BudgetRecord);
      }
      for (const { window, all } of lists) window.all = all;
      for (const { window, ended, granted } of kept) {
        const own = window.own.filter((slice) => !ended.includes(slice));
        window.own = isGranted && granted ? [...own, { ...granted, used: 0, lastAt: now }] : own;
      }
      if (this.#newPause === pause) this.#newPause = undefined;
      this.#retryAt = undefined;
      const took = this.#now - now;
      this.#seen = {
        at: now,
        took,
        isShort: kept.some(({ window, isWanted, granted }) => isWanted && (granted?.cost ?? 0) < sliceSize(window)),
        ...(!isGranted && { usedUp: nextLook(kept, need, { now, took }) }),
      };
      if (pausedUntil > now) this.#hooks.onPause(pausedUntil - now);
    });
  }

  /** What becomes of a window: its slices, with those of this process as far as they were used, and a new one. */
  #plan(window: KeptWindow, stored: BudgetRecord, need: number, now: number) {
    const isLast = this.#closing.signal.aborted;
    const isOver = ({ to, cost, used }: OwnSlice): boolean => isLast || to <= now || used >= cost;
    const ended = window.own.filter(isOver);
    const own = window.own.filter((slice) => !isOver(slice));
    const mine = new Set(window.own.map(({ id }) => id));
    const found = (stored.slices[window.name] ?? []).filter(({ id }) => !mine.has(id));
    const used = ended.flatMap(({ id, used: cost, lastAt: to }) => (cost > 0 ? [{ id, to, cost }] : []));
    const open = own.map(({ id, to, cost }) => ({ id, to, cost }));
    const all = living([...found, ...used, ...open], window, now);
    const id = this.#newId();
    const isWanted = !isLast && (need > 0 || this.#isLow(window, now));
    // One that has ended when it is saved would be void, on a slow disk for ever.
    const lasts = Math.max(sliceLength(window), 3 * this.#seen.took);
    const granted = isWanted ? reserve(all, window, { need, now, lasts, id }) : undefined;
    return { window, all, ended, isWanted, granted, isEnough: need === 0 || granted !== undefined };
  }

  /** A damaged record counts as a full one, since what it had is unknown. */
  async #load(store: BudgetStore): Promise<{ readonly stored: BudgetRecord; readonly isDamaged: boolean }> {
    const { clock, warn } = this.#tools;
    let fault = 'it is not a budget';
    try {
      const found = await store.load(recordName);
      const stored = found === undefined ? noBudget : decodeBudget(found);
      if (stored) return { stored, isDamaged: false };
    } catch (error) {
      if (!SluiceError.is(error, 'checkpoint')) throw error;
      fault = error.message;
    }
    warn(`The stored budget of a rate limit can't be read (${fault}). It counts as used up for one window.`);
    const now = clock.now();
    const full = this.#windows.map((window): [string, readonly Slice[]] => [
      window.name,
      [{ id: 'damaged', to: now, cost: window.max }],
    ]);
    return { stored: { ...noBudget, saved: now, wall: now, slices: Object.fromEntries(full) }, isDamaged: true };
  }

  /** Others hold it for a few ms. */
  readonly #lock: LockBudget = async (store) => {
    const { clock, random } = this.#tools;
    const isLast = this.#closing.signal.aborted;
    const stop = new AbortController();
    const giveUp = (): void => stop.abort(new LockError('Another process has locked it for too long.'));
    const cancel = clock.after(isLast ? longestLastLock : longestLock, giveUp);
    this.#closing.signal.addEventListener('abort', giveUp, { once: true });
    try {
      for (;;) {
        try {
          return await store.lock(stop.signal);
        } catch (error) {
          if (!SluiceError.is(error, 'lock') || stop.signal.aborted) throw error;
          await sleep(clock, lockEvery * (1 + 3 * random()), stop.signal);
        }
      }
    } finally {
      cancel();
      this.#closing.signal.removeEventListener('abort', giveUp);
    }
  };

  /**
   * Goes on without a place that fails, and tries it again later. No request waits for that. But where another process
   * has locked it, e.g. one that stands still, more requests could exceed the limit: they wait.
   */
  #goOn(error: unknown): void {
    const { clock, warn } = this.#tools;
    if (this.#closing.signal.aborted) return;
    const isLocked = SluiceError.is(error, 'lock');
    if (!isLocked) this.#retryAt = clock.monotonic() + retryAfter;
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const message = error instanceof Error ? error.message : String(error);
    const effect = isLocked
      ? 'Requests wait for the budget of a rate limit'
      : "A rate limit holds only within this process, because its budget can't be stored";
    warn(`${effect}: ${message}`);
  }

  /** Takes units from the open slices, the oldest first. */
  #spend(window: KeptWindow, cost: number, now: number): void {
    let rest = cost;
    for (const slice of window.own) {
      const taken = slice.to > now ? Math.min(rest, slice.cost - slice.used) : 0;
      if (taken <= 0) continue;
      slice.used += taken;
      slice.lastAt = now;
      rest -= taken;
    }
    if (rest === 0) return;
    // The place failed; or `fetch`, which does not say when a request is written, has written it later than it might.
    const last = window.own.at(-1);
    if (last?.unreservedSince !== undefined && now - last.unreservedSince < sliceLength(window)) {
      last.cost += rest;
      last.used += rest;
      last.lastAt = now;
      return;
    }
    const late = { id: this.#newId(), to: now, cost: rest, used: rest, lastAt: now, unreservedSince: now };
    window.own = [...window.own, late];
  }

  #newId(): string {
    return Math.floor(this.#tools.random() * 2 ** 52).toString(36);
  }
}

function costIn({ w }: KeptWindow, costs: readonly number[]): number {
  return costs[w] ?? 1;
}

/** Of windows that are as long, the order of the limits tells them apart: one keeps its use when its limit changes. */
function nameWindow(windows: readonly RateWindow[], w: number): string {
  const lengths = windows.slice(0, w + 1).map(({ span }) => Math.round(span));
  const nth = lengths.filter((length) => length === lengths[w]).length;
  return nth === 1 ? String(lengths[w]) : `${lengths[w]}-${nth}`;
}

/** When a budget that is used up returns, and when to look at it again. */
function nextLook(
  kept: readonly { readonly window: KeptWindow; readonly all: readonly Slice[] }[],
  need: readonly number[],
  { now, took }: { readonly now: number; readonly took: number },
): { readonly until: number; readonly lookAt: number } {
  const until = Math.max(...kept.map(({ window, all }, nth) => freeAt(all, window, need[nth] ?? 0)));
  const every = Math.min(...kept.map(({ window }) => sliceLength(window)));
  // While the record is read, more may return: on a slow disk the units would come one by one.
  return { until, lookAt: Math.min(until + took, now + Math.min(lookEvery.max, Math.max(lookEvery.min, every))) };
}
