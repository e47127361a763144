import { fork, type ChildProcess } from 'node:child_process';
import { bundled } from '../../../../scripts/bundled.js';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { Random } from '../../../../test/kit/random.js';
import { submitted, type Holdings } from './holdingsRun.js';
import { submittedTo, type TablePlace } from './postgresHoldings.js';
import type { FromWorker, ToWorker, WorkerOptions } from './children/messages.js';

interface DispatchOptions {
  readonly workers: number;
  readonly kills: number;
  readonly stops: number;
  readonly seed: number;
  readonly isUnfenced?: boolean;
  /** All workers get the same partition at once, and none hears of the others before it commits. */
  readonly isTogether?: boolean;
  /** Default: the folder of the holdings. */
  readonly place?: TablePlace;
}

/** What happened while partitions were dispatched at random. */
export interface DispatchReport {
  readonly kills: number;
  readonly stops: number;
  readonly hintsLost: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly failures: readonly string[];
  /** Partitions that two workers say they have committed. */
  readonly committedTwice: readonly number[];
}

/**
 * Lets processes work on a run without any dispatcher worth the name: partitions are given out at random, often the same
 * one to several, workers are killed, stopped and woken up, and hints are lost or older than they were.
 */
export async function dispatchAtRandom(holdings: Holdings, options: DispatchOptions): Promise<DispatchReport> {
  const run = await (options.place ? submittedTo(holdings, options.place) : submitted(holdings));
  const random = new Random(`${options.seed} dispatch`);
  const hints = new FickleHints(random);
  const crew = new Crew(holdings, options, random, hints);
  onTestEnd(() => crew.end());
  for (let isDone = false; !isDone;) {
    const pending: number[] = [];
    for await (const partition of run.pending()) pending.push(partition);
    // What two have committed may never be done.
    isDone = pending.length === 0 || crew.report.committedTwice.length > 0;
    const [first, ...rest] = pending;
    if (!isDone && first !== undefined) await crew.dispatch([first, ...rest]);
  }
  await crew.finish();
  return { ...crew.report, hintsLost: hints.lost };
}

/** Hints that are lost, or return to an older state, every now and then. */
class FickleHints {
  lost = 0;
  readonly #history = new Map<number, object[]>();
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  load(partition: number): object | undefined {
    const known = this.#history.get(partition) ?? [];
    if (known.length > 0 && this.#random.chance(0.3)) {
      this.lost += 1;
      return this.#random.chance(0.5) ? undefined : known[this.#random.int(0, known.length - 1)];
    }
    return known.at(-1);
  }

  save(partition: number, hint: object): void {
    this.#history.set(partition, [...(this.#history.get(partition) ?? []), hint]);
  }
}

interface Worker {
  readonly process: ChildProcess;
  isIdle: boolean;
  isStopped: boolean;
}

class Crew {
  readonly #holdings: Holdings;
  readonly #options: DispatchOptions;
  readonly #random: Random;
  readonly #hints: FickleHints;
  readonly #workers = new Set<Worker>();
  readonly #committed = new Map<number, number>();
  readonly #outcomes: Record<string, number> = {};
  readonly #failures: string[] = [];
  #kills = 0;
  #stops = 0;
  #isEnding = false;
  #wake: () => void = () => undefined;

  constructor(holdings: Holdings, options: DispatchOptions, random: Random, hints: FickleHints) {
    this.#holdings = holdings;
    this.#options = options;
    this.#random = random;
    this.#hints = hints;
    for (let nth = 0; nth < options.workers; nth += 1) this.#start();
  }

