import { describe, expect, test } from 'vitest';
import type { ClientEvent } from '../../src/index.js';
import { causeOf, healthLevel, healthText, RunJudge, type RunHealth } from '../../src/health/index.js';
import type { Delivery, LimiterEvent } from '../../src/kit.js';

const route = 'test.rows';
const error = (status: number) => ({ name: 'HttpError', message: 'It failed.', code: 'http', details: { status } });
const request = (n: number): ClientEvent => ({
  type: 'request',
  route,
  request: n,
  method: 'GET',
  url: 'https://a.io/',
});
const attempt = (n: number): ClientEvent => ({ type: 'attempt', route, request: n, attempt: 1, waited: 0 });
const retry = (n: number, delay: number, status: number): ClientEvent => {
  const reason = status === 429 ? 'rate-limited' : 'http';
  return { type: 'retry', route, request: n, attempt: 1, delay, left: 60_000, reason, error: error(status) };
};
const settled = (n: number): ClientEvent => {
  return { type: 'settled', route, request: n, attempts: 1, took: 1, outcome: 'answered', status: 200 };
};
const failed = (n: number, status: number): ClientEvent => {
  return { type: 'settled', route, request: n, attempts: 1, took: 1, outcome: 'failed', error: error(status) };
};
const paused = (n: number, resetAt?: string): ClientEvent => {
  const quota = resetAt === undefined ? {} : { quota: { remaining: 0, resetAt } };
  return { type: 'paused', route, request: n, for: 5_000, ...quota };
};
const limiter = (state: Partial<LimiterEvent>): ClientEvent => {
  return { type: 'limiter', apis: ['a'], used: 0, limit: 5, per: 1_000, queued: 1, running: 0, paused: 0, ...state };
};
const write: ClientEvent = { type: 'sink', source: route, sink: 'csv', call: 'write' };
const written: ClientEvent = { ...write, took: 1 };
const away = (cause: string, lasted: number): ClientEvent => {
  return { type: 'outage', source: route, sink: 'postgres', cause, for: lasted, left: 60_000, error: error(0) };
};
const there: ClientEvent = { type: 'outage', source: route, sink: 'postgres' };
const flush: ClientEvent = { ...write, call: 'flush' };
const flushed: ClientEvent = { ...flush, took: 1 };
const append: ClientEvent = { type: 'sink', source: route, sink: 'csv', call: 'state.append' };
const appended: ClientEvent = { ...append, took: 10 };
const deliver = (
  step: Delivery['step'],
  status?: number,
  { waiting = step === 'accepted' ? 0 : 1, records }: Partial<Pick<Delivery, 'waiting' | 'records'>> = {},
): ClientEvent => {
  const more = status === undefined ? {} : { status, error: error(status) };
  return { type: 'delivery', source: route, sink: 'webhook', step, waiting, records, ...more };
};

type Step = readonly [ms: number, event: ClientEvent];

function healthAfter(steps: readonly Step[], now: number): RunHealth {
  const judge = new RunJudge();
  for (const [ms, event] of steps) judge.follow(event, ms);
  return judge.health(now);
}

/** Requests that take so long, one after the other; each has so many records of those that wait. @param pause ms between them */
function delivering({
  took,
  waiting,
  records = 1,
  count = 6,
  pause = 0,
}: Record<'took' | 'waiting', number> & { records?: number; count?: number; pause?: number }): Step[] {
  return Array.from({ length: count }, (_, nth): Step[] => {
    const at = nth * (took + pause);
    const after = { waiting: waiting + records * (count - nth - 1) };
    const queued: Step[] = pause > 0 ? [[at + took, deliver('queued', undefined, after)]] : [];
    return [
      [at, deliver('sent', undefined, { waiting: after.waiting + records })],
      [at + took, deliver('accepted', undefined, { ...after, records })],
      ...queued,
    ];
  }).flat();
}

const sending = (ms: number): readonly Step[] => [
  [ms, write],
  [ms, deliver('sent')],
  [ms, written],
  [ms, flush],
];

const sent: readonly Step[] = [
  [0, request(1)],
  [0, attempt(1)],
];

