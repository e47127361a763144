import { describe, expect, test } from 'vitest';
import { LocalLimiter, unlimited } from '../../src/http/limit/localLimiter.js';
import type { Limiter } from '../../src/kit.js';
import { FakeClock } from '../fakeClock.js';
import { openQuotaApi, patientClock, type QuotaApi } from './quotaRun.js';
import { fixedWindow, githubWindow, type QuotaAnswer } from './quotaServers.js';

/** Says this to the first requests, and the last of it to all others. */
function scripted(...answers: readonly [number, Record<string, string>?][]) {
  let nth = 0;
  return {
    answer(): QuotaAnswer {
      const [status, headers = {}] = answers[Math.min(nth, answers.length - 1)] ?? [500];
      nth += 1;
      return { status, headers };
    },
  };
}

const left = (remaining: number, seconds: number, resource = 'core') => ({
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset': String(seconds),
  'x-ratelimit-resource': resource,
});
const latency: readonly [number, number] = [10, 10];
const open = (server: { answer: (now: number) => QuotaAnswer }, more: object = {}): QuotaApi =>
  openQuotaApi({ servers: { '/': server }, latency, clock: patientClock(), ...more });
const quick = () => ({ clock: new FakeClock() });
const times = ({ given }: QuotaApi, path = '/') => given.filter((each) => each.path === path).map(({ at }) => at);

