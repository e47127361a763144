/** Registers a check with a runner: `test` of Vitest, Jest, Bun, tape and node:test, `it` of Mocha. */
export type TestFunction = (title: string, check: () => Promise<void>) => unknown;

/** What every suite is told. */
export interface SuiteOptions {
  readonly test: TestFunction;
  /**
   * Told of each check that can't be made, and what it would need. Default: the runner's own way of skipping, where it has one while a
   * test runs (Vitest, node:test, Mocha, tape); elsewhere such a check passes.
   */
  readonly onSkip?: (title: string, why: string) => void;
  /** Ms until something that has to happen counts as missing. Default 4,000. A healthy part never waits that long. */
  readonly timeout?: number;
}

/** What is to be tested, with what belongs to it. */
export interface Fixture {
  /** Called when the check is over, however it ended. */
  dispose?(): void | Promise<void>;
}

/** One check's surroundings. */
export interface Trial<F, Given extends readonly unknown[] = []> {
  readonly timeout: number;
  /** A fixture of its own, made of what the factory is given; a check may ask for several. */
  fixture(...given: Given): Promise<F>;
  /** Calls back when the check is over, the last one first; what goes wrong there is nobody's fault. */
  atEnd(end: () => unknown): void;
}

/** Fails by an error that says what is wrong. */
export type Check<F, Given extends readonly unknown[] = []> = (trial: Trial<F, Given>) => Promise<void>;

/** Checks by what they prove. */
export type Checks<F, Given extends readonly unknown[] = []> = Readonly<Record<string, Check<F, Given>>>;

/** Makes what is to be tested. */
type Factory<F, Given extends readonly unknown[] = []> = (...given: Given) => F | Promise<F>;

/** Ends a check that can't be made, without a fault. */
export class Skipped extends Error {}

/** Registers each check; a fixture is made anew for each and disposed of at its end. */
export function registerChecks<F extends Fixture, Given extends readonly unknown[]>(
  { test, onSkip, timeout = 4_000 }: SuiteOptions,
  factory: Factory<F, Given>,
  checks: Checks<F, Given>,
): void {
  for (const [title, check] of Object.entries(checks))
    test(title, async function (this: unknown) {
      // No parameter: a runner that sees one takes it for a callback (Mocha), or for fixtures of its own (Vitest).
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

/** Runners hand a check something that can skip it, as its first argument or as `this`. */
function skipIn(runner: unknown, why: string): void {
  if ((typeof runner !== 'object' && typeof runner !== 'function') || runner === null) return;
  if ('skip' in runner && typeof runner.skip === 'function') Reflect.apply(runner.skip, runner, [why]);
}