describe('what holds a run up', () => {
  test.each<[string, readonly Step[], number, RunHealth]>([
    ['nothing was sent', [[0, request(1)]], 900, { kind: 'starting' }],
    ['a request is under way', sent, 900, { kind: 'pace', part: 'api' }],
    ['it takes long', [...sent, [0, request(2)]], 4_000, { kind: 'response', since: 4_000 }],
    ['it was answered', [...sent, [50, settled(1)]], 5_000, { kind: 'idle' }],
    ['all wait for the limiter', [[0, request(1)]], 3_000, { kind: 'limit', since: 3_000 }],
    ['the first retry is near', [...sent, [0, retry(1, 200, 500)]], 900, { kind: 'pace', part: 'api' }],
    [
      'the first retry is far',
      [...sent, [0, retry(1, 6_000, 503)]],
      10,
      { kind: 'retry', since: 10, left: 5_990, cause: 'HTTP 503' },
    ],
    [
      'the next one is on its way',
      [...sent, [0, retry(1, 900, 503)], [900, attempt(1)]],
      1_500,
      { kind: 'retry', since: 1_500, left: 0, cause: 'HTTP 503' },
    ],
    [
      'others succeed meanwhile',
      [...sent, [0, retry(1, 9_000, 503)], [500, request(2)], [500, attempt(2)], [900, settled(2)]],
      2_000,
      { kind: 'pace', part: 'api' },
    ],
    [
      'a poll has failed, and the next one is not due',
      [...sent, [40, failed(1, 502)]],
      9_040,
      { kind: 'retry', since: 9_040, left: undefined, cause: 'HTTP 502' },
    ],
    [
      'a request that hung has failed',
      [...sent, [15_000, retry(1, 500, 504)]],
      15_100,
      { kind: 'retry', since: 15_100, left: 400, cause: 'HTTP 504' },
    ],
    [
      'one that hung has failed, and others were answered meanwhile',
      [...sent, [0, request(2)], [0, attempt(2)], [14_000, settled(2)], [15_000, retry(1, 500, 504)]],
      15_100,
      { kind: 'retry', since: 1_100, left: 400, cause: 'HTTP 504' },
    ],
    [
      'the API asks for a pause',
      [...sent, [0, paused(1)], [0, retry(1, 5_000, 429)]],
      1_000,
      { kind: 'pause', left: 4_000, refusedFor: 1_000, cause: 'HTTP 429' },
    ],
    [
      'a quota is used up',
      [...sent, [0, paused(1, '2026-03-01T14:05:09.000Z')]],
      1_000,
      { kind: 'pause', left: 4_000, cause: 'quota used up until 14:05 UTC' },
    ],
    [
      'another process was refused',
      [
        [0, request(1)],
        [0, limiter({ paused: 3_000 })],
      ],
      1_000,
      { kind: 'pause', left: 2_000 },
    ],
    [
      'the budget is used up',
      [
        [0, request(1)],
        [0, limiter({ paused: 3_600_000, cause: 'budget' })],
      ],
      1_000,
      { kind: 'pause', left: 3_599_000, isBudget: true },
    ],
    [
      "the limiter's server is away",
      [
        [0, request(1)],
        [2_000, limiter({ outage: { cause: 'no connection to Redis', for: 1_500 } })],
      ],
      4_000,
      { kind: 'limit', since: 3_500, cause: 'no connection to Redis' },
    ],
    ['the target is busy', [...sent, [10, settled(1)], [20, write]], 3_020, { kind: 'target', since: 3_000 }],
    ['it is no longer', [...sent, [10, settled(1)], [20, write], [2_000, written]], 9_000, { kind: 'idle' }],
    [
      'no delivery succeeds, while the API is asked',
      [...sent, [10, deliver('sent')], [20, deliver('retry', 502)], [700, deliver('retry', 500)]],
      2_020,
      { kind: 'target', since: 2_010, cause: 'HTTP 500' },
    ],
    [
      'one succeeds',
      [...sent, [10, settled(1)], [20, deliver('retry', 502)], [700, deliver('accepted')]],
      9_000,
      { kind: 'idle' },
    ],
    [
      'the target took a record, and the sink still waits for others',
      [...sent, [10, settled(1)], [20, write], [20, deliver('sent')], [9_000, deliver('accepted')]],
      12_000,
      { kind: 'target', since: 3_000 },
    ],
    [
      'a delivery that hung has failed, while the sink waits for it',
      [...sent, [10, settled(1)], [20, write], [20, deliver('sent')], [15_020, deliver('retry', 504)]],
      15_120,
      { kind: 'target', since: 15_100, cause: 'HTTP 504' },
    ],
    [
      'a delivery fails long after all before it were accepted',
      [
        ...sent,
        [10, settled(1)],
        ...sending(20),
        [30, deliver('accepted')],
        [30, flushed],
        ...sending(3_600_000),
        [3_600_010, deliver('retry', 503)],
      ],
      3_602_000,
      { kind: 'target', since: 2_000, cause: 'HTTP 503' },
    ],
    [
      'each record is refused',
      [
        ...sent,
        [10, settled(1)],
        [20, deliver('sent')],
        [30, deliver('refused', 422)],
        [40, deliver('refused', 422)],
        [50, deliver('refused', 422)],
      ],
      9_020,
      { kind: 'target', since: 9_000, cause: 'HTTP 422' },
    ],
    [
      'the target is away, and no call of the sink is open',
      [...sent, [10, settled(1)], [4_000, away('connection refused', 3_000)]],
      9_000,
      { kind: 'target', since: 8_000, cause: 'connection refused' },
    ],
    [
      'it is away for another reason',
      [...sent, [10, settled(1)], [4_000, away('connection refused', 3_000)], [5_000, away('server not ready', 4_000)]],
      9_000,
      { kind: 'target', since: 8_000, cause: 'server not ready' },
    ],
    [
      'it is there again',
      [...sent, [10, settled(1)], [4_000, away('locked', 3_000)], [5_000, there]],
      9_000,
      { kind: 'idle' },
    ],
    [
      'a call of the sink is silent for long',
      [...sent, [10, settled(1)], [20, flush]],
      8_020,
      { kind: 'target', since: 8_000, cause: 'flush has not ended' },
    ],
    [
      'it was as slow the time before',
      [...sent, [10, settled(1)], [20, flush], [6_020, flushed], [6_020, flush]],
      15_020,
      { kind: 'target', since: 9_000 },
    ],
    [
      'another call was slow before',
      [...sent, [10, settled(1)], [20, flush], [6_020, flushed], [6_020, write]],
      15_020,
      { kind: 'target', since: 9_000, cause: 'write has not ended' },
    ],
    [
      'deliveries take as long as the one before',
      [...sent, [10, settled(1)], [20, flush], [20, deliver('sent')], [7_020, deliver('accepted')]],
      16_020,
      { kind: 'target', since: 9_000 },
    ],
    [
      'several deliveries are accepted at once, each as slow as the ones before, and their state is stored meanwhile',
      [
        ...[...sent, [10, settled(1)], [20, flush], [20, deliver('sent')]],
        ...[
          [7_020, deliver('accepted')],
          [7_021, deliver('accepted')],
          [7_022, append],
          [7_024, appended],
        ],
      ] as const,
      16_021,
      { kind: 'target', since: 9_000 },
    ],
    [
      'a state was stored within the call that is silent for long',
      [...sent, [10, settled(1)], [20, flush], [30, append], [40, appended]],
      8_020,
      { kind: 'target', since: 8_000, cause: 'flush has not ended' },
    ],
    ['the API is silent for long', sent, 8_000, { kind: 'response', since: 8_000, cause: 'no response' }],
    [
      'it took as long to respond before',
      [...sent, [6_000, settled(1)], [6_000, request(2)], [6_000, attempt(2)]],
      15_000,
      { kind: 'response', since: 9_000 },
    ],
    [
      'one is refused for its content',
      [...sent, [10, settled(1)], [20, deliver('retry', 502)], [700, deliver('refused', 422)]],
      9_000,
      { kind: 'idle' },
    ],
  ])('if %s', (_, steps, now, health) => {
    expect(healthAfter(steps, now)).toEqual(health);
  });

  test.each<[string, readonly Step[], number, RunHealth]>([
    [
      'takes 2.5 s for each change of a watch, whose polls go on',
      delivering({ took: 2_500, waiting: 52 }),
      16_000,
      { kind: 'pace', part: 'target', backlog: { waiting: 52, each: 2_500 } },
    ],
    [
      'takes 4 s for 20 records at once',
      delivering({ took: 4_000, waiting: 3_000, records: 20 }),
      24_100,
      { kind: 'pace', part: 'target', backlog: { waiting: 3_000, each: 200 } },
    ],
    [
      'was down for a while, which is not its pace',
      [
        ...delivering({ took: 1_000, waiting: 70 }),
        [6_000, deliver('sent', undefined, { waiting: 70 })],
        [6_100, deliver('retry', 503, { waiting: 70 })],
        [66_000, deliver('accepted', undefined, { waiting: 69 })],
      ],
      66_500,
      { kind: 'pace', part: 'target', backlog: { waiting: 69, each: 1_000 } },
    ],
    [
      'takes nothing for longer than it did',
      [...delivering({ took: 2_500, waiting: 52 }), [15_000, deliver('sent', undefined, { waiting: 52 })]],
      23_000,
      { kind: 'target', since: 8_000, cause: 'no response' },
    ],
    ['has taken all', delivering({ took: 2_500, waiting: 0 }), 40_000, { kind: 'idle' }],
    ['takes nothing at all', [[0, deliver('sent')]], 4_000, { kind: 'target', since: 4_000 }],
    [
      'is given no more than its own rate limit allows',
      [
        ...delivering({ took: 50, waiting: 9, count: 1 }),
        [50, write],
        [50, deliver('queued', undefined, { waiting: 9 })],
      ],
      59_000,
      { kind: 'pace', part: 'target' },
    ],
    [
      'has a rate limit, which sets the pace',
      delivering({ took: 50, waiting: 9, count: 4, pause: 5_950 }),
      24_000,
      { kind: 'pace', part: 'target', backlog: { waiting: 9, each: 4_728 } },
    ],
    [
      'hangs after it has waited for its rate limit',
      [
        ...delivering({ took: 50, waiting: 9, count: 1 }),
        [50, deliver('queued', undefined, { waiting: 9 })],
        [60_000, deliver('sent', undefined, { waiting: 9 })],
      ],
      68_000,
      { kind: 'target', since: 8_000, cause: 'no response' },
    ],
    [
      'refuses all, although polls succeed',
      [
        [0, deliver('sent')],
        [10, deliver('retry', 503)],
        [2_000, request(1)],
        [2_000, attempt(1)],
        [2_100, settled(1)],
      ],
      6_000,
      { kind: 'target', since: 6_000, cause: 'HTTP 503' },
    ],
  ])('if a webhook %s', (_, steps, now, health) => {
    const found = healthAfter([[0, request(9)], [0, attempt(9)], [0, settled(9)], ...steps], now);
    // A mean is not exact.
    if (found.kind !== 'pace' || !found.backlog) expect(found).toEqual(health);
    else expect({ ...found, backlog: { ...found.backlog, each: Math.round(found.backlog.each) } }).toEqual(health);
  });

  test.each<[RunHealth, Record<'fetch' | 'queue' | 'write', number>]>([
    [
      { kind: 'pace', part: 'api' },
      { fetch: 80, queue: 0, write: 20 },
    ],
    [
      { kind: 'pace', part: 'limiter' },
      { fetch: 20, queue: 170, write: 10 },
    ],
    [
      { kind: 'pace', part: 'limiter' },
      { fetch: 60, queue: 30, write: 10 },
    ],
    [
      { kind: 'pace', part: 'target' },
      { fetch: 20, queue: 0, write: 180 },
    ],
  ])('%j sets the pace if it is busiest: %j', (health, { fetch, queue, write: writing }) => {
    const steps: Step[] = [];
    let now = 0;
    for (let n = 1; n <= 50; n += 1) {
      steps.push([now, request(n)], [(now += queue), attempt(n)], [(now += fetch), settled(n)]);
      steps.push([now, write], [(now += writing), written]);
    }
    expect(healthAfter(steps, now)).toEqual(health);
  });

  test('is said in one sentence, and fails only once it has lasted', () => {
    const cases: RunHealth[] = [
      { kind: 'idle' },
      { kind: 'pace', part: 'limiter' },
      { kind: 'pause', left: 12_000, cause: 'HTTP 429' },
      { kind: 'pause', left: 54_000, refusedFor: 6_000, cause: 'HTTP 429' },
      { kind: 'pause', left: 50_000, refusedFor: 6_000, cause: 'HTTP 429' },
      { kind: 'pause', left: 3_600_000, refusedFor: 4_000, cause: 'HTTP 429' },
      { kind: 'pause', left: 3_600_000, isBudget: true },
      { kind: 'response', since: 8_000, cause: 'no response' },
      { kind: 'response', since: 20_000 },
      { kind: 'retry', since: 4_000, left: 2_000, cause: 'HTTP 503' },
      { kind: 'retry', since: 75_000, left: 0, cause: 'connection refused' },
      { kind: 'retry', since: 75_000, cause: 'HTTP 401' },
      { kind: 'target', since: 12_000, cause: 'HTTP 502' },
      { kind: 'target', since: 12_000 },
      { kind: 'limit', since: 7_200_000 },
      { kind: 'limit', since: 9_000, cause: 'no connection to Redis' },
      { kind: 'pace', part: 'target', backlog: { waiting: 52, each: 2_480 } },
      { kind: 'pace', part: 'target', backlog: { waiting: 12_400, each: 81.4 } },
      { kind: 'pace', part: 'target', backlog: { waiting: 1, each: 70_000 } },
    ];
    expect(cases.map((health) => `${healthLevel(health)}: ${healthText(health, 'the webhook', 'changes')}`)).toEqual([
      'well: Nothing is waited for.',
      'well: The rate limit sets the pace.',
      'waiting: The API allows no request for another 12 s (HTTP 429).',
      'failing: The API allows no request for another 54 s (HTTP 429).',
      'waiting: The API allows no request for another 50 s (HTTP 429).',
      'waiting: The API allows no request for another 1 h 0 min (HTTP 429).',
      'waiting: The run waits for its budget, which returns in 1 h 0 min.',
      'failing: The API has not responded for 8 s.',
      'waiting: The API has not responded for 20 s.',
      'waiting: The API has failed for 4 s (HTTP 503); the next attempt is in 2 s.',
      'failing: The API has failed for 1 min 15 s (connection refused); it is being tried again.',
      'failing: The API has failed for 1 min 15 s (HTTP 401).',
      'failing: The webhook has taken nothing for 12 s (HTTP 502).',
      'waiting: The webhook has taken nothing for 12 s.',
      'waiting: All requests have waited for the rate limit for 2 h 0 min.',
      'failing: All requests have waited for the rate limit for 9 s (no connection to Redis).',
      'well: The webhook sets the pace: 52 changes wait, 2.5 s each.',
      'well: The webhook sets the pace: 12,400 changes wait, 81 ms each.',
      'well: The webhook sets the pace: 1 change waits, 1 min 10 s each.',
    ]);
  });

  test.each([
    [{ code: 'http', details: { status: 503 } }, 'HTTP 503'],
    [{ code: 'rate-limited', details: { status: 429 } }, 'HTTP 429'],
    [{ code: 'network', details: { platformCode: 'ECONNREFUSED' } }, 'connection refused'],
    [{ code: 'network', details: { platformCode: 'CERT_HAS_EXPIRED' } }, 'certificate expired'],
    [{ code: 'network', details: { platformCode: 'SELF_SIGNED_CERT_IN_CHAIN' } }, 'certificate not trusted'],
    [{ code: 'network', details: { platformCode: 'ERR_TLS_CERT_ALTNAME_INVALID' } }, 'certificate not trusted'],
    [{ code: 'network', details: { platformCode: 'EODD' } }, 'no connection'],
    [{ code: 'network' }, 'no connection'],
    [{ code: 'decode', details: { status: 200 } }, 'unreadable response'],
    [{ code: 'timeout', details: { deadline: 'response' } }, 'no response in time'],
    [{ code: 'response-too-large' }, 'response too large'],
    [{}, 'error'],
  ])('the cause of %o', (report, cause) => {
    expect(causeOf(report)).toBe(cause);
  });
});

