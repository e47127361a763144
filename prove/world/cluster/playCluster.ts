import { ConfigError, SluiceError } from '@sluice/core';
import { LimiterUnavailableError } from '@sluice/cluster';
import { encodeLimits } from '../../../packages/cluster/src/limiter/decodeLimits.js';
import { SharedLimiter } from '../../../packages/cluster/src/limiter/sharedLimiter.js';
import { simulatedDisk, type SimulatedDisk } from '../../../packages/core/test/node/simulatedDisk.js';
import { Random } from '../../../test/kit/random.js';
import { restarted } from '../disk.js';
import { LimitOracle } from '../limitOracle.js';
import { Network } from '../network.js';
import type { Platform } from '../platform.js';
import { type PlayableWorld, type Played, playedIn } from '../played.js';
import { clockOf, type Process, startProcess, Stopped } from '../processes.js';
import { Life, Schedule } from '../schedule.js';
import { addresses, apiKey, Apis } from '../services.js';
import { Trace } from '../trace.js';
import { ClusterJob } from './clusterJob.js';
import type { ClusterScenario, Disturbance } from './clusterScenario.js';
import { RedisGone, WorldRedis } from './redis.js';

/** Ms in which a worker that is asked to stop has ended: it may wait for Redis to save a hint, and as its limiter closes. */
const longestStop = 10_000 + 5_000 + 1_000;

/** Ms that a limiter waits for Redis, without the call that it makes at the end of them. */
const longestCall = 25_000;

/** Plays a world of several machines to its end. */
export async function playCluster(
  scenario: ClusterScenario,
  platform: Platform,
  { keepTrace = false } = {},
): Promise<Played> {
  return playedIn(new ClusterWorld(scenario, platform, keepTrace), platform);
}

/** What the processes of a seat do. */
type Task = (process: Process, random: Random) => Promise<void>;

/** One process after another does the same, until one of them has done all of it. */
interface Seat {
  readonly name: string;
  readonly task: Task;
  /** Who is in it; nobody until the next one starts. */
  process: Process | undefined;
  /** How the process ended. */
  ended: { readonly error?: unknown } | undefined;
  stoppedAt: number | undefined;
  processes: number;
  isDone: boolean;
}

class ClusterWorld implements PlayableWorld {
  readonly schedule: Schedule;
  readonly violations: string[] = [];
  kills = 0;
  failures = 0;
  requests = 0;
  readonly #scenario: ClusterScenario;
  readonly #redis: WorldRedis;
  readonly #job: ClusterJob;
  readonly #apis: Apis;
  readonly #limits: LimitOracle;
  readonly #random: Random;
  readonly #lives = new Map<string, Life>();
  /** Processes whose requests have failed. How long they are tried again (T9) is judged with one machine. */
  readonly #failing = new Set<Life>();
  readonly #disturbances: Disturbance[];
  /** Somebody clears away, so nobody may work. */
  #isCleaned = false;
  #isDue: (last: string) => boolean = () => false;
  #disk: SimulatedDisk = simulatedDisk();

