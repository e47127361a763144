import { SluiceError } from '@sluice/core';
import { simulatedDisk, type SimulatedDisk } from '../../packages/core/test/node/simulatedDisk.js';
import { powerCuts, restarted } from './disk.js';
import { Exchanges } from './exchanges.js';
import { Refetches } from './refetches.js';
import type { RunningJob } from './job.js';
import { jobOf } from './jobs.js';
import { LimitOracle } from './limitOracle.js';
import { Network, type NetworkFaults } from './network.js';
import { PagesInMemory } from './pagesInMemory.js';
import type { Platform } from './platform.js';
import { type PlayableWorld, type Played, playedIn } from './played.js';
import { type Process, startProcess, Stopped, type Surroundings } from './processes.js';
import { QuotaOracle } from './quota.js';
import { isRepeated, RepeatsOracle } from './repeats.js';
import { Random } from '../../test/kit/random.js';
import { Life, Schedule } from './schedule.js';
import type { Kill, Scenario } from './scenario.js';
import { addresses, apiKey, Apis, tokenPrefix } from './services.js';
import { Store } from './store.js';
import { Trace } from './trace.js';

/** What became of a process. */
interface Outcome {
  isSettled: boolean;
  isDone: boolean;
  error: unknown;
}

/** As exportJob asks for. */
const prefetch = 1;

/** Runs beyond the kills, in which faults go on; and then as many without any, in which the work must come to its end. */
const spareRuns = 6;

/**
 * Ms after which what a process has is committed, if nothing else says when: a second, and up to 20 after a commit that
 * took long. Without the time in which the connection to its database was lost.
 */
const longestToCommit = 25_000;

/** Ms that an attempt may take, its body included (T3). */
const longestAttempt = 30_000;

/** Clocks are sums of fractions. */
const rounding = 1e-6;

/** Ms in which a process that is stopped has ended (T4): it waits for nothing but its disk. */
const longestStop = 5_000;

const quietNetwork: NetworkFaults = {
  lost: 0,
  unanswered: 0,
  cut: 0,
  slow: 0,
  parts: 0,
  broken: 0,
  busy: 0,
  limited: 0,
  stale: 0,
  outages: [],
};

/** How connections open is no fault. */
function connectionsIn({ opening }: NetworkFaults): Pick<NetworkFaults, 'opening'> {
  return opening === undefined ? {} : { opening };
}

/** Plays a world to its end. */
export async function play(scenario: Scenario, platform: Platform, { keepTrace = false } = {}): Promise<Played> {
  return playedIn(new World(scenario, platform, keepTrace), platform);
}

class World implements PlayableWorld {
  readonly schedule: Schedule;
  readonly violations: string[] = [];
  kills = 0;
  failures = 0;
  requests = 0;
  readonly #scenario: Scenario;
  readonly #apis: Apis;
  readonly #job: RunningJob;
  readonly #store: Store | undefined;
  readonly #limits: LimitOracle;
  readonly #quotas: QuotaOracle;
  readonly #repeats: RepeatsOracle;
  readonly #fetched = new Refetches();
  readonly #pages = new Map<Life, PagesInMemory>();
  readonly #exchanges = new Map<Life, Exchanges>();
  readonly #lives = new Map<string, Life>();
  readonly #stopped = new Set<Life>();
  readonly #disks: Random;
  #disk: SimulatedDisk;
  #isQuiet = false;

