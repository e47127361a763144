import fc from 'fast-check';
import { hostileCase, type HostileCase, type ValidRows } from './hostileCase.js';
import type { HostileChild } from './hostileChild.js';
import type { HostileServer } from './hostileServer.js';
import { verdictOn, type Verdict } from './verdict.js';

/** What went wrong, and the smallest case that shows it. */
export interface Finding {
  readonly fault: string;
  readonly case: HostileCase;
  readonly round: number;
}

const casesPerRound = 500;
/** Budget for shrinking a case: those that kill or hang the child take long. */
const maxAttempts = 500;
const longestSearch = 120_000;

/** Sends mutated responses to a child, in rounds that depend only on their number. */
export class Campaign {
  /** Hostile responses so far. */
  answers = 0;
  /** The outcomes of walks, by destination and kind. */
  readonly ends = new Map<string, Map<string, number>>();
  readonly #seed: number;
  readonly #cases: fc.Arbitrary<HostileCase>;
  readonly #child: HostileChild;
  readonly #server: HostileServer;
  #isStopped = false;

  constructor(seed: number, rows: ValidRows, child: HostileChild, server: HostileServer) {
    this.#seed = seed;
    this.#cases = hostileCase(rows);
    this.#child = child;
    this.#server = server;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Runs rounds until there were enough responses, or one is handled incorrectly. */
  async run(answers: number): Promise<Finding | undefined> {
    for (let round = 1; this.answers < answers && !this.#isStopped; round += 1) {
      const finding = await this.runOnly(round);
      if (finding) return finding;
    }
    return undefined;
  }

  async runOnly(round: number): Promise<Finding | undefined> {
    let found = 0;
    let since = 0;
    const property = fc.asyncProperty(this.#cases, async (each) => {
      if (this.#isStopped) return;
      // The smallest case found by then is small enough.
      if (found > maxAttempts || (found > 0 && performance.now() - since > longestSearch)) return;
      const { fault } = await this.judge(each, found === 0);
      if (fault === undefined && found === 0) return;
      if (found === 0) since = performance.now();
      found += 1;
      if (fault !== undefined) throw new Error(fault);
    });
    const parameters = { seed: this.#seed + round, numRuns: casesPerRound };
    const { counterexample, errorInstance } = await fc.check(property, parameters);
    if (!counterexample) return undefined;
    return {
      fault: errorInstance instanceof Error ? errorInstance.message : String(errorInstance),
      case: counterexample[0],
      round,
    };
  }

  /** The verdict on a case. After the campaign was stopped, nothing is wrong any more. */
  async judge(each: HostileCase, isCounted = true): Promise<Verdict> {
    const verdict = await verdictOn(each, this.#child, this.#server);
    if (this.#isStopped) return { end: verdict.end };
    if (!isCounted) return verdict;
    this.answers += each.texts.length;
    const where = each.use === 'file' || each.use === 'watch' ? each.use : each.wires ? 'socket' : 'reading';
    const ends = this.ends.get(verdict.end) ?? new Map<string, number>();
    this.ends.set(verdict.end, ends.set(where, (ends.get(where) ?? 0) + 1));
    return verdict;
  }
}