  get report(): Omit<DispatchReport, 'hintsLost'> {
    const committedTwice = [...this.#committed].flatMap(([partition, times]) => (times > 1 ? [partition] : []));
    const kills = this.#kills;
    const stops = this.#stops;
    return { kills, stops, outcomes: this.#outcomes, failures: this.#failures, committedTwice };
  }

  /** Gives each idle worker a partition, and waits until something happens. */
  async dispatch(pending: readonly [number, ...number[]]): Promise<void> {
    const { isTogether = false } = this.#options;
    const idle = [...this.#workers].filter((worker) => worker.isIdle);
    for (const worker of isTogether && idle.length < this.#options.workers ? [] : idle) {
      worker.isIdle = false;
      // Mostly one of the first, so that several have the same. Who never saves hears of the others when it commits.
      const nth = isTogether ? 0 : this.#random.int(0, Math.min(1, pending.length - 1));
      const saveEvery = isTogether || this.#random.chance(0.5) ? 60_000 : 5;
      this.#send(worker, { type: 'run', partition: pending[nth] ?? pending[0], saveEvery });
    }
    await this.#somethingHappens();
  }

  /** Wakes all that were stopped, and waits until nobody works any more. */
  async finish(): Promise<void> {
    this.#isEnding = true;
    for (const worker of this.#workers) this.#resume(worker);
    while ([...this.#workers].some(({ isIdle }) => !isIdle)) await this.#somethingHappens();
    this.end();
  }

  end(): void {
    this.#isEnding = true;
    for (const worker of this.#workers) {
      worker.process.removeAllListeners();
      worker.process.kill('SIGKILL');
    }
    this.#workers.clear();
  }

  #somethingHappens(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }

  #start(): void {
    const { runFolder: folder, sandbox } = this.#holdings;
    const { isUnfenced = false, place } = this.#options;
    const options: WorkerOptions = {
      folder,
      baseUrl: sandbox.aptosUrl,
      apiKey: sandbox.apiKey,
      isUnfenced,
      ...(place && { place }),
    };
    const child = fork(bundled(new URL('children/worker.ts', import.meta.url)), [JSON.stringify(options)]);
    const worker: Worker = { process: child, isIdle: false, isStopped: false };
    this.#workers.add(worker);
    child.on('message', (message: FromWorker) => {
      this.#hear(worker, message);
      this.#disturb(worker);
      this.#wake();
    });
    child.on('exit', () => {
      this.#workers.delete(worker);
      if (!this.#isEnding) this.#start();
      this.#wake();
    });
  }

  #hear(worker: Worker, message: FromWorker): void {
    switch (message.type) {
      case 'load':
        this.#send(worker, { type: 'hint', id: message.id, hint: this.#hints.load(message.partition) });
        break;
      case 'save':
        this.#hints.save(message.partition, message.hint);
        break;
      case 'drop':
        break;
      case 'ready':
        worker.isIdle = true;
        break;
      case 'outcome': {
        const { outcome, partition } = message;
        worker.isIdle = true;
        this.#outcomes[outcome] = (this.#outcomes[outcome] ?? 0) + 1;
        if (outcome === 'committed') this.#committed.set(partition, (this.#committed.get(partition) ?? 0) + 1);
        break;
      }
      case 'failed':
        worker.isIdle = true;
        this.#failures.push(message.message);
    }
  }

  /** Kills or stops a worker at a message, or wakes up another one. */
  #disturb(worker: Worker): void {
    if (this.#isEnding) return;
    const { kills, stops } = this.#options;
    const stopped = [...this.#workers].filter(({ isStopped }) => isStopped);
    const awake = this.#workers.size - stopped.length;
    if (this.#kills < kills && this.#random.chance(0.1)) {
      this.#kills += 1;
      worker.process.kill('SIGKILL');
    } else if (this.#stops < stops && awake > 1 && this.#random.chance(0.2)) {
      this.#stops += 1;
      worker.isStopped = true;
      worker.process.kill('SIGSTOP');
    } else if (this.#random.chance(0.1)) for (const each of stopped) this.#resume(each);
  }

  #resume(worker: Worker): void {
    worker.isStopped = false;
    worker.process.kill('SIGCONT');
  }

  #send(worker: Worker, message: ToWorker): void {
    // It may be gone already, which its `exit` says.
    worker.process.send(message, () => undefined);
  }
}
