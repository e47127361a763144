import { type Clock, LockError } from '../../src/index.js';
import type { BudgetStore } from '../../src/kit.js';
import { Budget } from '../../src/http/limit/budget.js';
import type { Limit } from '../../src/index.js';
import { costsOf, rateWindows } from '../../src/http/limit/limit.js';

/** What a schedule does. Times are in ms. */
export interface World {
  readonly limit: Limit;
  /** Another one that holds as well. */
  readonly other?: Limit | undefined;
  /** A number in [0, 1), repeatable. */
  readonly random: () => number;
  /** How many times slower the disk is. Default: 1. */
  readonly slowness?: number;
}

interface Arrival {
  readonly at: number;
  readonly cost: number;
  /** In the other limit. */
  readonly otherCost: number;
}

/** Ms after which a lock is free whose process was killed: that of a database, by a lease. */
const lease = 10_000;

interface Event {
  readonly at: number;
  readonly nth: number;
  readonly call: () => void;
}

/** A machine with a disk: its time, its processes, and one budget that they share. */
export class BudgetMachine {
  /** True time. */
  now = 1_000_000;
  /** When requests reached the API. */
  readonly arrivals: Arrival[] = [];
  readonly warnings: string[] = [];
  /** Nothing can be written. */
  isBroken = false;
  /** A process that stands still has locked it. */
  isHeld = false;
  /** The file. */
  record: string | undefined;
  readonly #world: World;
  readonly #events: Event[] = [];
  readonly #processes = new Set<SimulatedProcess>();
  #count = 0;
  #boots = 1;
  #bootedAt = 0;
  #wallOffset = 0;
  #savedOffset = 0;
  /** Whether the record was saved since the boot. */
  #isSaved = false;
  #holder: SimulatedProcess | undefined;

  constructor(world: World) {
    this.#world = world;
  }

  get running(): number {
    return this.#processes.size;
  }

