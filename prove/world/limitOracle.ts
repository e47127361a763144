import type { Sent } from './network.js';
import type { Scenario } from './scenario.js';
import type { Life } from './schedule.js';

/** Clocks are sums of fractions. */
const rounding = 1e-6;

/**
 * Watches over the limit: no process starts more than it may in any window, or while it was told to pause; and all together
 * no more, if they share one limit.
 */
export class LimitOracle {
  readonly #limit: Scenario['limit'];
  readonly #violated: (what: string) => void;
  readonly #starts = new Map<Life | 'all', number[]>();
  readonly #arrivals = new Map<Life, number[]>();
  readonly #isShared: boolean;

  constructor(limit: Scenario['limit'], violated: (what: string) => void, { isShared = false } = {}) {
    this.#limit = limit;
    this.#violated = violated;
    this.#isShared = isShared;
  }

  /** A request to whom no limit applies, but pauses that it asks for. */
  sentFreely({ at, shutUntil }: Sent): void {
    if (at < shutUntil - rounding) this.#violated(`A request started ${shutUntil - at} ms before a pause was over.`);
  }

  /** A request of a process arrives. The way takes up to 12 ms longer for one than for another. */
  arrived(life: Life, at: number): void {
    const arrivals = this.#arrivals.get(life) ?? [];
    this.#arrivals.set(life, arrivals);
    arrivals.push(at);
    const { requests, per } = this.#limit;
    const within = arrivals.filter((arrival) => arrival > at - per + rounding).length;
    if (within > requests) this.#violated(`${within} requests arrived within ${per} ms, and ${requests} may.`);
  }

  /** What was started by now is not counted any more. */
  forget(): void {
    this.#starts.clear();
  }

  sent(sent: Sent): void {
    const { at, life, underWay } = sent;
    const whose = this.#isShared ? 'all' : life;
    const starts = this.#starts.get(whose) ?? [];
    this.#starts.set(whose, starts);
    starts.push(at);
    const { requests, per, concurrency, burst = requests } = this.#limit;
    const within = (span: number): number => starts.filter((start) => start > at - span + rounding).length;
    if (within(per) > requests)
      this.#violated(`${within(per)} requests started within ${per} ms, and ${requests} may.`);
    const span = (burst * per) / requests;
    if (within(span) > burst) this.#violated(`${within(span)} requests started within ${span} ms, and ${burst} may.`);
    if (underWay > concurrency) this.#violated(`${underWay} requests were under way, and ${concurrency} may.`);
    this.sentFreely(sent);
  }
}
