import type { Sent } from './network.js';
import type { Scenario } from './scenario.js';
import type { Life } from './schedule.js';

/** Clocks are sums of fractions. */
const rounding = 1e-6;

/** Watches over the limit: no process starts more than it may in any window, or while it was told to pause. */
export class LimitOracle {
  readonly #limit: Scenario['limit'];
  readonly #violated: (what: string) => void;
  readonly #starts = new Map<Life, number[]>();

  constructor(limit: Scenario['limit'], violated: (what: string) => void) {
    this.#limit = limit;
    this.#violated = violated;
  }

  /** A request to whom no limit applies, but pauses that it asks for. */
  sentFreely({ at, shutUntil }: Sent): void {
    if (at < shutUntil - rounding) this.#violated(`A request started ${shutUntil - at} ms before a pause was over.`);
  }

  sent(sent: Sent): void {
    const { at, life, underWay } = sent;
    const starts = this.#starts.get(life) ?? [];
    this.#starts.set(life, starts);
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