function limitedAfter(steps: readonly Step[], now: number, parallel?: number): number {
  const judge = new RunJudge({ parallel });
  for (const [ms, event] of steps) judge.follow(event, ms);
  return judge.limitedFor(now);
}

describe('the time in which a rate holds a run up', () => {
  test.each<[string, Parameters<typeof limitedAfter>, number]>([
    ['is none without requests', [[], 100], 0],
    [
      'is none where requests start at once',
      [
        [
          [0, request(1)],
          [0, attempt(1)],
          [90, settled(1)],
        ],
        100,
      ],
      0,
    ],
    [
      'counts waits at the same time once',
      [
        [
          [0, request(1)],
          [5, request(2)],
          [30, attempt(1)],
          [50, attempt(2)],
        ],
        99,
      ],
      50,
    ],
    ['counts what still waits', [[[10, request(1)]], 99], 89],
    [
      'counts while another request is open',
      [
        [
          [0, request(1)],
          [0, attempt(1)],
          [10, request(2)],
          [40, attempt(2)],
        ],
        99,
      ],
      30,
    ],
    [
      'is none while as many are open as may be',
      [
        [
          [0, request(1)],
          [0, attempt(1)],
          [10, request(2)],
          [40, settled(1)],
          [60, attempt(2)],
        ],
        99,
        1,
      ],
      20,
    ],
    [
      'is none in a back-off, and counts from its end',
      [
        [
          [0, request(1)],
          [0, attempt(1)],
          [10, retry(1, 50, 503)],
          [80, attempt(1)],
        ],
        99,
      ],
      20,
    ],
    [
      'is none in a pause',
      [
        [
          [0, request(1)],
          [20, paused(1)],
          [5_070, attempt(1)],
        ],
        5_099,
      ],
      70,
    ],
    [
      'ends with a request that is given up',
      [
        [
          [0, request(1)],
          [30, settled(1)],
        ],
        99,
      ],
      30,
    ],
  ])('%s', (_, given, expected) => {
    expect(limitedAfter(...given)).toBe(expected);
  });
});