describe('A4 a refusal', () => {
  test('a 403 with nothing left is a pause until the reset, not an error', async () => {
    await using api = open(scripted([403, left(0, 3_000)], [200, left(4_999, 3_600)]));
    const outcome = api.request();
    await api.clock.advance(3_001_015);
    expect(times(api)).toEqual([10]);
    expect(api.client.limiters.get('api')).toMatchObject({ queued: 1, running: 0, pausedFor: 5 });
    await api.clock.advance(30);
    await outcome;
    expect(times(api)).toEqual([10, 3_001_030]);
    const quota = { remaining: 0, resetAt: new Date(api.clock.now() - 3_001_045 + 3_000_020).toISOString() };
    expect(api.events).toContainEqual(expect.objectContaining({ type: 'paused', for: 3_001_000, quota }));
    expect(api.events).toContainEqual(expect.objectContaining({ type: 'response', status: 403, quota }));
    expect(api.events).toContainEqual(
      expect.objectContaining({ type: 'response', status: 200, quota: expect.objectContaining({ remaining: 4_999 }) }),
    );
    expect(api.events).toContainEqual(
      expect.objectContaining({ type: 'retry', reason: 'rate-limited', delay: 3_001_000 }),
    );
  });

  test('a 403 with something left is final, also after one that was a pause', async () => {
    await using first = open(scripted([403, left(7, 60)]));
    const refused = expect(first.request()).rejects.toMatchObject({ code: 'http', status: 403 });
    await first.clock.advance(100);
    await refused;
    await using second = open(scripted([403, left(0, 60)], [403, left(7, 60)]));
    const refusedLater = expect(second.request()).rejects.toMatchObject({ code: 'http', status: 403 });
    await second.clock.advance(62_000);
    await refusedLater;
    expect(second.given).toHaveLength(2);
  });

  test('R1 a 403 with Retry-After is a pause, and final after three of them', async () => {
    const asked = { 'retry-after': '30' };
    await using api = open(scripted([403, asked], [200]));
    const outcome = api.request();
    await api.clock.advance(31_000);
    await outcome;
    expect(times(api)).toEqual([10, 30_030]);
    await using other = open(scripted([403, { ...left(7, 60), ...asked }]));
    const refused = expect(other.request()).rejects.toMatchObject({ code: 'http', status: 403 });
    await other.clock.advance(130_000);
    await refused;
    expect(other.given).toHaveLength(4);
  });

  test('a 403 without a quota is final, as without this option', async () => {
    await using api = open(scripted([403]));
    const refused = expect(api.request()).rejects.toMatchObject({ code: 'http' });
    await api.clock.advance(100);
    await refused;
  });

  test.each([403, 429])(
    'a %i with nothing left and without a reset is a pause as long as a back-off',
    async (status) => {
      const gone = { 'x-ratelimit-remaining': '0' };
      await using api = open(scripted([status, gone], [status, gone], [200]));
      const outcomes = [api.request(), api.request()];
      await api.clock.advance(5_000);
      await Promise.all(outcomes);
      const [first = NaN, second = NaN, third = NaN] = times(api);
      expect(api.given.map((each) => each.status)).toEqual([status, status, 200, 200]);
      const pauses = api.events.filter((event) => event.type === 'paused');
      expect(pauses).toHaveLength(2);
      for (const [at, gap] of [second - first, third - second].entries())
        expect(gap).toBeGreaterThanOrEqual(pauses[at]?.for ?? NaN);
    },
  );

  test('a 403 with nothing left and without a reset is an error when the time for retries is over', async () => {
    await using api = open(scripted([403, { 'x-ratelimit-remaining': '0' }]), { client: { retry: { for: 5_000 } } });
    const refused = expect(api.request()).rejects.toMatchObject({ code: 'rate-limited', status: 403 });
    await api.clock.advance(60_000);
    await refused;
    expect(api.given.length).toBeGreaterThan(2);
    expect(times(api).at(-1)).toBeLessThan(10_000);
  });

  test('a 403 with nothing left, without a reset and with an absurd Retry-After holds back the others for a day at most', async () => {
    const absurd = { 'x-ratelimit-remaining': '0', 'retry-after': '99999999' };
    await using api = open(scripted([403, absurd], [200]));
    const refused = expect(api.request()).rejects.toMatchObject({ code: 'rate-limited', status: 403 });
    await api.clock.advance(100);
    await refused;
    const later = api.request();
    await api.clock.advance(24 * 3_600_000 + 70_000);
    await later;
    expect(times(api)[1]).toBeGreaterThan(23 * 3_600_000);
  });

  test('a 403 with nothing left, without a reset and with Retry-After waits that long', async () => {
    await using api = open(scripted([403, { 'x-ratelimit-remaining': '0', 'retry-after': '600' }], [200]));
    const outcome = api.request();
    await api.clock.advance(602_000);
    await outcome;
    expect(times(api)).toEqual([10, 601_030]);
  });

  test('a 403 with nothing left and without a reset waits for the reset of an earlier response', async () => {
    const gone = { 'x-ratelimit-remaining': '0', 'x-ratelimit-resource': 'core' };
    await using api = open(scripted([200, left(3, 60)], [403, gone], [200]));
    const outcomes = [api.request(), api.request()];
    await api.clock.advance(61_500);
    await Promise.all(outcomes);
    const [first = NaN, second = NaN, third = NaN] = times(api);
    expect(second - first).toBeLessThan(30_000);
    expect(third - first).toBeGreaterThanOrEqual(61_000);
    expect(api.given.map((each) => each.status)).toEqual([200, 403, 200]);
  });

  test('a 429 with nothing left waits for the reset, even if that is beyond maxRetryAfter', async () => {
    await using api = open(scripted([429, { ...left(0, 600), 'retry-after': '600' }], [200]));
    const outcome = api.request();
    await api.clock.advance(602_000);
    await outcome;
    expect(times(api)).toEqual([10, 601_030]);
  });

  test('a 500 with nothing left holds back the others, and its own next attempt', async () => {
    await using api = open(scripted([200, left(20, 60)], [500, left(0, 60)], [200, left(20, 60)]));
    const first = api.request();
    await api.clock.advance(50);
    await first;
    const others = [api.request(), api.request(), api.request()];
    await api.clock.advance(60_000);
    expect(api.given.filter(({ status }) => status === 500)).toHaveLength(1);
    expect(api.given.length).toBeLessThanOrEqual(2);
    await api.clock.advance(20_000);
    await Promise.all(others);
  });

  test('after a refusal with something left, one request finds out before the others start', async () => {
    await using api = open(
      scripted([200, left(50, 60)], [429, { ...left(50, 60), 'retry-after': '20' }], [200, left(50, 60)]),
    );
    const first = api.request();
    await api.clock.advance(50);
    await first;
    const others = Array.from({ length: 4 }, () => api.request());
    await api.clock.advance(120_000);
    await Promise.all(others);
    const [, refusedAt = 0, probedAt = 0, next = 0] = times(api);
    const inFlight = times(api).filter((at) => at > refusedAt && at < refusedAt + 20_000);
    expect(inFlight).toEqual([]);
    expect(probedAt).toBeGreaterThanOrEqual(refusedAt + 20_000);
    expect(next).toBeGreaterThanOrEqual(probedAt + 20);
  });
});

