import { systemClock, type Limit, type Limiter, type Permit } from '@sluice/core';
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
  /** Ms by the limiter's clock when it was given; absent before. */
  readonly begunAt?: number;
  readonly permit?: Permit;
  /** Why it was not given; absent unless it was refused. */
  readonly refusal?: { readonly reason: unknown; readonly isThrown: boolean };
}

/** Turns a clock, or waits. */
interface Time {
  now(): number;
  pass(ms: number): Promise<void>;
  /** Lets ms pass in which the process gets no permit; absent where that can't be had. */
  readonly stall?: (ms: number) => Promise<void>;
}

/** What has not begun by then never will. */
const maxWindows = 12;

/** So many begin in a window that no check comes near it. */
const roomy = 100;

/** A limiter, and what became of each permit that it was asked for. */
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
   * A limiter of one limit. What it does not say is so much that it is never reached.
   *
   * @param needs what the limiter has to keep to for the check to make sense.
   */
  static async on(
    trial: LimiterTrial,
    limit: Partial<Limit> = {},
    ...needs: readonly Keeping[]
  ): Promise<DrivenLimiter> {
    const missing = needs.find((need) => !trial.keeps.includes(need));
    if (missing) throw new Skipped(`a limiter that keeps '${missing}'`);
    const per = trial.isRealTime ? 100 : 1_000;
    const limits = [{ requests: roomy, per, ...limit }];
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

  /** Asks for a permit, and keeps it until somebody releases it. */
  acquire({
    route = 'testing.route',
    signal,
  }: { readonly route?: string; readonly signal?: AbortSignal } = {}): RequestedPermit {
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

  askMany(count: number, route?: string): RequestedPermit[] {
    return Array.from({ length: count }, () => this.acquire({ ...(route !== undefined && { route }) }));
  }

  releaseAll(): void {
    for (const { permit } of this.begun) permit?.release();
  }

  /** Lets go on what is under way, at the same time. */
  async settle(): Promise<void> {
    await this.time.pass(0);
  }

  /** Lets time pass until so many permits began, but no longer than they may take. */
  async untilBegun(count: number, what: string): Promise<void> {
    for (let quarter = 0; this.begun.length < count; quarter += 1) {
      const windows = quarter / 4;
      check(
        windows < maxWindows,
        `${what}: ${this.begun.length} permits began where ${count} should, in ${maxWindows} windows.`,
      );
      await this.time.pass(this.per / 4);
    }
  }

  /** Resolves once a condition holds, without any time passing by the limiter's clock. */
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

/** A limiter may need some permits of the event loop for each of its own: waits until its state stands still. */
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
