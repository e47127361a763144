import { LocalLimiter } from '../../../core/src/http/limit/localLimiter.js';
import type { Limit } from '@sluice/core';
import type { Limiter, Permit, AcquireOptions } from '@sluice/core/kit';
import type { LimiterFixture, LimiterSetting } from '../../src/index.js';
import type { Mutants } from './mutant.js';

/** A limiter, changed in one place. */
function mutant(caughtBy: string, spoil: (limiter: Limiter, setting: LimiterSetting) => Partial<Limiter>) {
  const factory = (setting: LimiterSetting): LimiterFixture => {
    const limiter = new LocalLimiter(setting.limits, setting.clock);
    return { limiter: changed(limiter, spoil(limiter, setting)) };
  };
  return { caughtBy, factory };
}

/** The same where it was made of other limits. */
function limitMutant(caughtBy: string, change: (limit: Limit) => Partial<Limit>) {
  const factory = ({ limits, clock }: LimiterSetting): LimiterFixture => ({
    limiter: new LocalLimiter(
      limits.map((limit) => ({ ...limit, ...change(limit) })),
      clock,
    ),
  });
  return { caughtBy, factory };
}

/** Its state is asked for each time. */
function changed(limiter: Limiter, parts: Partial<Limiter>): Limiter {
  return {
    acquire: parts.acquire ?? ((request) => limiter.acquire(request)),
    pause:
      parts.pause ??
      ((ms) => {
        limiter.pause(ms);
      }),
    get state() {
      return parts.state ?? limiter.state;
    },
  };
}

function rejection(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal?.aborted) reject(signal.reason as Error);
    signal?.addEventListener('abort', () => {
      reject(signal.reason as Error);
    });
  });
}

