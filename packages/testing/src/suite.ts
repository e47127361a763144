import { calm } from './calm.js';

/** Registers a check with a runner: `test` of Vitest, Jest, Bun, tape and node:test, `it` of Mocha. */
export type TestFunction = (title: string, check: () => Promise<void>) => unknown;

/** Options of every suite. */
export interface SuiteOptions {
  readonly test: TestFunction;
  /**
   * Called with each check that is skipped, and what it needs. Default: skips the test if the runner can do that while
   * it runs (Vitest, node:test, Mocha, tape); otherwise the check passes.
   */
  readonly onSkip?: (title: string, why: string) => void;
  /** Ms until an expected event counts as missing. Default 4,000. A correct implementation never takes that long. */
  readonly timeout?: number;
}

/** The names of these options. */
export const suiteOptionNames = {
  test: true,
  onSkip: true,
  timeout: true,
} as const satisfies Readonly<Record<keyof SuiteOptions, true>>;

/** What is tested. */
export interface Fixture {
  /** Called at the end of the check, even if it failed. */
  dispose?(): void | Promise<void>;
}

/** Creates a fixture. */
export type Factory<F> = () => F | Promise<F>;

/** Rejects with an error that says what is wrong with its subject, e.g. with a sink that is driven step by step. */
export type Check<Subject> = (subject: Subject) => Promise<void>;

/** Checks by title. */
export type Checks<Subject> = Readonly<Record<string, Check<Subject>>>;

/** Thrown to skip a check. */
export class Skipped extends Error {}

/** One run of a check: its deadlines, and its end, at which all is released. */
export class Trial {
  readonly #timeout: number;
  readonly #ends: (() => unknown)[] = [];

  constructor(timeout: number) {
    this.#timeout = timeout;
  }

  /** Awaits a new fixture, which is disposed of at the end. */
  async own<F extends Fixture>(created: F | Promise<F>): Promise<F> {
    const fixture = await created;
    this.atEnd(() => fixture.dispose?.());
    return fixture;
  }

  /** Calls back at the end, in reverse order; errors there are ignored. */
  atEnd(end: () => unknown): void {
    this.#ends.push(end);
  }

  /** Settles like the promise. @throws Error with `what` if it does not settle in time. */
  async inTime<R>(promise: Promise<R>, what: string): Promise<R> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(this.#late(what)), this.#timeout);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
  }

  /** Resolves when a condition holds. @throws Error with `what` if it does not in time. */
  async eventually(condition: () => boolean, what: string): Promise<void> {
    const end = performance.now() + this.#timeout;
    while (!condition()) {
      if (performance.now() > end) throw this.#late(what);
      await calm(1);
    }
  }

  async end(): Promise<void> {
    for (const end of this.#ends.reverse()) await (async () => end())().catch(() => undefined);
  }

  #late(what: string): Error {
    return new Error(`${what} within ${this.#timeout} ms.`);
  }
}

/** Registers each check with a subject of its own, which `open` creates. */
export function registerChecks<Subject>(
  { test, onSkip, timeout = 4_000 }: SuiteOptions,
  checks: Checks<Subject>,
  open: (trial: Trial) => Subject | Promise<Subject>,
): void {
  for (const [title, check] of Object.entries(checks))
    test(title, async function (this: unknown) {
      // No parameter: runners take one for a callback (Mocha) or for fixtures of their own (Vitest).
      // eslint-disable-next-line prefer-rest-params -- a rest parameter is one too
      const runner: unknown = arguments[0] ?? this;
      const trial = new Trial(timeout);
      try {
        await check(await open(trial));
      } catch (error) {
        if (!(error instanceof Skipped)) throw error;
        if (onSkip) onSkip(title, error.message);
        else skipIn(runner, error.message);
      } finally {
        await trial.end();
      }
    });
}

/** Runners pass an object with `skip` as the first argument or as `this`. */
function skipIn(runner: unknown, why: string): void {
  if ((typeof runner !== 'object' && typeof runner !== 'function') || runner === null) return;
  if ('skip' in runner && typeof runner.skip === 'function') Reflect.apply(runner.skip, runner, [why]);
}
