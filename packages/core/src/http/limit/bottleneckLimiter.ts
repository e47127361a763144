import Bottleneck from 'bottleneck';
import type { Clock } from '../../clock.js';
import { checkLimit, type Limit } from './limit.js';
import type { Limiter } from './limiterTypes.js';
import { LocalLimiter, unlimited } from './localLimiter.js';

/**
 * A limiter of one process, on Bottleneck. Bottleneck needs some ms for a job, and so runs at most some 400 a second:
 * one job starts all requests that wait by then and may start. Without limits, requests do not pass it.
 *
 * @param longestPending ms for which a permit counts whose request is not written yet: the deadline for connecting
 *
 * @throws ConfigError if a limit is invalid; from `acquire`, at once, if a route's cost can never fit.
 */
export function bottleneckLimiter(limits: readonly Limit[], clock: Clock, longestPending = 10_000): Limiter {
  for (const limit of limits) checkLimit(limit);
  if (limits.length === 0) return unlimited(clock);
  let bottleneck: Bottleneck | undefined;
  return new LocalLimiter(limits, {
    clock,
    concurrency: Math.min(...limits.map(({ concurrency = Infinity }) => concurrency)),
    longestPending,
    run(serve) {
      bottleneck ??= newBottleneck();
      void bottleneck.schedule(() => {
        serve();
        return Promise.resolve();
      });
    },
  });
}

/**
 * Bottleneck schedules by the wall clock, and would stall if that is set back: no job starts before the last start plus
 * `minTime`, nor before Bottleneck was created. A large negative `minTime` lifts the first limit, since the log does
 * the spacing; an empty first job the second.
 */
function newBottleneck(): Bottleneck {
  const bottleneck = new Bottleneck({ minTime: -Number.MAX_SAFE_INTEGER });
  void bottleneck.schedule({ weight: 0 }, () => Promise.resolve());
  return bottleneck;
}