  start(options: ProcessOptions): SimulatedProcess {
    const process = new SimulatedProcess(this, this.#world, options);
    this.#processes.add(process);
    process.run();
    return process;
  }

  kill(process: SimulatedProcess): void {
    process.isAlive = false;
    this.#processes.delete(process);
    this.after(this.#world.random() < 0.5 ? 0 : lease, () => {
      if (this.#holder === process) this.#holder = undefined;
    });
  }

  killOne(): void {
    const [first] = this.#processes;
    if (first) this.kill(first);
  }

  /** Sets the wall clock. That it was set forward between two boots could not be noticed. */
  step(ms: number): void {
    this.#wallOffset += this.#isSaved ? ms : Math.min(0, ms);
  }

  /** It is off for a time. That its clock was set forward after the last save could not be noticed. */
  reboot(off: number): void {
    for (const process of [...this.#processes]) this.kill(process);
    this.now += off;
    this.#boots += 1;
    this.#bootedAt = this.now;
    this.#isSaved = false;
    this.#wallOffset = Math.min(this.#wallOffset, this.#savedOffset);
  }

  async runUntil(at: number): Promise<void> {
    for (;;) {
      await settled();
      const next = this.#events[0];
      if (!next || next.at > at) break;
      this.#events.shift();
      this.now = Math.max(this.now, next.at);
      next.call();
    }
    this.now = Math.max(this.now, at);
  }

  /** Calls back if the process lives then. */
  after(ms: number, call: () => void, process?: SimulatedProcess): () => void {
    const event: Event = {
      at: this.now + ms,
      nth: (this.#count += 1),
      call: () => {
        if (process?.isAlive !== false) call();
      },
    };
    const place = this.#events.findIndex(({ at }) => at > event.at);
    this.#events.splice(place < 0 ? this.#events.length : place, 0, event);
    return () => {
      const at = this.#events.indexOf(event);
      if (at >= 0) this.#events.splice(at, 1);
    };
  }

  clockOf(process: SimulatedProcess): Clock {
    return {
      now: () => this.now + this.#wallOffset,
      monotonic: () => this.now,
      after: (ms, call) => this.after(ms, call, process),
    };
  }

  get boot() {
    return {
      id: () => Promise.resolve(`boot ${this.#boots}`),
      now: () => Math.floor((this.now - this.#bootedAt) / 10) * 10,
    };
  }

  storeOf(process: SimulatedProcess): BudgetStore {
    const { random, slowness = 1 } = this.#world;
    const takes = (ms: number, call: () => void): Promise<void> =>
      new Promise((resolve) => {
        this.after(
          slowness * ms * random(),
          () => {
            call();
            resolve();
          },
          process,
        );
      });
    return {
      lock: async () => {
        await takes(3, () => undefined);
        if (this.isBroken) throw new Error('The disk is broken.');
        if (this.#holder || this.isHeld) throw new LockError('It is in use.');
        this.#holder = process;
        return async () => {
          await takes(2, () => (this.#holder = undefined));
        };
      },
      load: async () => {
        let found: string | undefined;
        await takes(2, () => (found = this.record));
        return found === undefined ? undefined : (JSON.parse(found) as unknown);
      },
      save: async (_name, record) => {
        await takes(10, () => {
          this.record = JSON.stringify(record);
          this.#isSaved = true;
          this.#savedOffset = 'wall' in record ? Number(record.wall) - this.now : 0;
        });
        // Whoever is killed now does not know that it was saved.
        await takes(2, () => undefined);
      },
    };
  }

  left(process: SimulatedProcess): void {
    this.#processes.delete(process);
  }
}

export interface ProcessOptions {
  /** Requests that it sends, and how many of them at once. */
  readonly requests: number;
  readonly parallel: number;
  /** Ms between two requests of one of them, at most. */
  readonly pause: number;
  /** Ms from permit to write, at most, and from write to arrival. */
  readonly connect: number;
  readonly arrive: number;
}

/** A process that sends as many requests as it may, as its budget allows. */
export class SimulatedProcess {
  isAlive = true;
  readonly #machine: BudgetMachine;
  readonly #options: ProcessOptions;
  readonly #random: () => number;
  readonly budget: Budget;
  readonly #limits: readonly Limit[];
  #left: number;
  #waiting: (() => void)[] = [];

  constructor(machine: BudgetMachine, { limit, other, random }: World, options: ProcessOptions) {
    this.#machine = machine;
    this.#options = options;
    this.#random = random;
    this.#limits = other ? [limit, other] : [limit];
    this.#left = options.requests;
    const budget = Budget.opener({
      open: () => Promise.resolve(machine.storeOf(this)),
      boot: machine.boot,
      clock: machine.clockOf(this),
      random,
      warn: (message) => machine.warnings.push(message),
    })(rateWindows(this.#limits), { onChange: () => this.#wake(), onPause: () => undefined });
    if (!budget) throw new Error('The limit has no long window.');
    this.budget = budget;
  }

  run(): void {
    const all = Array.from({ length: this.#options.parallel }, () => this.#sendAll());
    void Promise.all(all).then(async () => {
      await this.budget.close();
      this.#machine.left(this);
    });
  }

  async #sendAll(): Promise<void> {
    const { pause, connect, arrive } = this.#options;
    const windows = rateWindows(this.#limits);
    const hasCosts = this.#limits.some(({ costs }) => costs);
    while (this.#left > 0) {
      this.#left -= 1;
      const all = costsOf(windows, hasCosts && this.#random() < 0.2 ? 'costly' : 'plain');
      const [cost = 1, otherCost = 1] = all;
      for (;;) {
        await this.#permit(all);
        this.budget.hold(all);
        await this.#sleep(connect * this.#random());
        const isWritten = this.budget.mayStart(all);
        this.budget.settle(all, isWritten);
        if (!isWritten) continue;
        this.#machine.arrivals.push({ at: this.#machine.now + arrive * this.#random(), cost, otherCost });
        break;
      }
      await this.#sleep(pause * this.#random());
    }
  }

  async #permit(costs: readonly number[]): Promise<void> {
    for (;;) {
      const wait = this.budget.waitFor(costs);
      if (wait === 0) return;
      await (wait === Infinity ? new Promise<void>((resolve) => this.#waiting.push(resolve)) : this.#sleep(wait));
    }
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  #sleep(ms: number): Promise<void> {
    // A timer takes a ms at least; the machine's clock has steps.
    return new Promise((resolve) => this.#machine.after(Math.max(1, ms), resolve, this));
  }
}

/** The highest cost of arrivals within any window, and when it was. */
export function worstWindow(arrivals: readonly Pick<Arrival, 'at' | 'cost'>[], per: number): number {
  const sorted = arrivals.toSorted((a, b) => a.at - b.at);
  let first = 0;
  let cost = 0;
  let worst = 0;
  for (const arrival of sorted) {
    cost += arrival.cost;
    for (let oldest = sorted[first]; oldest && oldest.at <= arrival.at - per; oldest = sorted[first]) {
      cost -= oldest.cost;
      first += 1;
    }
    worst = Math.max(worst, cost);
  }
  return worst;
}

/** All that follows at once has happened. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 40; turn += 1) await Promise.resolve();
}
