import { systemClock, type AcquireOptions, type Limit, type Limiter, type Permit } from '@sluice/core';
import { check, checkSame } from '../check.js';
import { ManualClock } from '../manualClock.js';
import { calm, eventually } from '../waiting.js';
import { Skipped, type Trial } from '../suite.js';
import type { Keeping, LimiterFixture, LimiterSetting } from './limiterFixture.js';

export interface LimiterTrial extends Trial<LimiterFixture, [LimiterSetting]> {
  readonly keeps: readonly Keeping[];
  readonly isRealTime: boolean;
}

export interface RequestedPermit {
  readonly nth: number;
  readonly route: string;
  /** When the permit was granted, in ms of the limiter's clock; absent before. */
  readonly begunAt?: number;
  readonly permit?: Permit;
  /** Set if the permit was refused. */
  readonly refusal?: { readonly reason: unknown; readonly isThrown: boolean };
}

/** Advances a manual clock, or waits for the real one. */
interface Time {
  now(): number;
  pass(ms: number): Promise<void>;
  /** Advances the clock while the process is suspended; absent for a real clock. */
  readonly stall?: (ms: number) => Promise<void>;
}

/** A permit that is not granted within this many windows counts as missing. */
const maxWindows = 12;

/** Permits per window that no check uses up. */
const unlimited = 100;

/** A limiter and the outcome of each requested permit. */
export class DrivenLimiter {
  readonly limiter: Limiter;
  readonly time: Time;
  readonly per: number;
  readonly begun: RequestedPermit[] = [];
  readonly #timeout: number;
  #requested = 0;

  private constructor(limiter: Limiter, time: Time, per: number, timeout: number) {
    this.limiter = limiter;
    this.time = time;
    this.per = per;
    this.#timeout = timeout;
  }

  /**
   * A limiter with one limit; values that are left out are high enough to be never reached.
   *
   * @param needs the kinds of limits without which the check is skipped.
   */
  static async on(
    trial: LimiterTrial,
    limit: Partial<Limit> = {},
    ...needs: readonly Keeping[]
  ): Promise<DrivenLimiter> {
    const missing = needs.find((need) => !trial.keeps.includes(need));
    if (missing) throw new Skipped(`a limiter that keeps '${missing}'`);
    const per = trial.isRealTime ? 100 : 1_000;
    const limits = [{ requests: unlimited, per, ...limit }];
    if (trial.isRealTime) {
      const { limiter } = await trial.fixture({ limits, clock: systemClock });
      return new DrivenLimiter(limiter, realTime, per, trial.timeout);
    }
    const settled: { until: () => Promise<unknown> } = { until: () => calm(3) };
    const clock = new ManualClock(() => settled.until());
    const { limiter } = await trial.fixture({ limits, clock });
    settled.until = () => quiet(limiter);
    const time: Time = {
      now: () => clock.monotonic(),
      pass: async (ms) => {
        await clock.advance(ms);
        await quiet(limiter);
      },
      stall: async (ms) => {
        await clock.stall(ms);
        await quiet(limiter);
      },
    };
    return new DrivenLimiter(limiter, time, per, trial.timeout);
  }

  /** Requests a permit, uses it at once, and keeps it until a check releases it. */
  acquire({ route = 'testing.route', signal }: Partial<AcquireOptions> = {}): RequestedPermit {
    const requested: { -readonly [field in keyof RequestedPermit]: RequestedPermit[field] } = {
      nth: this.#requested++,
      route,
    };
    let isThrown = true;
    const permit = (async () => {
      const given = this.limiter.acquire({ route, ...(signal && { signal }) });
      isThrown = false;
      return given;
    })();
    permit.then(
      (given) => {
        given.started?.();
        requested.permit = given;
        requested.begunAt = this.time.now();
        this.begun.push(requested);
      },
      (reason: unknown) => {
        requested.refusal = { reason, isThrown };
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
    return this.time.pass(0);
  }

  /** Advances time until this many permits were granted. @throws Error after `maxWindows` windows. */
  async untilBegun(count: number, what: string): Promise<void> {
    for (let quarter = 0; this.begun.length < count; quarter += 1) {
      const windows = quarter / 4;
      check(
        windows < maxWindows,
        `${what}: ${this.begun.length} permits began instead of ${count}, in ${maxWindows} windows.`,
      );
      await this.time.pass(this.per / 4);
    }
  }

  /** Resolves when a condition holds, without advancing the limiter's clock. */
  eventually(condition: () => boolean, what: string): Promise<void> {
    return eventually(condition, what, this.#timeout);
  }

  checkState(queued: number, running: number, when: string): void {
    const { state } = this.limiter;
    checkSame({ queued: state.queued, running: state.running }, { queued, running }, `The limiter's state ${when}`);
  }

  get order(): number[] {
    return this.begun.map(({ nth }) => nth);
  }
}

const realTime: Time = {
  now: () => performance.now(),
  pass: async (ms) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    await calm(3);
  },
};

/** A limiter may need several turns of the event loop per permit: waits until its state no longer changes. */
async function quiet(limiter: Limiter): Promise<void> {
  let before = '';
  for (let still = 0; still < 6; still += 1) {
    const { queued, running } = limiter.state;
    const now = `${queued} ${running}`;
    if (now !== before) still = 0;
    before = now;
    await calm(1);
  }
}
