import type { Random } from '../../test/kit/random.js';
import type { Trace } from './trace.js';

/** One life of a simulated process. What it has scheduled never happens once it is dead. */
export class Life {
  readonly name: string;
  isAlive = true;
  /** Ms until when it is stopped, as by SIGSTOP: what was due by then happens when it wakes up. */
  stoppedUntil = 0;
  /** What it holds: it ends with it. */
  readonly claims = new Set<string>();
  /** Events of this life so far. */
  events = 0;

  constructor(name: string) {
    this.name = name;
  }
}

/** What happens at one moment of virtual time. */
interface Event {
  at: number;
  /** Events of one moment happen in this order: immediates first, the others as chance has it. */
  order: number;
  readonly n: number;
  readonly label: string;
  readonly life: Life | null;
  readonly run: () => void;
  isCancelled: boolean;
}

/** Cancels what was scheduled. */
export type Cancel = () => void;

/** A world that does not come to its end: nothing is left that could happen, or things happen for ever. */
export class Stuck extends Error {}

/** Before immediates, whose order is -1. */
const overdue = -3;

/** More events than any world needs. */
const maxEvents = 400_000;

interface ScheduleOptions {
  /** Whether what code schedules belongs to the process whose event ran last. Default `true`. */
  readonly hasOwners?: boolean;
  /** Default: more than any world needs. */
  readonly maxEvents?: number;
}

/** Virtual time: it stands still while code runs, and jumps to the next event when nothing is left to run. */
export class Schedule {
  readonly trace: Trace;
  /** Whose code runs now. What that code schedules belongs to it. */
  current: Life | null = null;
  /** Events that have happened. */
  happened = 0;
  readonly #random: Random;
  /** Drains all promises. */
  readonly #turn: () => Promise<void>;
  readonly #hasOwners: boolean;
  readonly #maxEvents: number;
  readonly #events: Event[] = [];
  #now = 0;
  #scheduled = 0;

  constructor(trace: Trace, random: Random, turn: () => Promise<void>, options: ScheduleOptions = {}) {
    this.trace = trace;
    this.#random = random;
    this.#turn = turn;
    this.#hasOwners = options.hasOwners ?? true;
    this.#maxEvents = options.maxEvents ?? maxEvents;
  }

  /** Ms since the world began. */
  get now(): number {
    return this.#now;
  }

  /** Notes what happened to whom. */
  note(event: string, life: Life | null = this.current): void {
    this.trace.add(this.#now, life?.name ?? '', event);
  }

  /** Lets something happen `ms` from now: to the world (`null`), or to a process, unless that is dead by then. */
  after(
    ms: number,
    label: string,
    run: () => void,
    life: Life | null = this.current,
    order = this.#random.next(),
  ): Cancel {
    const at = this.#now + Math.max(0, ms);
    const event: Event = { at, order, n: (this.#scheduled += 1), label, life, run, isCancelled: false };
    push(this.#events, event);
    return () => {
      event.isCancelled = true;
    };
  }

  /** Lets time pass until the condition holds. It is asked whenever all that could run has run. @throws Stuck if that never is. */
  async until(isDone: (last: string) => boolean): Promise<void> {
    let last = '';
    for (;;) {
      await this.#turn();
      if (isDone(last)) return;
      const event = pop(this.#events);
      if (!event) throw new Stuck(`Nothing is left that could happen after ${last === '' ? 'the start' : last}.`);
      if (event.isCancelled || event.life?.isAlive === false) {
        last = '';
        continue;
      }
      if (event.life && event.life.stoppedUntil > event.at) {
        // In the order in which they were due: parts of a body must not be mixed up.
        event.order = overdue + event.at * 1e-9;
        event.at = event.life.stoppedUntil;
        push(this.#events, event);
        last = '';
        continue;
      }
      if ((this.happened += 1) > this.#maxEvents) throw new Stuck(`${this.#maxEvents} events, and no end.`);
      this.#now = event.at;
      last = event.label;
      if (this.#hasOwners) this.current = event.life;
      if (event.life) event.life.events += 1;
      this.note(last, event.life);
      event.run();
    }
  }

  /** Lets what was settled by now run, and no time pass. */
  settle(): Promise<void> {
    return this.#turn();
  }

  /** Lets everything happen that is due at this moment. */
  async finishMoment(): Promise<void> {
    await this.until(() => (this.#events[0]?.at ?? Infinity) > this.#now);
  }

  /** What a process has set by itself and still waits for: timers, and calls to its disk. What is on the wire is not its own. */
  pendingOf(life: Life): readonly string[] {
    const own = this.#events.filter(
      (event) => event.life === life && !event.isCancelled && !event.label.startsWith('net'),
    );
    return own.map(({ label }) => label);
  }
}

function isBefore(a: Event, b: Event): boolean {
  if (a.at !== b.at) return a.at < b.at;
  return a.order === b.order ? a.n < b.n : a.order < b.order;
}

/** Adds to a binary heap, the first event at its top. */
function push(heap: Event[], event: Event): void {
  let at = heap.length;
  while (at > 0) {
    const above = heap[(at - 1) >> 1];
    if (!above || !isBefore(event, above)) break;
    heap[at] = above;
    at = (at - 1) >> 1;
  }
  heap[at] = event;
}

/** Takes the first event off a binary heap. */
function pop(heap: Event[]): Event | undefined {
  const [first] = heap;
  const last = heap.pop();
  if (!first || !last || heap.length === 0) return first;
  let at = 0;
  for (;;) {
    const left = 2 * at + 1;
    const right = heap[left + 1];
    const next = right && heap[left] && isBefore(right, heap[left]) ? left + 1 : left;
    const below = heap[next];
    if (!below || !isBefore(below, last)) break;
    heap[at] = below;
    at = next;
  }
  heap[at] = last;
  return first;
}