describe('A4 a wait that is too long', () => {
  test('is a RateLimitError with retryAt, for the refused request and for all others', async () => {
    await using api = open(scripted([429, left(0, 4_000)], [200]));
    const refused = expect(api.request()).rejects.toMatchObject({
      code: 'rate-limited',
      status: 429,
      retryAt: new Date(api.clock.now() + 4_001_020),
    });
    const other = expect(api.request()).rejects.toMatchObject({ code: 'rate-limited', retryAt: expect.any(Date) });
    await api.clock.advance(100);
    await Promise.all([refused, other]);
    expect(api.given).toHaveLength(1);
    expect(api.events.some(({ type }) => type === 'retry')).toBe(false);
    await api.clock.advance(200_000);
    const later = api.request();
    await api.clock.advance(3_900_000);
    await later;
  });

  test('is measured by maxQuotaWait', async () => {
    await using api = open(scripted([200, left(0, 60)]), { quota: { maxQuotaWait: 10_000 } });
    const first = api.request();
    await api.clock.advance(100);
    await first;
    await expect(api.request()).rejects.toMatchObject({ code: 'rate-limited' });
  });

  test('a quota whose reset is too far away is used without spreading, and then is an error', async () => {
    await using api = open(fixedWindow({ requests: 20, per: 86_400_000 }), quick());
    const failures = api.keepRequesting(8);
    await api.clock.advance(2_000);
    api.stop();
    expect(api.given.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(failures[0]).toMatchObject({ code: 'rate-limited', retryAt: new Date(Date.UTC(2030, 0, 2, 0, 0, 1, 20)) });
  });

  test('nonsense in the headers never stops a client', { tags: ['slow'] }, async () => {
    const reset = String(Date.UTC(2030) / 1000 + 1e9);
    for (const headers of [
      { 'x-ratelimit-remaining': '-1', 'x-ratelimit-reset': '60' },
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset },
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '60, 60' },
      { ratelimit: '"a";r=0;t=99999999999' },
      { 'retry-after': '1e99', 'x-ratelimit-remaining': 'none' },
    ]) {
      await using api = open(scripted([200, headers]), quick());
      const failures = api.keepRequesting(2);
      await api.clock.advance(1_000);
      api.stop();
      expect(failures).toEqual([]);
      expect(api.given.length).toBeGreaterThan(50);
    }
  });
});

describe('A4 several quotas', () => {
  test('those of other resources go on while one is used up', { tags: ['slow'] }, async () => {
    const servers = {
      '/core': githubWindow({ requests: 900, per: 60_000 }),
      '/search': githubWindow({ requests: 5, per: 60_000 }, 'search'),
    };
    await using api = openQuotaApi({ servers, latency });
    const failures = [...api.keepRequesting(4, '/core'), ...api.keepRequesting(4, '/search')];
    await api.clock.advance(600_000);
    api.stop();
    expect(failures).toEqual([]);
    expect(api.given.filter(({ status }) => status === 403).length).toBeLessThanOrEqual(1);
    expect(times(api, '/core').length).toBeGreaterThan(8_000);
    expect(times(api, '/search').length).toBeGreaterThanOrEqual(45);
  });

  test('an API may make up any number of names', { tags: ['slow'] }, async () => {
    let nth = 0;
    await using api = open({ answer: () => ({ status: 200, headers: left(9, 60, `r${(nth += 1)}`) }) }, quick());
    api.keepRequesting(4);
    await api.clock.advance(60_000);
    api.stop();
    expect(api.given.length).toBeGreaterThan(500);
  });

  test('before the first response, one request finds out whether there is a quota', async () => {
    await using none = open(scripted([200]));
    none.keepRequesting(4);
    await none.clock.advance(45);
    expect(times(none)).toEqual([10, 30, 30, 30, 30]);
    none.stop();
    await using used = open(scripted([429, left(0, 60)], [200, left(99, 60)]));
    used.keepRequesting(8);
    await used.clock.advance(62_000);
    expect(used.given.filter(({ status }) => status === 429)).toHaveLength(1);
    used.stop();
  });
});

