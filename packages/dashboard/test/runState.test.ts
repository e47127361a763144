import type { ClientEvent } from '@sluice/core';
import type { Delivery, LimiterEvent } from '@sluice/core/kit';
import { describe, expect, test } from 'vitest';
import { RunState } from '../src/runState.js';
import type { HealthView, Snapshot } from '../src/snapshot.js';

const start = Date.UTC(2026, 0, 2, 3, 4, 5);
const of = { route: 'test.rows', request: 1 } as const;
const error = { name: 'HttpError', message: 'the server responded with 502.', code: 'http', details: { status: 502 } };

const request: ClientEvent = { type: 'request', ...of, method: 'GET', url: 'https://api.example.com/rows' };
const attempt: ClientEvent = { type: 'attempt', ...of, attempt: 1, waited: 0 };
const settled: ClientEvent = { type: 'settled', ...of, attempts: 1, took: 20, outcome: 'answered', status: 200 };
const retry: ClientEvent = { type: 'retry', ...of, attempt: 1, delay: 5, reason: 'http', error, left: 60_000 };
const write: ClientEvent = { type: 'sink', source: 'test.rows', sink: 'csv', call: 'write' };
const deliver = (step: Delivery['step'], waiting: number): ClientEvent => {
  return { type: 'delivery', source: 'test.rows', sink: 'webhook', step, waiting };
};
const refused = {
  name: 'NetworkError',
  message: 'It is down.',
  code: 'network',
  details: { platformCode: 'ECONNREFUSED' },
};
const repeated: ClientEvent = { ...deliver('retry', 3), error: refused } as ClientEvent;
const failure: ClientEvent = { type: 'error', of: 'export', name: 'test.rows', error };
const page = (
  rows: number,
  more: { readonly partition?: number; readonly total?: number; readonly endsPartition?: true } = {},
): ClientEvent => ({
  type: 'page',
  source: 'test.rows',
  partition: 0,
  page: 1,
  rows,
  ...more,
});
const response = (took: number): ClientEvent => ({ type: 'response', ...of, attempt: 1, status: 200, took });
const commit = (rows: number, isSealed = false): ClientEvent => ({
  type: 'commit',
  source: 'test.rows',
  sink: 'csv',
  rows,
  pages: 1,
  isSealed,
});
const limiter = (state: Partial<LimiterEvent>): ClientEvent => ({
  type: 'limiter',
  apis: ['test'],
  used: 0,
  limit: 5,
  per: 1_000,
  queued: 0,
  running: 0,
  paused: 0,
  ...state,
});

type Step = readonly [ms: number, event: ClientEvent];

function folded(steps: readonly Step[], kind: 'export' | 'watch' = 'export'): RunState {
  const state = new RunState({ kind, title: 'test.rows' }, start);
  for (const [ms, event] of steps) state.fold(event, start + ms);
  return state;
}

function at(ms: number, steps: readonly Step[], kind?: 'watch'): Snapshot {
  return folded(steps, kind).snapshot(start + ms, 300);
}

const sent: readonly Step[] = [
  [0, request],
  [0, attempt],
];