  constructor(scenario: Scenario, platform: Platform, keepTrace: boolean) {
    this.#scenario = scenario;
    this.schedule = new Schedule(new Trace({ keep: keepTrace }), this.random('order'), platform.turn);
    this.#apis = new Apis(scenario.api, () => this.schedule.now);
    this.#limits = new LimitOracle(scenario.limit, (what) => this.violations.push(what));
    this.#quotas = new QuotaOracle(scenario.api.quota, (what) => this.violations.push(what));
    this.#repeats = new RepeatsOracle((what) => this.violations.push(what));
    this.#disks = this.random('disk');
    this.#disk = simulatedDisk();
    this.#disk.putFolder('/data');
    const { store } = scenario;
    this.#store =
      store &&
      new Store(store, { schedule: this.schedule, random: this.random('store') }, (statements) =>
        this.#job.onCommit?.(statements),
      );
    const storeOf = (): Store => {
      if (!this.#store) throw new Error('This world has no store.');
      return this.#store;
    };
    this.#job = jobOf(scenario, this.#apis, storeOf, () => this.schedule.now);
  }

  random(subject: string): Random {
    return new Random(`${this.#scenario.seed} ${subject}`);
  }

  /** Ms by which the wall clock is off now. */
  readonly wallOffset = (): number =>
    this.#scenario.clockSteps.reduce((sum, [at, by]) => (at <= this.schedule.now ? sum + by : sum), 0);

  async play(): Promise<void> {
    const kills = [...this.#scenario.kills];
    this.#job.begin?.(this.schedule);
    for (let n = 1; ; n += 1) {
      this.#isQuiet = n > this.#scenario.kills.length + spareRuns;
      if (this.#isQuiet) {
        this.#apis.quieten();
        this.#store?.quieten();
      }
      if (n > this.#scenario.kills.length + 2 * spareRuns) {
        this.violations.push('It does not come to its end, though nothing disturbs it any more.');
        return;
      }
      const isOver = await this.#run(`run ${n}`, kills.shift());
      this.violations.push(...(this.#job.wrongInPlace?.(this.#disk) ?? []), ...(this.#job.wrongSoFar ?? []));
      if (isOver || this.violations.length > 0) break;
    }
    this.#checkKey();
    this.#checkFetched();
    this.#checkMemory();
    if (this.violations.length === 0) this.violations.push(...this.#job.judge(this.#disk));
  }

  end(): void {
    for (const life of this.#lives.values()) life.isAlive = false;
    this.#store?.end();
  }

  /** One process, or two that want the same, until they end or are killed. Answers whether the work is done. */
  async #run(name: string, kill: Kill | undefined): Promise<boolean> {
    this.#fetched.begin();
    this.#job.onStart?.(this.#disk);
    const { job } = this.#scenario;
    const hasRival = 'rival' in job && job.rival;
    const processes: { readonly process: Process; readonly outcome: Outcome }[] = [];
    for (const each of hasRival ? [name, `${name}b`] : [name]) {
      const process = this.#start(each);
      processes.push({ process, outcome: this.#outcomeOf(process) });
      // Until it waits for something, it is this one's code that runs.
      await this.schedule.settle();
    }
    const [first] = processes;
    const isDue = killDue(kill, first?.process.life);
    const areSettled = (): boolean => processes.every(({ outcome }) => outcome.isSettled);
    await this.schedule.until((last) => areSettled() || isDue(last));
    if (!areSettled() && kill) {
      if (kill.leaves !== 'stopped') {
        await this.#kill(
          processes.map(({ process }) => process),
          kill.leaves,
        );
        return false;
      }
      const stopped = this.schedule.now;
      for (const { process } of processes) this.#stop(process);
      await this.schedule.until(areSettled);
      const took = this.schedule.now - stopped;
      // A poll ends when its consumer leaves it.
      if (took > longestStop && job.kind !== 'poll')
        this.violations.push(`${name} took ${took} ms to stop, and ${longestStop} may be.`);
    }
    // Bottleneck gives a permit back in a timer without delay.
    await this.schedule.finishMoment();
    for (const { process, outcome } of processes) this.#checkEnd(process, outcome);
    if (processes.every(({ outcome }) => !outcome.isDone) && this.#disks.chance(0.5)) this.#cutPower();
    return this.violations.length > 0 || processes.some(({ outcome }) => outcome.isDone);
  }

  /** A process that has ended must have nothing left to do, and a reason if it failed. */
  #checkEnd({ life, disk }: Process, { error }: Outcome): void {
    life.isAlive = false;
    const exchanges = this.#exchangesOf(life);
    this.schedule.note(error === undefined ? 'done' : `failed: ${sentenceOf(error)}`, life);
    const left = this.schedule.pendingOf(life);
    if (left.length > 0) this.violations.push(`${life.name} ended, and ${left.join(', ')} was left.`);
    if (exchanges.underWay > 0)
      this.violations.push(`${life.name} ended, and ${exchanges.underWay} requests were under way.`);
    const { opened } = disk;
    if (opened.length > 0) this.violations.push(`${life.name} ended, and ${opened.join(', ')} was open.`);
    const connections = this.#store?.openOf(life) ?? 0;
    if (connections > 0) this.violations.push(`${life.name} ended, and ${connections} connections were open.`);
    this.#checkLocks(life);
    if (this.#endsAtRepeat) this.#repeats.ended(life, error);
    if (error === undefined) return;
    this.failures += 1;
    const sentence = sentenceOf(error);
    if (hasSecret(sentence)) this.violations.push(`The key is in an error: ${sentence}`);
    if (error instanceof Stopped && this.#stopped.has(life)) return;
    if (!this.#isExplained(error, life)) this.violations.push(`${life.name} failed: ${sentence}`);
  }

  /** Who ends by itself leaves no lock behind, unless the disk refuses to clear it away. */
  #checkLocks({ name }: Life): void {
    if (this.#scenario.disk.io > 0) return;
    for (const path of this.#disk.paths())
      if (path.includes('/lock-') && this.#disk.text(path)?.includes(`"startedAt":"${name}"`))
        this.violations.push(`${name} ended, and ${path} is still there.`);
  }

  #start(name: string): Process {
    const life = new Life(name);
    this.#lives.set(name, life);
    this.schedule.current = life;
    const quiet = { ...this.#scenario, disk: { io: 0, full: 0 } };
    const scenario = this.#isQuiet ? quiet : this.#scenario;
    const { schedule } = this;
    const began = schedule.now;
    const pages = this.#pagesOf(life);
    const exchanges = this.#exchangesOf(life);
    const { isPage = () => true } = this.#job;
    const pageOf = ({ pathname, search }: URL): string => pathname + search;
    const network = new Network(
      {
        schedule,
        random: this.random(`${name} network`),
        faults: this.#isQuiet ? { ...quietNetwork, ...connectionsIn(scenario.network) } : scenario.network,
        tap: {
          onSend: (url, sent) => {
            const { host } = url;
            this.requests += 1;
            exchanges.sent(sent);
            if (host !== addresses.api) {
              const { mostUnderWay = Infinity } = this.#job;
              if (sent.underWay > mostUnderWay)
                this.violations.push(`${sent.underWay} requests to ${host} were under way, and ${mostUnderWay} may.`);
              return;
            }
            this.#apis.sent(url);
            if (this.#endsAtRepeat) {
              const mayBegin = this.#isRefreshed && !url.searchParams.has('cursor');
              this.#repeats.sent(life, schedule.now, mayBegin);
            }
            this.#job.onSend?.(url, sent.request);
            if (isPage(url) && !this.#job.isPublished?.()) this.#fetched.requested(pageOf(url));
          },
          onWrite: ({ host }, sent) => {
            if (host === addresses.api) this.#limits.sent(sent);
            else this.#limits.sentFreely(sent);
          },
          onArrival: ({ host }, life) => {
            // Where nothing says how long connections take to open, the first requests are slower on their way.
            if (host === addresses.api && scenario.network.opening !== undefined)
              this.#limits.arrived(life, schedule.now);
          },
          onAnswer: (url, answer) => {
            const { status } = answer;
            this.#quotas.got(life, began, answer);
            if (url.host === addresses.api) {
              this.#apis.got(url, answer);
              this.#job.onAnswer?.(url, answer);
            }
            this.#repeats.got(life, answer, schedule.now);
            if (status !== 200 || url.host !== addresses.api || !isPage(url) || isRepeated(answer)) return;
            this.#fetched.got(pageOf(url), schedule.now);
            pages.arrived();
          },
          onEnd: ({ host }, name, outcome, took) => {
            if (took > longestAttempt + rounding)
              this.violations.push(`A request was under way for ${took} ms, and ${longestAttempt} may be.`);
            exchanges.ended(host, name, outcome, schedule.now);
          },
        },
      },
      new Map([[addresses.api, this.#apis.answer], ...(this.#job.services ?? [])]),
    );
    const world: Surroundings = {
      schedule,
      scenario,
      disk: this.#disk,
      running: this.#lives,
      wallOffset: this.wallOffset,
      random: this.random(`${name} process`),
      adapterOf: (of) => network.adapterOf(of),
    };
    return startProcess(life, world);
  }

  #outcomeOf(process: Process): Outcome {
    const outcome: Outcome = { isSettled: false, isDone: false, error: undefined };
    this.#job
      .run(process, { isLast: this.#isQuiet, pages: this.#pagesOf(process.life) })
      .finally(() => process.client.close())
      .then(
        (isDone) => Object.assign(outcome, { isSettled: true, isDone }),
        (error: unknown) => Object.assign(outcome, { isSettled: true, error: error ?? 'nothing' }),
      );
    return outcome;
  }

  #pagesOf(life: Life): PagesInMemory {
    const pages = this.#pages.get(life) ?? new PagesInMemory();
    this.#pages.set(life, pages);
    return pages;
  }

  #exchangesOf(life: Life): Exchanges {
    const exchanges =
      this.#exchanges.get(life) ??
      new Exchanges((what) => this.violations.push(what), this.#isWalkedAgain || this.#isRefreshed || this.#mayMove);
    this.#exchanges.set(life, exchanges);
    return exchanges;
  }

  #stop({ life, stop }: Process): void {
    this.#stopped.add(life);
    this.schedule.note('stopped', life);
    stop();
  }

  async #kill(processes: readonly Process[], leaves: Exclude<Kill['leaves'], 'stopped'>): Promise<void> {
    this.kills += 1;
    const lost = processes.map(({ life }) => this.#store?.lostFor(life) ?? 0);
    this.#fetched.end(this.schedule.now, Math.max(0, ...lost));
    for (const { life } of processes) {
      life.isAlive = false;
      this.#store?.killed(life);
    }
    this.schedule.note(`killed: ${leaves}`);
    this.schedule.current = null;
    for (const { disk } of processes) await disk.abandon();
    await this.schedule.settle();
    this.#disk = restarted(this.#disk, leaves, this.#disks);
  }

  /** Between two runs: what the last one has put in order must stay so. */
  #cutPower(): void {
    const leaves = this.#disks.pick(powerCuts);
    this.schedule.note(`power cut: ${leaves}`);
    this.#disk = restarted(this.#disk, leaves, this.#disks);
  }

  #checkKey(): void {
    for (const path of this.#disk.paths())
      if (hasSecret(this.#disk.text(path) ?? '')) this.violations.push(`The key is in ${path}.`);
  }

  /** E4, where it says a number and nothing else makes pages come again. */
  #checkFetched(): void {
    const { job, disk } = this.#scenario;
    if (job.kind !== 'children' && job.kind !== 'export' && job.kind !== 'table') return;
    if (('gzip' in job && job.gzip) || ('rival' in job && job.rival)) return;
    // Another export requests the pages again.
    if (job.kind === 'table' && job.exports > 1) return;
    if (this.#isWalkedAgain || disk.io + disk.full > 0) return;
    // A run whose page is repeated is given up for a new one.
    if (this.#isRefreshed && this.#scenario.api.repeats) return;
    if (job.commitEvery === undefined) this.violations.push(...this.#fetched.judgeTime(longestToCommit));
    else this.violations.push(...this.#fetched.judge(job.commitEvery + job.concurrency * (prefetch + 1)));
  }

  /** Whether a partition may start over, as its cursor expired or its rows are gone. */
  get #isWalkedAgain(): boolean {
    const { job, api } = this.#scenario;
    // A run that is too old to resume walks all of it again.
    if (job.kind === 'nights' || job.kind === 'days') return true;
    return api.cursorTtl !== null || (job.kind === 'children' && job.parents.some(({ goneAt = 0 }) => goneAt > 0));
  }

  /** Whether a partition may start over in an export of what is new, as rows moved between its pages. */
  get #mayMove(): boolean {
    const { job } = this.#scenario;
    if (job.kind === 'days') return job.walk !== 'one page';
    return job.kind === 'increment' && (job.order === 'offsets' || job.order === 'newest-first');
  }

  /** Whether the job brings a table up to date, so that a run which can't be resumed is given up for a new one. */
  get #isRefreshed(): boolean {
    const { job } = this.#scenario;
    return job.kind === 'table' && (job.mode === 'merge' || job.mode === 'replace');
  }

  /** Whether a process ends when it is sent a page again: a watch counts that as a failed poll. */
  get #endsAtRepeat(): boolean {
    return this.#scenario.job.kind !== 'watch' && this.#scenario.job.kind !== 'mirror';
  }

  /** P2 */
  #checkMemory(): void {
    const { job } = this.#scenario;
    // The pages of a partition that is walked again are dropped, not written.
    if ((job.kind !== 'export' && job.kind !== 'children' && job.kind !== 'table') || this.#isWalkedAgain) return;
    const bound = job.concurrency + prefetch;
    for (const [{ name }, { most }] of this.#pages)
      if (most > bound) this.violations.push(`${name} had ${most} pages in memory, and ${bound} may be.`);
  }

  /** Whether the faults of this world are a reason for an error. */
  #isExplained(error: unknown, life: Life): boolean {
    if (!SluiceError.is(error)) return false;
    const { network, disk, api, job, clockSteps } = this.#scenario;
    if (error.code === 'lock') return ('rival' in job && job.rival) || this.#store?.explains(life, error.code) === true;
    // Its rival may break its lock before it knows that it has it.
    const isBroken = 'rival' in job && job.rival && this.#scenario.store?.breakLock === true;
    if (error.code === 'sink' && error.message.includes('(57P01)') && isBroken) return true;
    // A later page may be refused, and the first one not any more.
    const isRefused = job.kind === 'increment' && job.tables?.some(({ refused }) => refused) === true;
    if (error.code === 'cursor-refused') return api.cursorTtl !== null;
    if (error.code === 'http' && (error.details['page'] !== undefined || error.details['status'] === 404))
      return isRefused;
    if (error.code === 'checkpoint' && error.message.includes('with different settings'))
      return job.kind === 'table' && job.rival && job.exports > 1 && (job.mode === 'merge' || job.mode === 'replace');
    // A run that resumes may find that rows have moved since, although they stand still now.
    const order = job.kind === 'increment' ? job.order : undefined;
    if (error.code === 'rows-moved') return this.#mayMove && error.message.includes('started over 3 times');
    if (error.code === 'no-progress' && (order === 'any' || order === 'newest-first')) return true;
    if (this.#isQuiet) return false;
    const exchanges = this.#exchangesOf(life);
    switch (error.code) {
      case 'network':
        // Connections that take seconds to open, while others take those that are open, outlast ten permits.
        if (error.message.includes('ten permits in a row')) return (network.opening ?? 0) > 1_000;
        return this.#mayGiveUp(exchanges);
      case 'timeout':
      case 'http':
        return this.#mayGiveUp(exchanges);
      case 'rate-limited':
        // By a clock that was set, a date may be far away.
        return this.#mayGiveUp(exchanges) || (network.limited > 0 && clockSteps.length > 0);
      case 'decode':
        // Nothing but a cut is tried again until the time for tries is over.
        return (
          network.cut + network.broken > 0 &&
          error.message.includes('broke off before its end') &&
          this.#mayGiveUp(exchanges)
        );
      case 'no-progress':
        // Rows that moved by a page between two requests look like a page that is repeated.
        return (
          (this.#endsAtRepeat && this.#repeats.has(life)) ||
          (job.kind === 'poll' && job.changes.some(({ what }) => what !== 'rename'))
        );
      case 'sink':
      case 'checkpoint':
        return disk.io > 0 || disk.full > 0 || this.#store?.explains(life, error.code) === true;
      default:
        return false;
    }
  }

  /** T9: an outage is retried for a minute, and in a watch for ever. */
  #mayGiveUp(exchanges: Exchanges): boolean {
    const { job } = this.#scenario;
    const isWatched =
      job.kind === 'watch' ||
      job.kind === 'mirror' ||
      job.kind === 'lives' ||
      (job.kind === 'forward' && job.of === 'changes');
    return exchanges.mayGiveUp((host) => !(isWatched && host === addresses.api));
  }
}

/** Whether a text has the key, or a token. */
function hasSecret(text: string): boolean {
  return text.includes(apiKey) || text.includes(tokenPrefix);
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/** Says when it is time for a kill, asked after each event. */
function killDue(kill: Kill | undefined, life: Life | undefined): (last: string) => boolean {
  if (!kill || !life) return () => false;
  if ('events' in kill) return () => life.events >= kill.events;
  const [name = '', part = ''] = kill.at.split(' ');
  let met = 0;
  let due = Infinity;
  return (last) => {
    const isMet =
      last.startsWith(name === 'db' ? 'db ' : `disk ${name} `) &&
      last.endsWith(' done') === kill.isDone &&
      last.slice(name.length).includes(part);
    if (isMet && (met += 1) === kill.nth) due = life.events + kill.later;
    return life.events >= due;
  };
}