describe('A4 with other limiters', () => {
  test('a rate limit and the quota apply together', { tags: ['slow'] }, async () => {
    const clock = patientClock();
    const rate = new LocalLimiter([{ requests: 5, per: 1_000, concurrency: 2 }], clock);
    let running = 0;
    let most = 0;
    const counted: Limiter = {
      async acquire(request) {
        const permit = await rate.acquire(request);
        most = Math.max(most, (running += 1));
        return {
          release() {
            running -= 1;
            permit.release();
          },
        };
      },
      pause: (ms) => rate.pause(ms),
      get state() {
        return rate.state;
      },
    };
    await using api = open(fixedWindow({ requests: 30, per: 60_000 }), {
      endpoint: { limiter: counted },
      clock,
    });
    expect(api.client.limiters.get('api')).toMatchObject({ queued: 0, running: 0, pausedFor: 0 });
    const failures = api.keepRequesting(8);
    for (let turn = 0; turn < 500; turn += 1) await clock.advance(250);
    api.stop();
    expect(failures).toEqual([]);
    expect(most).toBeLessThanOrEqual(2);
    expect(api.given.filter(({ status }) => status !== 200)).toEqual([]);
    expect(api.given.length).toBeGreaterThanOrEqual(54);
  });

  test('a request that waits for its quota holds no permit of a limiter that is shared', async () => {
    const clock = patientClock();
    const shared = unlimited(clock);
    await using api = open(scripted([200, left(0, 60)]), { endpoint: { limiter: shared }, clock });
    const first = api.request();
    await clock.advance(50);
    await first;
    void api.request();
    await clock.advance(1_000);
    expect(shared.state).toMatchObject({ queued: 0, running: 0, pausedFor: 0 });
    expect(api.client.limiters.get('api')).toMatchObject({ queued: 1, running: 0, pausedFor: 59_970 });
    await clock.advance(61_000);
  });

  test('L4 what keeps the other limiter from giving permits is shown', async () => {
    const clock = patientClock();
    const outage = { cause: 'no connection to Redis', for: 2_000 };
    const away: Limiter = {
      acquire: () => Promise.reject(new Error('No connection.')),
      pause: () => undefined,
      state: { queued: 1, running: 0, pausedFor: 0, outage },
    };
    await using api = open(scripted([200, left(9, 60)]), { endpoint: { limiter: away }, clock });
    expect(api.client.limiters.get('api')).toEqual({ queued: 1, running: 0, pausedFor: 0, outage });
  });

  test('less may be left when the other limiter lets a request start', async () => {
    const clock = patientClock();
    const shared = unlimited(clock);
    await using api = open(scripted([200, left(9, 60)], [200, left(0, 60)], [200, left(50, 60)]), {
      endpoint: { limiter: shared },
      clock,
    });
    const first = api.request();
    await clock.advance(50);
    await first;
    const second = api.request();
    await clock.advance(12);
    // It is admitted by the quota, and then waits for the other limiter.
    shared.pause(20_000);
    const third = api.request();
    await clock.advance(30_000);
    await second;
    expect(api.given).toHaveLength(2);
    await clock.advance(40_000);
    await third;
    expect(api.given[2]?.at).toBeGreaterThan(60_000);
  });

  test('without a rate, only the quota and its concurrency limit the requests', { tags: ['slow'] }, async () => {
    let open = 0;
    let most = 0;
    const server = {
      answer: () => {
        most = Math.max(most, (open += 1));
        return { status: 200, headers: {} };
      },
    };
    await using api = openQuotaApi({ servers: { '/': server }, quota: { concurrency: 3 }, latency });
    api.client.events.subscribe(({ type }) => {
      if (type === 'settled') open -= 1;
    });
    api.keepRequesting(8);
    await api.clock.advance(10_000);
    api.stop();
    expect(most).toBe(3);
    expect(api.given.length).toBeGreaterThan(1_400);
  });

  test('a request that is cancelled while it waits for the quota leaves at once', async () => {
    await using api = open(scripted([200, left(0, 60)]));
    const first = api.request();
    await api.clock.advance(50);
    await first;
    const stop = new AbortController();
    const stopped = expect(api.request({ signal: stop.signal })).rejects.toBe('enough');
    await api.clock.advance(50);
    stop.abort('enough');
    await stopped;
    expect(api.client.limiters.get('api')).toMatchObject({ queued: 0, pausedFor: 0 });
    // The limiter's last report is the only timer that was left.
    await api.clock.advance(250);
    expect(api.clock.pending).toEqual([]);
  });

  test('closing the client ends those that wait for the quota', async () => {
    const api = open(scripted([200, left(0, 60)]));
    const first = api.request();
    await api.clock.advance(50);
    await first;
    const ended = expect(api.request()).rejects.toMatchObject({ code: 'network' });
    await api.clock.advance(50);
    await api.client.close();
    await ended;
    expect(api.clock.pending).toEqual([]);
  });
});
