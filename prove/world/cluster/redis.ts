import type { ProgressHints } from '@sluice/cluster';
import { answerCall, type LimiterBook } from '../../../test/kit/limiterTwin.js';
import type { LimiterBookAccess } from '../../../packages/cluster/src/limiter/limiterCall.js';
import type { Random } from '../../../test/kit/random.js';
import type { Life, Schedule } from '../schedule.js';
import { epoch } from '../platform.js';
import { apiKey } from '../services.js';

/** What becomes of Redis in a world. */
export interface RedisModel {
  /** Ms to it and back, most of the time. */
  readonly distance: number;
  /** As shares of all commands: they never arrive; their replies never do; they take long. */
  readonly lost: number;
  readonly unanswered: number;
  readonly slow: number;
  /** The share of hints that are read as they once were. */
  readonly stale: number;
  /** Ms that a replica, and the file on Redis' disk, are behind. */
  readonly lag: number;
  readonly events: readonly RedisEvent[];
}

/** What happens to Redis, in ms from the beginning. */
export type RedisEvent = { readonly at: number } &
  /** FLUSHALL; the limiter's key is evicted; a restart with an old file; a restart with none; a replica takes over. */
  (
    | { readonly what: 'flush' | 'evict' | 'restart' | 'restart empty' | 'failover' }
    | { readonly what: 'down'; readonly during: number }
    /** Somebody sets the clock. */
    | { readonly what: 'step'; readonly by: number }
  );

interface State {
  readonly at: number;
  /** The limiter's book, as text. */
  readonly book: string | undefined;
  readonly hints: ReadonlyMap<number, string>;
}

/** Ms after which a command that is not answered fails, as the driver has it. */
const socketTimeout = 10_000;

/** Ms within which most processes call again. */
const longestGap = 60_000;

/** A command that was not answered, as the driver says it. */
export class RedisGone extends Error {
  constructor() {
    super('Connection is closed.');
  }
}

/** One Redis that all workers of a world use: the limiter's book, by the twin of its script, and the hints of a run. */
export class WorldRedis {
  readonly #model: RedisModel;
  readonly #schedule: Schedule;
  readonly #random: Random;
  readonly #violated: (what: string) => void;
  #book: string | undefined;
  #hints = new Map<number, string>();
  /** All that each hint ever was. */
  readonly #older = new Map<number, string[]>();
  /** As old as a replica may be, and younger. */
  #states: State[] = [];
  #servers = 1;
  /** Of the server in charge, and of its replica. */
  #runIds: readonly [string, string] = ['server 1', 'replica 1'];
  /** Each gives the server in charge another replication id. */
  #failovers = 0;
  #stepped = 0;
  #step:
    | { readonly by: number; readonly openedAt: number | undefined; readonly heardBefore: ReadonlyMap<Life, number> }
    | undefined;
  /** When the log was opened of which a process heard last. */
  readonly #heard = new Map<Life, number>();
  readonly #onBlind: () => void;
  #downUntil = 0;
  /** How often its past became unknown. */
  losses = 0;

  constructor(
    model: RedisModel,
    world: {
      readonly schedule: Schedule;
      readonly random: Random;
      readonly violated: (what: string) => void;
      /** The clock was set, and a process gets permits that can't know it. */
      readonly onBlind: () => void;
    },
  ) {
    this.#model = model;
    this.#schedule = world.schedule;
    this.#random = world.random;
    this.#violated = world.violated;
    this.#onBlind = world.onBlind;
    for (const event of model.events)
      this.#schedule.after(event.at, `redis: ${event.what}`, () => this.#befall(event), null);
  }

  /** The limiter's book, as a process reaches it. */
  bookOf(life: Life): LimiterBookAccess {
    const underWay = new Set<(error: RedisGone) => void>();
    return {
      call: (call) =>
        this.#command(life, 'limit', underWay, () => {
          this.#checkKey(JSON.stringify(call));
          const time = 1_000 * epoch + Math.floor(1_000 * (this.#schedule.now + this.#stepped));
          const { book, reply } = answerCall(this.#read(), call, {
            time,
            runId: `${this.#runIds[0]} after ${this.#failovers}`,
          });
          this.#book = book && JSON.stringify(book);
          if (reply.granted > 0 && this.#isBlind(life, reply.openedAt)) this.#onBlind();
          this.#heard.set(life, reply.openedAt);
          return reply;
        }),
      isNeeded: () => undefined,
      close: () => {
        for (const refuse of underWay) refuse(new RedisGone());
      },
    };
  }

