import { check, checkSame, checkSluiceError, show } from '../check.js';
import type { Checks } from '../suite.js';
import type { DrivenLimiter, OpenLimiter, RequestedPermit } from './drivenLimiter.js';

export const limitChecks: Checks<OpenLimiter> = {
  'never exceeds the limit of a window, and starts all in the end': async (open) => {
    const driven = await open({ requests: 4 }, 'rate');
    driven.acquireMany(13);
    await driven.untilBegun(13, 'At 4 a window');
    checkWindows(driven, 4);
    const { begunAt: first = 0 } = driven.begun[0] ?? {};
    const { begunAt: last = Infinity } = driven.begun[12] ?? {};
    check(last - first <= 5 * driven.per, `13 permits at 4 a window took ${(last - first) / driven.per} windows.`);
    // Idle time does not accumulate permits.
    driven.releaseAll();
    await driven.pass(3 * driven.per);
    driven.acquireMany(9);
    await driven.untilBegun(22, 'After some idle time, at 4 a window');
    checkWindows(driven, 4);
  },

  'does not catch up after the process was stalled': async (open) => {
    const driven = await open({ requests: 3 }, 'rate');
    driven.acquireMany(12);
    await driven.untilBegun(3, 'At 3 a window');
    await driven.stall(10 * driven.per);
    await driven.untilBegun(12, 'After a stall, at 3 a window');
    checkWindows(driven, 3);
  },

  'does not count a permit that was aborted while it waited for its window': async (open) => {
    const driven = await open({ requests: 2 }, 'rate');
    driven.acquireMany(2);
    await driven.untilBegun(2, 'At 2 a window');
    const start = driven.now;
    const stops = [new AbortController(), new AbortController()];
    for (const { signal } of stops) driven.acquire({ signal });
    driven.acquireMany(2);
    await driven.settle();
    for (const stop of stops) stop.abort(new Error('Not wanted any more.'));
    await driven.settle();
    driven.checkState(2, 2, 'as soon as two of four that waited were aborted');
    await driven.untilBegun(4, 'At 2 a window, with two aborted');
    checkSame(driven.order, [0, 1, 4, 5], 'The permits that began when the first two that waited were aborted');
    const { begunAt = Infinity } = driven.begun[3] ?? {};
    check(
      begunAt - start <= 1.5 * driven.per,
      `Two aborted permits took the places of others: the last one began ${begunAt - start} ms later, in windows of ${driven.per}.`,
    );
  },

  'keeps its windows during a pause': async (open) => {
    const driven = await open({ requests: 2 }, 'rate');
    const { per } = driven;
    driven.acquireMany(6);
    await driven.untilBegun(2, 'At 2 a window');
    const end = driven.now + 3 * per;
    driven.limiter.pause(3 * per);
    await driven.untilBegun(6, 'After a pause, at 2 a window');
    check(
      driven.begun.slice(2).every(({ begunAt = 0 }) => begunAt >= end),
      'A permit began during a pause, because its window had begun.',
    );
    checkWindows(driven, 2);
  },

  'never exceeds its concurrency': async (open) => {
    const driven = await open({ concurrency: 2 }, 'concurrency');
    driven.acquireMany(7);
    for (let count = 2; count <= 7; count += 1) {
      await driven.untilBegun(count, 'With room for two at once');
      await driven.pass(driven.per);
      checkSame(driven.begun.length, count, 'The number of permits that began with room for two at once');
      driven.checkState(7 - count, 2, `when ${count} of 7 began, two at once`);
      // Releases the latest one, so that the first one runs all the time.
      driven.begun.at(-1)?.permit?.release();
    }
    driven.releaseAll();
    driven.checkState(0, 0, 'when all were released');
  },

  'grants one permit for each released one, however often it is released': async (open) => {
    const driven = await open({ concurrency: 1 }, 'concurrency');
    driven.acquireMany(3);
    await driven.untilBegun(1, 'With room for one at once');
    driven.begun[0]?.permit?.release();
    driven.begun[0]?.permit?.release();
    await driven.untilBegun(2, 'When one was released');
    driven.begun[0]?.permit?.release();
    await driven.pass(2 * driven.per);
    checkSame(
      driven.begun.length,
      2,
      'The number of permits that began when the first one of them was released three times',
    );
    driven.checkState(1, 1, 'when the first of three was released three times');
  },

  'does not grant a permit that was aborted while it waited for another': async (open) => {
    const driven = await open({ concurrency: 1 }, 'concurrency');
    const stop = new AbortController();
    driven.acquire();
    const aborted = driven.acquire({ signal: stop.signal });
    driven.acquireMany(2);
    await driven.untilBegun(1, 'With room for one at once');
    stop.abort(new Error('Not wanted any more.'));
    await driven.settle();
    driven.checkState(2, 1, 'as soon as one of three that waited was aborted');
    for (const count of [2, 3]) {
      driven.begun.at(-1)?.permit?.release();
      await driven.untilBegun(count, 'When a permit was released, and the one behind it had been aborted');
    }
    check(aborted.permit === undefined, 'An aborted permit was granted.');
    driven.checkState(0, 1, 'when all but the aborted one began');
  },

  'counts the cost of each route': async (open) => {
    const driven = await open({ requests: 4, costs: { 'testing.dear': 3 } }, 'rate', 'costs');
    const dear = 'testing.dear';
    const cheap = 'testing.route';
    for (const route of [dear, cheap, cheap, dear, dear, cheap]) driven.acquire({ route });
    await driven.untilBegun(6, 'At 4 units a window');
    checkSame(driven.order, [0, 1, 2, 3, 4, 5], 'The order of permits with different costs');
    checkWindows(driven, 4, ({ route }) => (route === dear ? 3 : 1));
  },

  'refuses at once a cost that exceeds every limit': async (open) => {
    const driven = await open({ requests: 4, costs: { 'testing.huge': 5 } }, 'rate', 'costs');
    const huge = driven.acquire({ route: 'testing.huge' });
    driven.acquire();
    await driven.trial.eventually(
      () => huge.refusal !== undefined || huge.permit !== undefined,
      'A permit that can never be granted was not refused',
    );
    checkSluiceError(huge.refusal, 'A permit that can never be granted must be refused with a ConfigError');
    await driven.untilBegun(1, 'Behind one that was refused');
    driven.checkState(0, 1, 'when one was refused and one runs');
  },
};

/** Checks the window before each permit. */
function checkWindows(
  { begun, per }: DrivenLimiter,
  max: number,
  costOf: (permit: RequestedPermit) => number = () => 1,
): void {
  for (const { begunAt: end = 0 } of begun) {
    const within = begun.filter(({ begunAt = 0 }) => begunAt > end - per && begunAt <= end);
    const cost = within.reduce((sum, permit) => sum + costOf(permit), 0);
    check(
      cost <= max,
      `${cost} began in a window of ${per} ms that allows ${max}: at ${within.map(({ begunAt }) => show(begunAt)).join(', ')} ms.`,
    );
  }
}