export const limiterMutants: Mutants<LimiterFixture, [LimiterSetting]> = {
  'serves the last one first': mutant('grants permits in the order of the calls', (limiter) => {
    const waiting: (() => void)[] = [];
    return {
      acquire: async (request) => {
        const permit = await limiter.acquire(request);
        // All that begin together begin in the reverse order.
        await new Promise<void>((resolve) => {
          waiting.unshift(resolve);
          setTimeout(() => waiting.shift()?.());
        });
        return permit;
      },
    };
  }),

  'says that nobody waits': mutant('reports how many wait and how many run', (limiter) => ({
    get state() {
      return { ...limiter.state, queued: 0 };
    },
  })),

  'counts a release each time': mutant('counts one release of a permit, however often it is released', (limiter) => {
    let released = 0;
    const counting = (permit: Permit): Permit => ({
      release: () => {
        released += 1;
        if (released === 1) permit.release();
      },
    });
    return {
      acquire: async (request) => counting(await limiter.acquire(request)),
      get state() {
        const { running, ...state } = limiter.state;
        return { ...state, running: running - Math.max(0, released - 1) };
      },
    };
  }),

  'forgets an abort': mutant('rejects at once when a waiting permit is aborted, and forgets it', (limiter) => ({
    acquire: ({ route }) => limiter.acquire({ route }),
  })),

  'refuses who was aborted, but keeps the place': mutant(
    'does not count a permit that was aborted while it waited for its window',
    (limiter) => ({
      acquire: ({ route, signal }) => Promise.race([limiter.acquire({ route }), rejection(signal)]),
      get state() {
        return { ...limiter.state, queued: 2 };
      },
    }),
  ),

  'refuses who was aborted, but gives the permit to nobody else': mutant(
    'does not grant a permit that was aborted while it waited for another',
    (limiter) => ({ acquire: ({ route, signal }) => Promise.race([limiter.acquire({ route }), rejection(signal)]) }),
  ),

  'has words of its own for an abort': mutant(
    'rejects at once when a waiting permit is aborted, and forgets it',
    (limiter) => ({
      acquire: (request) =>
        limiter.acquire(request).catch(() => {
          throw new Error('Aborted.');
        }),
    }),
  ),

  'gives a permit to who was aborted already': mutant(
    'rejects at once when the signal is aborted already',
    (limiter) => ({
      acquire: ({ route, signal }) => limiter.acquire(signal?.aborted === false ? { route, signal } : { route }),
    }),
  ),

  'throws at who was aborted already, instead of rejecting': mutant(
    'rejects at once when the signal is aborted already',
    (limiter) => ({
      acquire: (request) => {
        request.signal?.throwIfAborted();
        return limiter.acquire(request);
      },
    }),
  ),

  'takes a permit back when it is aborted too late': mutant(
    'keeps counting a permit that is aborted after it began',
    (limiter) => ({
      acquire: async (request: AcquireOptions) => {
        const permit = await limiter.acquire(request);
        request.signal?.addEventListener('abort', () => {
          permit.release();
        });
        return permit;
      },
    }),
  ),

  'listens for ever': mutant('leaves no listener on a signal', (limiter) => ({
    acquire: (request: AcquireOptions) => {
      request.signal?.addEventListener('abort', () => undefined);
      return limiter.acquire(request);
    },
  })),

  'forgets a pause': mutant('starts nothing during a pause', () => ({ pause: () => undefined })),

  'pauses only those that ask before': mutant('starts nothing during a pause', (limiter, { clock }) => {
    let until = 0;
    return {
      pause: (ms) => {
        until = clock.monotonic() + ms;
      },
      acquire: async (request) => {
        const isAtTheEdge = clock.monotonic() > 0 && clock.monotonic() < until;
        if (!isAtTheEdge) await new Promise<void>((resolve) => clock.after(until - clock.monotonic(), resolve));
        return limiter.acquire(request);
      },
    };
  }),

  'keeps to the last of several pauses': mutant('obeys the longest of several pauses', (limiter, { clock }) => {
    let until = 0;
    return {
      pause: (ms) => {
        until = clock.monotonic() + ms;
      },
      acquire: async (request) => {
        while (clock.monotonic() < until)
          await new Promise<void>((resolve) => clock.after(until - clock.monotonic(), resolve));
        return limiter.acquire(request);
      },
    };
  }),

  'does not say that it is paused': mutant('reports how long a pause lasts', (limiter) => ({
    get state() {
      return { ...limiter.state, pausedFor: 0 };
    },
  })),

  'hears of an abort only when a pause is over': mutant(
    'rejects at once when a waiting permit is aborted, and forgets it',
    (limiter) => ({
      acquire: async ({ route, signal }) => {
        const permit = await limiter.acquire({ route });
        if (signal?.aborted) permit.release();
        signal?.throwIfAborted();
        return permit;
      },
    }),
  ),

  'lets one more begin': limitMutant(
    'never exceeds the limit of a window, and starts all in the end',
    ({ requests }) => ({
      requests: requests + 1,
    }),
  ),

  'has windows that are too short': limitMutant(
    'never exceeds the limit of a window, and starts all in the end',
    ({ per }) => ({
      per: per / 2,
    }),
  ),

  'goes at half the speed': limitMutant(
    'never exceeds the limit of a window, and starts all in the end',
    ({ per }) => ({
      per: 2 * per,
    }),
  ),

  'makes up for a stall': (() => {
    // Every second of the clock brings new permits, and what nobody takes is kept.
    const bucket = ({ limits, clock }: LimiterSetting): LimiterFixture => {
      const limiter = new LocalLimiter([{ requests: 1_000, per: 1 }], clock);
      const { requests = 1, per = 1 } = limits[0] ?? {};
      let taken = 0;
      const queue = [Promise.resolve()];
      const permit = async (request: AcquireOptions): Promise<Permit> => {
        const before = queue.at(-1);
        let leave: () => void = () => undefined;
        queue.push(new Promise((resolve) => (leave = resolve)));
        await before;
        while (taken >= requests * (1 + Math.floor(clock.monotonic() / per)))
          await new Promise<void>((resolve) => clock.after(per - (clock.monotonic() % per), resolve));
        taken += 1;
        leave();
        return limiter.acquire(request);
      };
      return { limiter: changed(limiter, { acquire: permit }) };
    };
    return { caughtBy: 'does not catch up after the process was stalled', factory: bucket };
  })(),

  'forgets its windows in a pause': (() => {
    const factory = ({ limits, clock }: LimiterSetting): LimiterFixture => {
      let limiter = new LocalLimiter(limits, clock);
      const permit = async (request: AcquireOptions): Promise<Permit> => {
        await Promise.resolve();
        return limiter.acquire(request);
      };
      const waiting = new LocalLimiter(
        limits.map((limit) => ({ ...limit, requests: 100 })),
        clock,
      );
      const pause = (ms: number): void => {
        waiting.pause(ms);
        limiter = waiting;
      };
      return {
        limiter: {
          acquire: permit,
          pause,
          get state() {
            return limiter.state;
          },
        },
      };
    };
    return { caughtBy: 'keeps its windows during a pause', factory };
  })(),

  'lets one more run': limitMutant('never exceeds its concurrency', ({ concurrency }) => ({
    ...(concurrency !== undefined && { concurrency: concurrency + 1 }),
  })),

  'leaks a place at a second release': mutant(
    'grants one permit for each released one, however often it is released',
    (_limiter, { limits }) => {
      // Places are counted here, and nobody asks who gives one back.
      let free = Math.min(...limits.map(({ concurrency = Infinity }) => concurrency));
      const waiting: (() => void)[] = [];
      return {
        acquire: async () => {
          if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
          else free -= 1;
          return {
            release: () => {
              const next = waiting.shift();
              if (next) next();
              else free += 1;
            },
          };
        },
      };
    },
  ),

  'has one cost for all': limitMutant('counts the cost of each route', () => ({ costs: {} })),

  'waits for what can never be': mutant('refuses at once a cost that exceeds every limit', (limiter) => ({
    acquire: (request) => (request.route === 'testing.huge' ? new Promise(() => undefined) : limiter.acquire(request)),
  })),
};