describe('the state of a run', () => {
  const retried: Step = [50, { ...retry, delay: 2_000 }];
  const failed: readonly Step[] = [...sent, [50, retry], [60, attempt]];
  test.each<[HealthView['level'], string, number, readonly Step[], 'watch'?]>([
    ['well', 'No request was sent yet.', 0, []],
    ['well', 'The API sets the pace.', 100, sent],
    ['well', 'Nothing is waited for.', 9_000, [...sent, [50, settled]]],
    ['well', 'All is quiet until the next poll.', 9_000, [...sent, [50, settled]], 'watch'],
    ['waiting', 'The API has failed for 1 s (HTTP 502); the next attempt is in 1 s.', 1_100, [...sent, retried]],
    ['failing', 'The API has failed for 9 s (HTTP 502); it is being tried again.', 9_000, failed],
    ['failing', 'The webhook has taken nothing for 8 s (connection refused).', 9_000, [[1_000, repeated]], 'watch'],
    ['waiting', 'The target has taken nothing for 3 s.', 3_100, [[100, write]]],
  ])('is %s: %s', (level, text, ms, steps, kind) => {
    expect(at(ms, steps, kind).health).toMatchObject({ level, text });
  });

  test('counts deliveries, and knows the last answer', () => {
    const steps: Step[] = [
      [1, deliver('sent', 3)],
      [2, repeated],
      [3, deliver('sent', 3)],
      [4, deliver('accepted', 2)],
      [5, deliver('dead-letter', 1)],
    ];
    const sums = { repeated: 1, accepted: 1, waiting: 1, deadLetters: 1 };
    expect(at(10, steps).deliveries).toEqual({
      ...sums,
      last: { at: start + 4, answer: 'HTTP 200', isAccepted: true },
    });
    // A commit of a watch does not wait for them.
    expect(at(10, [...steps, [6, commit(3)]]).deliveries).toMatchObject({ waiting: 1 });
    expect(at(10, sent).deliveries).toBeNull();
  });

  test('lists each record that an endpoint refuses', () => {
    const refused = {
      ...deliver('refused', 1),
      status: 422,
      error: { ...error, message: 'It is too long.' },
    } as ClientEvent;
    expect(at(10, [[1, refused]]).problems).toMatchObject([{ level: 'warning', message: 'It is too long.' }]);
  });

  test('lists what went wrong with its reason, each once', () => {
    const { problems, retries } = at(10, [...sent, [1, retry], [2, retry], [3, repeated]]);
    expect(problems).toMatchObject([
      { level: 'warning', from: 'webhook', message: 'connection refused: It is down.', count: 1 },
      { level: 'warning', from: 'test.rows', message: error.message, count: 2, at: start + 2 },
    ]);
    expect(retries).toMatchObject([
      { reason: 'HTTP 502', count: 2, at: start + 2 },
      { reason: 'webhook: connection refused', count: 1 },
    ]);
  });

  test('counts an error once on its way up, and again when it comes again', () => {
    const report = { ...error, summary: 'It is down.' };
    const failed = (of: 'request' | 'walk' | 'watch'): ClientEvent => ({
      type: 'error',
      of,
      name: 'test.rows',
      error: report,
    });
    const poll = (ms: number): Step[] => [
      [ms, failed('request')],
      [ms, failed('walk')],
      [ms, failed('watch')],
    ];
    expect(at(10, [...poll(1), ...poll(2)]).problems).toMatchObject([{ message: 'It is down.', count: 2 }]);
    const unread = (ms: number): Step[] => poll(ms).slice(1);
    expect(at(10, [...unread(1), ...unread(2)]).problems).toMatchObject([{ count: 2 }]);
  });

  test('has no values before its start, and no changes while nothing succeeded', () => {
    const steps: Step[] = [
      ...sent,
      [500, settled],
      [1_000, page(5)],
      [2_000, request],
      [2_000, attempt],
      [2_100, retry],
    ];
    const { series } = at(21_000, [...steps, [20_000, settled]]);
    const shown = (values: readonly (number | null)[]): string => values.map((value) => value ?? '-').join('');
    const before = '-'.repeat(series.rows.length - 21);
    // That no row arrived is known.
    expect(shown(series.rows)).toBe(`${before}05${'0'.repeat(19)}`);
    expect(shown(series.changes)).toBe(`${before}00${'-'.repeat(18)}0`);
  });

  test('counts rows, requests, retries by reason, and the slowest responses', () => {
    const steps: Step[] = [...sent, [1, page(100)], [2, page(50)], [3, retry], [4, retry], [5, failure]];
    for (let took = 1; took <= 20; took += 1) steps.push([6, response(took)]);
    const { totals, retries, slowest, problems } = at(10, steps);
    expect(totals).toMatchObject({ rows: 150, pages: 2, requests: 1, retries: 2 });
    expect(retries).toEqual([{ reason: 'HTTP 502', count: 2, at: start + 4 }]);
    expect(slowest.map(({ took }) => took)).toEqual([20, 19, 18, 17, 16, 15, 14, 13]);
    expect(problems[0]).toEqual({ at: start + 5, level: 'error', from: 'test.rows', message: error.message, count: 1 });
  });

  test('estimates the end from the rows that are expected, never as 0; partitions tell only how many are done', () => {
    const rows: Step[] = [...sent, [1_000, page(100, { total: 1_100 })]];
    expect(at(2_000, rows)).toMatchObject({ pace: 50, expectedRows: 1_100, left: 20_000 });
    expect(at(2_000, [...rows, [1_500, page(1_200, { total: 1_100 })]])).toMatchObject({ left: 1_000 });
    const state = folded([...sent, [500, page(10, { endsPartition: true })], [1_000, page(10, { partition: 3 })]]);
    state.show({ partitions: 8, resumedPartitions: 2 });
    expect(state.snapshot(start + 2_000, 300)).toMatchObject({ left: null, partitions: { begun: 4, done: 3, of: 8 } });
  });

  test.each<[string, readonly Step[], object]>([
    ['finished, once it is sealed', [...sent, [5, commit(10, true)]], { outcome: 'finished' }],
    ['failed, with the error of the export', [...sent, [5, failure]], { outcome: 'failed', message: error.message }],
    ['stopped, otherwise', [...sent, [5, commit(10)]], { outcome: 'stopped' }],
  ])('has ended as %s', (_how, steps, ending) => {
    const state = folded(steps);
    expect(state.outcome).toEqual(ending);
    state.end(state.outcome, start + 2_000);
    state.end({ outcome: 'stopped' }, start + 9_000);
    expect(state.snapshot(start + 10_000, 300)).toMatchObject({ end: { ...ending, at: start + 2_000 }, left: null });
  });

  test('shows a run on several machines', () => {
    const state = new RunState({ kind: 'cluster', title: 'holdings' }, start);
    const cluster = { partitions: 100, done: 40, rows: 4_000, active: 2, delayed: 0, failed: 0 };
    state.showCluster({ ...cluster, failures: [], workers: [] }, start);
    state.showCluster({ ...cluster, done: 50, rows: 5_000, failures: [], workers: [] }, start + 10_000);
    expect(state.snapshot(start + 10_000, 300)).toMatchObject({ left: null, pace: 100 });
  });

  test('another task counts its rows from 0 and keeps the requests', () => {
    const state = folded([...sent, [1, page(100)], [2, commit(100, true)]]);
    state.show({ title: 'test.others' });
    const { totals, about } = state.snapshot(start + 10, 300);
    expect(totals).toMatchObject({ rows: 0, committedRows: 0, requests: 1 });
    expect(about).toEqual({ kind: 'export', title: 'test.others' });
  });

  test(
    'U2 a snapshot has at most 64,000 bytes, whatever the texts are, and nothing of it grows',
    { tags: ['slow'] },
    () => {
      const state = new RunState({ kind: 'watch', title: '\u0000'.repeat(5_000), target: 'é'.repeat(5_000) }, start);
      const long = '\u0001'.repeat(9_000);
      const observedAt = new Date(start).toISOString();
      for (let nth = 0; nth < 20_000; nth += 1) {
        const key = `${nth} ${long.slice(0, nth % 90)}`;
        const now = start + 1_000 * nth;
        const after = `${nth % 40} ${long.slice(0, 40)}`;
        state.fold({ type: 'change', source: 'a', key, kind: 'added', before: null, after, observedAt }, now);
        const rule = { rule: long, kind: 'due', earliest: null, latest: observedAt, times: 1 } as const;
        state.fold({ type: 'due', source: 'a', key, ...rule, observedAt }, now);
        state.fold({ ...retry, reason: `${nth} ${long}` }, now);
        state.fold({ type: 'warning', message: long, plugin: long }, now);
        state.fold({ ...response(nth), route: long } as ClientEvent, now);
        state.fold({ type: 'paused', route: long, request: 1, for: 5 }, now);
        state.fold(limiter({ apis: [`${nth} ${long}`] }), now);
        state.fold(page(9_999, { partition: nth }), now);
        state.fold(commit(nth), now);
      }
      for (const span of [60, 3_600, Infinity]) {
        const snapshot = state.snapshot(start + 20_000_000, span);
        expect(Buffer.byteLength(JSON.stringify(snapshot))).toBeLessThanOrEqual(64_000);
        expect(snapshot.series.rows.length).toBeLessThanOrEqual(300);
        expect(snapshot.board?.names).toHaveLength(24);
        expect(snapshot.board?.names.at(-1)).toBe('(other)');
      }
    },
  );

  test('U2 has seconds for an hour, and minutes before that', () => {
    const state = new RunState({ kind: 'export', title: '' }, start);
    for (let second = 0; second < 7_200; second += 1) state.fold(page(1), start + 1_000 * second);
    const now = start + 7_200_000;
    const fine = state.snapshot(now, 300).series;
    expect([fine.step, fine.rows.slice(0, -1)]).toEqual([1, Array.from({ length: 299 }, () => 1)]);
    const all = state.snapshot(now, Infinity).series;
    expect(all.step).toBeGreaterThanOrEqual(24);
    expect(all.rows.reduce<number>((sum, rows) => sum + (rows ?? 0), 0)).toBe(7_200);
  });
});