  /** The hints of the run, as a process reaches them. */
  hintsOf(life: Life): ProgressHints {
    const underWay = new Set<(error: RedisGone) => void>();
    return {
      load: (partition) =>
        this.#command(life, `hint of ${partition}`, underWay, (): unknown => {
          const older = this.#older.get(partition) ?? [];
          const isStale = older.length > 0 && this.#random.chance(this.#model.stale);
          const text = isStale ? older[this.#random.int(0, older.length - 1)] : this.#hints.get(partition);
          return text === undefined ? undefined : JSON.parse(text);
        }),
      save: (partition, hint) => {
        const text = JSON.stringify(hint);
        return this.#command(life, `hint of ${partition} saved`, underWay, () => {
          this.#checkKey(text);
          this.#older.set(partition, [...(this.#older.get(partition) ?? []), text]);
          this.#hints.set(partition, text);
        });
      },
      drop: (partition) =>
        this.#command(life, `hint of ${partition} dropped`, underWay, () => {
          this.#hints.delete(partition);
        }),
    };
  }

  #read(): LimiterBook | undefined {
    return this.#book === undefined ? undefined : JSON.parse(this.#book);
  }

  /**
   * Whether the clock was set since the log was opened, and the process has seen no earlier time of this log: then it can't
   * notice, unless the log seems older than the time since it last heard of another one.
   */
  #isBlind(life: Life, openedAt: number): boolean {
    if (this.#step?.openedAt !== openedAt) return false;
    const { by, heardBefore } = this.#step;
    if (heardBefore.get(life) === openedAt) return false;
    return !heardBefore.has(life) || Math.abs(by) < longestGap;
  }

  #checkKey(text: string): void {
    if (text.includes(apiKey)) this.#violated(`The key is in Redis: ${text.slice(0, 200)}`);
  }

  #befall(event: RedisEvent): void {
    const { lag } = this.#model;
    switch (event.what) {
      case 'down':
        this.#downUntil = Math.max(this.#downUntil, this.#schedule.now + event.during);
        return;
      case 'step':
        this.#step = { by: event.by, openedAt: this.#read()?.openedAt, heardBefore: new Map(this.#heard) };
        this.#stepped += event.by;
        return;
      case 'evict':
        this.#book = undefined;
        break;
      case 'flush':
        this.#return(undefined);
        break;
      case 'restart':
      case 'restart empty':
        this.#servers += 1;
        this.#runIds = [`server ${this.#servers}`, this.#runIds[1]];
        this.#return(event.what === 'restart' ? this.#stateBefore(this.#schedule.now - lag) : undefined);
        break;
      case 'failover':
        this.#runIds = [this.#runIds[1], this.#runIds[0]];
        this.#failovers += 1;
        this.#return(this.#stateBefore(this.#schedule.now - lag));
    }
    this.losses += 1;
    // What went before is nobody's any more: not that of a server that comes back.
    this.#states = [];
  }

  #return(state: State | undefined): void {
    this.#book = state?.book;
    this.#hints = new Map(state?.hints);
  }

  #stateBefore(time: number): State | undefined {
    return this.#states.findLast(({ at }) => at <= time) ?? this.#states[0];
  }

  #keepState(): void {
    const { now } = this.#schedule;
    this.#states.push({ at: now, book: this.#book, hints: new Map(this.#hints) });
    while ((this.#states[1]?.at ?? Infinity) <= now - this.#model.lag) this.#states.shift();
  }

  /** Carries a command out when it arrives; its reply comes later, or never. */
  #command<R>(life: Life, what: string, underWay: Set<(error: RedisGone) => void>, work: () => R): Promise<R> {
    const random = this.#random;
    const schedule = this.#schedule;
    const { distance, lost, unanswered, slow } = this.#model;
    const way = (): number => (random.chance(slow) ? random.next() * 1_500 : distance / 2 + random.skewed(0, distance));
    return new Promise((resolve, reject) => {
      if (!life.isAlive) return;
      underWay.add(reject);
      const end = (settle: () => void): void => {
        underWay.delete(reject);
        settle();
      };
      const fail = (ms: number): void => {
        schedule.after(ms, 'net redis reset', () => end(() => reject(new RedisGone())), life);
      };
      if (random.chance(lost)) {
        fail(random.chance(0.5) ? 1 : socketTimeout);
        return;
      }
      schedule.after(
        way(),
        `redis ${what}`,
        () => {
          if (schedule.now < this.#downUntil) {
            fail(1);
            return;
          }
          const result = work();
          this.#keepState();
          if (random.chance(unanswered)) fail(random.chance(0.5) ? 1 : socketTimeout);
          else schedule.after(way(), `net redis ${what}`, () => end(() => resolve(result)), life);
        },
        null,
      );
    });
  }
}