  constructor(scenario: ClusterScenario, platform: Platform, keepTrace: boolean) {
    this.#scenario = scenario;
    this.schedule = new Schedule(new Trace({ keep: keepTrace }), this.random('order'), platform.turn);
    const { schedule } = this;
    const violated = (what: string): void => {
      // The first sentences say enough.
      if (this.violations.length < 5) this.violations.push(what);
    };
    this.#apis = new Apis(scenario.api, () => schedule.now);
    this.#limits = new LimitOracle(scenario.limit, violated, { isShared: true });
    this.#redis = new WorldRedis(scenario.redis, {
      schedule,
      random: this.random('redis'),
      violated,
      onBlind: () => this.#limits.forget(),
    });
    this.#job = new ClusterJob(scenario, this.#apis, this.#redis, violated);
    this.#random = this.random('disturbances');
    this.#disturbances = [...scenario.disturbances];
    this.#disk.putFolder('/data');
    this.#awaitDisturbance();
  }

  random(subject: string): Random {
    return new Random(`${this.#scenario.seed} ${subject}`);
  }

  /** Ms by which the wall clock is off now. */
  readonly wallOffset = (): number =>
    this.#scenario.clockSteps.reduce((sum, [at, by]) => (at <= this.schedule.now ? sum + by : sum), 0);

  async play(): Promise<void> {
    const { submitters, workers, hasOperator } = this.#scenario;
    const job = this.#job;
    const submit = (process: Process): Promise<void> => job.submit(process);
    const work: Task = (process, random) =>
      job.work(process, random, (error) => {
        this.failures += 1;
        return this.#isExplained(error, process.life);
      });
    const operate: Task = (process, random) => job.operate(process, random);
    await this.#phase(Array.from({ length: submitters }, (_, nth) => [`submit ${nth + 1}`, submit]));
    await this.#phase([
      ...Array.from({ length: workers }, (_, nth) => [`worker ${nth + 1}`, work] as const),
      ...(hasOperator ? [['operator', operate] as const] : []),
    ]);
    await this.#phase([['merge', (process) => job.merge(process)]]);
    for (const path of this.#disk.paths())
      if (this.#disk.text(path)?.includes(apiKey)) this.violations.push(`The key is in ${path}.`);
    if (this.violations.length === 0) job.judge(this.#disk);
  }

  end(): void {
    for (const life of this.#lives.values()) life.isAlive = false;
  }

  /** Processes at the same time, until each seat has done what it is for. */
  async #phase(tasks: readonly (readonly [name: string, task: Task])[]): Promise<void> {
    if (this.violations.length > 0) return;
    const seats = tasks.map(([name, task]) => seatOf(name, task));
    for (const seat of seats) this.#startIn(seat, this.#random.next());
    const hasEnded = (): boolean => seats.some(({ ended }) => ended);
    while (this.violations.length === 0 && seats.some(({ isDone }) => !isDone)) {
      const next = { isDue: false };
      await this.schedule.until((last) => {
        next.isDue = this.#isDue(last);
        return next.isDue || hasEnded() || this.violations.length > 0;
      });
      const doer = this.schedule.current;
      if (hasEnded()) await this.#see(seats);
      if (next.isDue) await this.#disturb(seats, doer);
    }
  }

  /** Those that have ended have nothing left to do, and a reason if they failed; then somebody else goes on. */
  async #see(seats: readonly Seat[]): Promise<void> {
    // Bottleneck gives a permit back in a timer without delay.
    await this.schedule.finishMoment();
    for (const seat of seats) {
      const { process, ended, stoppedAt } = seat;
      if (!process || !ended) continue;
      this.#checkEnd(process, ended.error, stoppedAt);
      seat.process = undefined;
      seat.ended = undefined;
      if (ended.error === undefined) seat.isDone = true;
      else this.#startIn(seat, this.#random.next() * 3_000);
    }
  }

  #checkEnd({ life, disk }: Process, error: unknown, stoppedAt: number | undefined): void {
    const { schedule, violations } = this;
    life.isAlive = false;
    schedule.note(error === undefined ? 'done' : `failed: ${sentenceOf(error)}`, life);
    // A walk that was cancelled may still read rows, which nobody waits for.
    const isRead = (path: string): boolean => life.name.startsWith('merge') && path.includes('/data/run/rows/');
    const pending = schedule.pendingOf(life);
    const left = pending.filter((label) => !isRead(label));
    const isReading = pending.length > left.length;
    if (left.length > 0) violations.push(`${life.name} ended, and ${left.join(', ')} was left.`);
    const opened = disk.opened.filter((path) => !(isReading && isRead(path)));
    if (opened.length > 0) violations.push(`${life.name} ended, and ${opened.join(', ')} was open.`);
    if (error === undefined) return;
    this.failures += 1;
    if (sentenceOf(error).includes(apiKey)) violations.push(`The key is in an error: ${sentenceOf(error)}`);
    if (stoppedAt !== undefined) {
      const took = schedule.now - Math.max(stoppedAt, life.stoppedUntil);
      if (took > longestStop) violations.push(`${life.name} took ${took} ms to stop, and ${longestStop} may be.`);
      if (error instanceof Stopped) return;
    }
    if (!this.#isExplained(error, life)) violations.push(`${life.name} failed: ${sentenceOf(error)}`);
  }

  #startIn(seat: Seat, ms: number): void {
    const start = (): void => {
      if (this.#isCleaned) this.schedule.after(100, 'wait', start, null);
      else this.#start(seat);
    };
    this.schedule.after(ms, 'start', start, null);
  }

  #start(seat: Seat): void {
    seat.processes += 1;
    const life = new Life(`${seat.name}.${seat.processes}`);
    this.#lives.set(life.name, life);
    const { schedule } = this;
    schedule.current = life;
    schedule.note('begins', life);
    const process = this.#processOf(life);
    seat.process = process;
    seat.stoppedAt = undefined;
    seat
      .task(process, this.random(`${life.name} choices`))
      .finally(() => process.client.close())
      .then(
        () => (seat.ended = {}),
        (error: unknown) => (seat.ended = { error: error ?? 'nothing' }),
      );
  }

  #processOf(life: Life): Process {
    const { schedule } = this;
    const { network: faults, limit, disk } = this.#scenario;
    const network = new Network(
      {
        schedule,
        random: this.random(`${life.name} network`),
        faults,
        tap: {
          onSend: () => (this.requests += 1),
          onWrite: (_, sent) => this.#limits.sent(sent),
          onAnswer: (url, answer) => {
            this.#apis.got(url, answer);
          },
          onEnd: (_url, _name, outcome) => {
            if (outcome !== 200) this.#failing.add(life);
          },
        },
      },
      new Map([[addresses.api, this.#apis.answer]]),
    );
    const surroundings = {
      schedule,
      scenario: { limit, disk },
      disk: this.#disk,
      running: this.#lives,
      random: this.random(`${life.name} process`),
      adapterOf: (of: Life) => network.adapterOf(of),
      wallOffset: this.wallOffset,
    };
    const limiter = new SharedLimiter({
      name: 'api',
      limits: encodeLimits([limit]),
      concurrency: limit.concurrency,
      clock: clockOf(life, surroundings),
      worker: life.name,
      access: this.#redis.bookOf(life),
      waitForBook: 30_000,
      maxPause: 60_000,
    });
    return startProcess(life, surroundings, limiter);
  }

  async #disturb(seats: readonly Seat[], doer: Life | null): Promise<void> {
    const [next] = this.#disturbances.splice(0, 1);
    this.#awaitDisturbance();
    const working = seats.filter(({ process, ended }) => process?.life.isAlive && !ended);
    const [first, ...others] = working;
    if (!next || !first) return;
    const seat = working.find(({ process }) => process?.life === doer) ?? this.#random.pick([first, ...others]);
    const { process } = seat;
    if (!process) return;
    switch (next.what) {
      case 'freeze':
        process.life.stoppedUntil = Math.max(process.life.stoppedUntil, this.schedule.now + next.during);
        this.schedule.note(`stands still for ${next.during} ms`, process.life);
        return;
      case 'stop':
        seat.stoppedAt ??= this.schedule.now;
        this.schedule.note('stopped', process.life);
        process.stop();
        return;
      case 'kill':
        this.#kill(seat, process);
        await this.#abandon([process]);
        return;
      case 'power cut': {
        const processes = seats.flatMap(({ process: each }) => each ?? []);
        for (const each of seats) if (each.process) this.#kill(each, each.process);
        await this.#abandon(processes);
        this.schedule.note(`power cut: ${next.leaves}`, null);
        this.#disk = restarted(this.#disk, next.leaves, this.#random);
        this.#job.judgeDone(this.#disk);
        if (this.#scenario.hasOperator && working.some(({ name }) => name.startsWith('worker'))) await this.#clean();
      }
    }
  }

  /** Somebody clears away what nothing refers to now, before anybody works again. Hints of it may come back. */
  async #clean(): Promise<void> {
    const seat = seatOf(`clean after ${this.kills}`, (process) => this.#job.clean(process));
    this.#isCleaned = true;
    this.#start(seat);
    await this.schedule.until(() => seat.ended !== undefined);
    await this.schedule.finishMoment();
    this.#isCleaned = false;
    const { process, ended } = seat;
    // Without Redis nobody knows what may be continued.
    const error = ended?.error instanceof RedisGone ? undefined : ended?.error;
    if (process) this.#checkEnd(process, error, undefined);
  }

  #kill(seat: Seat, { life }: Process): void {
    this.kills += 1;
    this.schedule.note('killed', life);
    life.isAlive = false;
    seat.process = undefined;
    seat.ended = undefined;
    this.#startIn(seat, this.#random.next() * 3_000);
  }

  async #abandon(processes: readonly Process[]): Promise<void> {
    this.schedule.current = null;
    for (const { disk } of processes) await disk.abandon();
    await this.schedule.settle();
  }

  /** Says when it is time for the next disturbance, asked after each event. */
  #awaitDisturbance(): void {
    const [next] = this.#disturbances;
    const { schedule } = this;
    const began = schedule.happened;
    let met = 0;
    let due = next && 'events' in next ? began + next.events : Infinity;
    this.#isDue = (last) => {
      if (!next) return false;
      if ('at' in next) {
        const [start, part] = next.at;
        const isMet = last.startsWith(start) && last.includes(part) && last.endsWith(' done') === next.isDone;
        if (isMet && (met += 1) === next.nth) due = schedule.happened + next.later;
      }
      return schedule.happened >= due;
    };
  }

  /** Whether the faults of this world are a reason for an error. */
  #isExplained(error: unknown, life: Life): boolean {
    const { network, disk, api, redis, clockSteps } = this.#scenario;
    if (error instanceof LimiterUnavailableError)
      return redis.events.some((event) => event.what === 'down' && event.during > longestCall);
    if (!SluiceError.is(error) || error instanceof ConfigError) return false;
    const hasTried = this.#failing.has(life);
    switch (error.code) {
      case 'cursor-refused':
        return api.cursorTtl !== null;
      case 'network':
      case 'timeout':
      case 'http':
        return hasTried;
      case 'rate-limited':
        // By a clock that was set, a date may be far away.
        return hasTried || (network.limited > 0 && clockSteps.length > 0);
      case 'decode':
        return network.cut + network.broken > 0 && error.message.includes('broke off before its end') && hasTried;
      case 'sink':
      case 'checkpoint':
        return disk.io > 0 || disk.full > 0;
      default:
        return false;
    }
  }
}

function seatOf(name: string, task: Task): Seat {
  return { name, task, process: undefined, ended: undefined, stoppedAt: undefined, processes: 0, isDone: false };
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
