import type { Limit } from '@sluice/core';
import type { AcquireOptions, Limiter, Permit } from '@sluice/core/kit';
import { calm } from '../calm.js';
import { check, checkSame } from '../check.js';
import { ManualClock } from '../manualClock.js';
import { Skipped, type Trial } from '../suite.js';
import type { Keeping, LimiterFixture, LimiterSetting } from './limiterFixture.js';

export interface RequestedPermit {
  readonly nth: number;
  readonly route: string;
  /** When the permit was granted, in ms of the limiter's clock; absent before. */
  begunAt?: number;
  permit?: Permit;
  /** Set if the permit was refused. */
  refusal?: { readonly error: unknown; readonly isThrown: boolean };
}

/** A permit that is not granted within this many windows counts as missing. */
const maxWindows = 12;

/** Permits per window that no check uses up. */
const unlimited = 100;

/** Ms of a window. */
const per = 1_000;

/**
 * Opens a limiter with one limit; values that are left out are high enough to be never reached.
 *
 * @param needs the kinds of limits without which the check is skipped.
 */
export type OpenLimiter = (limit?: Partial<Limit>, ...needs: readonly Keeping[]) => Promise<DrivenLimiter>;

type Factory = (setting: LimiterSetting) => LimiterFixture | Promise<LimiterFixture>;

/** Opens limiters of a factory, on a manual clock. */
export function limiterOpener(trial: Trial, factory: Factory, keeps: readonly Keeping[]): OpenLimiter {
  return async (limit, ...needs) => {
    const missing = needs.find((need) => !keeps.includes(need));
    if (missing) throw new Skipped(`a limiter that keeps '${missing}'`);
    const settled: { until: () => Promise<unknown> } = { until: () => calm(3) };
    const clock = new ManualClock(() => settled.until());
    const { limiter } = await trial.own(factory({ limits: [{ requests: unlimited, per, ...limit }], clock }));
    settled.until = () => settle(limiter);
    return new DrivenLimiter(trial, limiter, clock);
  };
}

/** A limiter and the outcome of each requested permit. */
export class DrivenLimiter {
  readonly trial: Trial;
  readonly limiter: Limiter;
  readonly per = per;
  readonly begun: RequestedPermit[] = [];
  readonly #clock: ManualClock;
  #requested = 0;

  constructor(trial: Trial, limiter: Limiter, clock: ManualClock) {
    this.trial = trial;
    this.limiter = limiter;
    this.#clock = clock;
  }

  /** Ms of the limiter's clock. */
  get now(): number {
    return this.#clock.monotonic();
  }

  async pass(ms: number): Promise<void> {
    await this.#clock.advance(ms);
    await settle(this.limiter);
  }

  /** Advances the clock while the process is suspended. */
  async stall(ms: number): Promise<void> {
    await this.#clock.stall(ms);
    await settle(this.limiter);
  }

  /** Requests a permit, uses it at once, and keeps it until a check releases it. */
  acquire({ route = 'testing.route', signal }: Partial<AcquireOptions> = {}): RequestedPermit {
    const requested: RequestedPermit = { nth: this.#requested++, route };
    let isThrown = true;
    const permit = (async () => {
      const given = this.limiter.acquire({ route, signal });
      isThrown = false;
      return given;
    })();
    permit.then(
      (given) => {
        given.started?.();
        requested.permit = given;
        requested.begunAt = this.now;
        this.begun.push(requested);
      },
      (error: unknown) => {
        requested.refusal = { error, isThrown };
      },
    );
    return requested;
  }

  acquireMany(count: number): void {
    for (let left = count; left > 0; left -= 1) this.acquire();
  }

  releaseAll(): void {
    for (const { permit } of this.begun) permit?.release();
  }

  /** Lets pending promises settle, without advancing the clock. */
  settle(): Promise<void> {
    return this.pass(0);
  }

  /** Advances time until this many permits were granted. @throws Error after `maxWindows` windows. */
  async untilBegun(count: number, what: string): Promise<void> {
    for (let quarter = 0; this.begun.length < count; quarter += 1) {
      const windows = quarter / 4;
      check(
        windows < maxWindows,
        `${what}: ${this.begun.length} permits began instead of ${count}, in ${maxWindows} windows.`,
      );
      await this.pass(per / 4);
    }
  }

  checkState(queued: number, running: number, when: string): void {
    const { state } = this.limiter;
    checkSame({ queued: state.queued, running: state.running }, { queued, running }, `The limiter's state ${when}`);
  }

  get order(): number[] {
    return this.begun.map(({ nth }) => nth);
  }
}

/** A limiter may need several turns of the event loop per permit: waits until its state no longer changes. */
async function settle(limiter: Limiter): Promise<void> {
  let before = '';
  for (let still = 0; still < 6; still += 1) {
    const { queued, running } = limiter.state;
    const now = `${queued} ${running}`;
    if (now !== before) still = 0;
    before = now;
    await calm(1);
  }
}
