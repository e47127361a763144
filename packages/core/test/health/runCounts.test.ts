import { expect, test } from 'vitest';
import type { ClientEvent } from '../../src/index.js';
import { countEvent, noCounts, type RunCounts } from '../../src/health/index.js';
import type { ChangeEvent, Delivery } from '../../src/kit.js';

const of = { route: 'test.rows', request: 1 } as const;
const source = 'test.rows';
const error = { name: 'HttpError', message: 'It failed.', code: 'http' };
const attempt: ClientEvent = { type: 'attempt', ...of, attempt: 1, waited: 0 };
const retry: ClientEvent = { type: 'retry', ...of, attempt: 1, delay: 5, reason: 'http', error, left: 60_000 };
const settled: ClientEvent = { type: 'settled', ...of, attempts: 2, took: 20, outcome: 'answered', status: 200 };
const page = (rows: number, more: { readonly endsPartition?: true } = {}): ClientEvent => {
  return { type: 'page', source, partition: 0, page: 1, rows, ...more };
};
const commit = (rows: number, pages: number): ClientEvent => {
  return { type: 'commit', source, sink: 'csv', rows, pages, isSealed: false };
};
const change = (kind: ChangeEvent['kind']): ClientEvent => {
  return { type: 'change', source, key: '1', kind, before: null, after: null, observedAt: '2026-01-01T00:00:00.000Z' };
};
const deliver = (step: Delivery['step']): ClientEvent => ({
  type: 'delivery',
  source,
  sink: 'webhook',
  step,
  waiting: 1,
});

test.each<[string, readonly ClientEvent[], Partial<RunCounts>]>([
  ['a request and its retry', [attempt, retry, attempt, settled], { requests: 2, retries: 1 }],
  ['pages', [page(2), page(3, { endsPartition: true })], { rows: 5, pages: 2, partitionsDone: 1 }],
  ['the latest commit', [commit(2, 1), commit(5, 2)], { committedRows: 5, committedPages: 2 }],
  ['changes, but not the rows at the start', [change('initial'), change('known'), change('added')], { changes: 1 }],
  [
    'deliveries',
    [
      deliver('sent'),
      deliver('retry'),
      deliver('sent'),
      deliver('accepted'),
      deliver('refused'),
      deliver('dead-letter'),
    ],
    { deliveries: 2, redeliveries: 1, accepted: 1, deadLetters: 1 },
  ],
])('counts %s', (_, events, counts) => {
  expect(events.reduce(countEvent, noCounts())).toEqual({ ...noCounts(), ...counts });
});
