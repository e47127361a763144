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

/** The context of a check. */
export interface Trial<F, Given extends readonly unknown[] = []> {
  readonly timeout: number;
  /** Creates a fixture; a check may use several. */
  fixture(...given: Given): Promise<F>;
  /** Calls back at the end of the check, in reverse order; errors there are ignored. */
  atEnd(end: () => unknown): void;
}

/** Rejects with an error that says what is wrong. */
export type Check<F, Given extends readonly unknown[] = []> = (trial: Trial<F, Given>) => Promise<void>;

/** Checks by title. */
export type Checks<F, Given extends readonly unknown[] = []> = Readonly<Record<string, Check<F, Given>>>;

type Factory<F, Given extends readonly unknown[] = []> = (...given: Given) => F | Promise<F>;

/** Thrown to skip a check. */
export class Skipped extends Error {}

/** Registers each check with fixtures of its own, which are disposed of at its end. */
export function registerChecks<F extends Fixture, Given extends readonly unknown[]>(
  { test, onSkip, timeout = 4_000 }: SuiteOptions,
  factory: Factory<F, Given>,
  checks: Checks<F, Given>,
): void {
  for (const [title, check] of Object.entries(checks))
    test(title, async function (this: unknown) {
      // No parameter: runners take one for a callback (Mocha) or for fixtures of their own (Vitest).
      // eslint-disable-next-line prefer-rest-params -- a rest parameter is one too
      const runner: unknown = arguments[0] ?? this;
      try {
        await runCheck(check, factory, timeout);
      } catch (error) {
        if (!(error instanceof Skipped)) throw error;
        if (onSkip) onSkip(title, error.message);
        else skipIn(runner, error.message);
      }
    });
}

async function runCheck<F extends Fixture, Given extends readonly unknown[]>(
  check: Check<F, Given>,
  factory: Factory<F, Given>,
  timeout: number,
): Promise<void> {
  const ends: (() => unknown)[] = [];
  const fixture = async (...given: Given): Promise<F> => {
    const made = await factory(...given);
    ends.push(() => made.dispose?.());
    return made;
  };
  try {
    await check({ timeout, fixture, atEnd: (end) => ends.push(end) });
  } finally {
    for (const end of ends.reverse()) await (async () => end())().catch(() => undefined);
  }
}

/** Runners pass an object with `skip` as the first argument or as `this`. */
function skipIn(runner: unknown, why: string): void {
  if ((typeof runner !== 'object' && typeof runner !== 'function') || runner === null) return;
  if ('skip' in runner && typeof runner.skip === 'function') Reflect.apply(runner.skip, runner, [why]);
}
