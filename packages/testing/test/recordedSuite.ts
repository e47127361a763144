import type { SuiteOptions } from '../src/index.js';

/** Collects a suite's checks instead of running them, as a runner of its own. */
export class RecordedSuite {
  readonly titles: string[] = [];
  readonly skipped: string[] = [];
  readonly options: SuiteOptions;
  readonly #checks = new Map<string, () => Promise<void>>();

  /** @param register calls the suite with the options that it is given. */
  constructor(register: (options: SuiteOptions) => void, timeout = 20_000) {
    this.options = {
      test: (title, check) => {
        this.titles.push(title);
        this.#checks.set(title, check);
      },
      onSkip: (title) => this.skipped.push(title),
      timeout,
    };
    register(this.options);
  }

  /** What one check says; `undefined` if it has nothing to say. */
  async verdictOf(title: string): Promise<string | undefined> {
    const check = this.#checks.get(title);
    if (!check) throw new Error(`The suite has no check "${title}".`);
    try {
      await check();
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  /** What all checks say that have something to say. */
  async verdicts(): Promise<Record<string, string>> {
    const verdicts: Record<string, string> = {};
    for (const title of this.titles) {
      const verdict = await this.verdictOf(title);
      if (verdict !== undefined) verdicts[title] = verdict;
    }
    return verdicts;
  }
}