describe('the board of a watch', () => {
  const changed = (
    kind: 'initial' | 'added' | 'changed' | 'removed' | 'known',
    key: string,
    from: string | null,
    to: string | null,
    ms = 0,
  ): Step => [
    ms,
    {
      type: 'change',
      source: 'a',
      key,
      ...(key === 'a' && { name: 'Row a' }),
      kind,
      before: from,
      after: to,
      observedAt: new Date(start + ms).toISOString(),
    },
  ];

  test('U1 counts rows by status, and keeps what each row had', () => {
    const steps = [
      changed('known', 'a', 'active', 'active'),
      changed('initial', 'b', null, 'error'),
      changed('added', 'c', null, null),
      changed('changed', 'a', 'active', 'error', 5_000),
      changed('removed', 'b', 'error', null, 9_000),
    ];
    const { board, totals } = at(10_000, steps, 'watch');
    expect(board).toMatchObject({ names: ['active', 'error'], counts: [0, 1, 1], total: 2, kinds: [1, 1, 1, 1, 1] });
    expect(board?.rows).toEqual([
      // An error comes first.
      ['Row a', 'a', [0, 0], [5, 1]],
      ['b', '', [0, 1], [9, -2]],
      ['c', '', [0, -1]],
    ]);
    // The rows of the start are no changes.
    expect(board?.changes.map(([, name, kind]) => `${kind} ${name}`)).toEqual(['3 b', '2 Row a', '1 c']);
    expect(totals.changes).toBe(3);
  });

  test('U1 has what is due on top, the most urgent first, until it is resolved', () => {
    const hour = 3_600_000;
    const found = (key: string, kind: 'due' | 'resolved' | 'known', actBefore: number | null, rule = 'dying'): Step => [
      0,
      {
        type: 'due',
        source: 'a',
        key,
        ...(key === 'a' && { name: 'Row a' }),
        rule,
        kind,
        earliest: key === 'b' ? null : new Date(start - 20 * hour).toISOString(),
        latest: new Date(start - 19 * hour).toISOString(),
        times: 1,
        ...(actBefore !== null && { actBefore: new Date(start + actBefore).toISOString() }),
        observedAt: new Date(start).toISOString(),
      },
    ];
    const steps = [
      found('a', 'due', 4 * hour),
      found('b', 'known', null),
      found('c', 'due', hour),
      found('a', 'due', 4 * hour, 'other'),
      found('d', 'due', hour),
      found('c', 'due', hour),
      found('d', 'resolved', hour),
      found('a', 'resolved', null, 'other'),
    ];
    const { board } = at(10_000, steps, 'watch');
    expect(board?.dueTotal).toBe(3);
    expect(board?.due.map(({ name, key, rule, isEarlier }) => [name, key, rule, isEarlier])).toEqual([
      ['b', '', 'dying', true],
      ['c', '', 'dying', false],
      ['Row a', 'a', 'dying', false],
    ]);
    expect(board?.due[2]).toMatchObject({ since: start - 20 * hour, actBefore: start + 4 * hour });
  });

  test('U1 counts all that are due, and shows the most urgent of them', () => {
    const due = Array.from({ length: 1_500 }, (_, nth): Step => [
      0,
      {
        type: 'due',
        source: 'a',
        key: String(nth),
        rule: 'dying',
        kind: 'due',
        earliest: new Date(start).toISOString(),
        latest: new Date(start).toISOString(),
        times: 1,
        actBefore: new Date(start + 10_000 - nth).toISOString(),
        observedAt: new Date(start).toISOString(),
      },
    ]);
    const { board } = at(10_000, due, 'watch');
    expect([board?.dueTotal, board?.due[0]?.name]).toEqual([1_500, '1499']);
    const resolved = due.slice(500).map(([ms, event]): Step => [ms, { ...event, kind: 'resolved' } as typeof event]);
    expect(at(10_000, [...due, ...resolved], 'watch').board?.dueTotal).toBe(500);
  });

  test('shows what was known before the watch started, and counts only what is now', () => {
    const state = new RunState({ kind: 'watch', title: 'a' }, start);
    const minute = 60_000;
    state.showPast({
      since: start - 60 * minute,
      rows: [
        { key: 'c', statuses: [{ from: start - 60 * minute, status: 'active' }, { from: start - 50 * minute }] },
        { key: 'b', statuses: [{ from: start - 60 * minute, status: null }] },
        { key: 'd', statuses: [{ from: start - 60 * minute, status: 'active' }] },
        {
          key: 'a',
          name: 'Row a',
          statuses: [
            { from: start - 60 * minute, status: 'active' },
            { from: start - 10 * minute, status: 'error' },
          ],
        },
      ],
      gaps: [{ from: start - 5 * minute, to: start }],
    });
    const known = [['a', 'error'] as const, ['b', null] as const, ['d', 'paused'] as const];
    for (const [key, status] of known) state.fold(changed('known', key, status, status)[1], start);
    state.fold(changed('changed', 'b', null, 'active', minute)[1], start + minute);
    // Too late: the page shows the run.
    state.showPast({ since: 0, rows: [], gaps: [] });
    const { board } = state.snapshot(start + minute, 300);
    expect(board).toMatchObject({ since: start - 60 * minute, total: 3, gaps: [[3_300, 3_600]] });
    expect(Object.fromEntries(board?.names.map((name, nth) => [name, board.counts[nth]]) ?? [])).toEqual({
      active: 1,
      error: 1,
      paused: 1,
    });
    const names = board?.names ?? [];
    const strips = board?.rows.map(([name, , ...strip]) => [name, ...strip.map(([at, of]) => [at, names[of] ?? of])]);
    expect(strips).toEqual([
      ['Row a', [0, 'active'], [3_000, 'error']],
      ['b', [0, -1], [3_660, 'active']],
      ['d', [0, 'active'], [3_600, 'paused']],
      ['c', [0, 'active'], [600, -2]],
    ]);
    expect(board?.changes).toHaveLength(1);
  });

  test('U2 keeps the last thousand changes, the rows that changed last, and those that are errors', () => {
    const steps = Array.from({ length: 5_000 }, (_, nth) => {
      return changed('initial', `row ${nth}`, null, nth === 3_000 ? 'error' : 'active');
    });
    for (let nth = 0; nth < 1_500; nth += 1) steps.push(changed('changed', `row ${nth}`, 'active', 'active'));
    steps.push(changed('changed', 'row 4999', 'active', 'paused', 1_000));
    const { board } = at(2_000, steps, 'watch');
    expect(board?.total).toBe(5_000);
    expect(board?.counts).toEqual([4_998, 1, 1, 0]);
    expect(board?.changes).toHaveLength(1_000);
    expect(board?.rows.slice(0, 2).map(([name]) => name)).toEqual(['row 3000', 'row 4999']);
    expect(board?.rows).toHaveLength(100);
  });
});
