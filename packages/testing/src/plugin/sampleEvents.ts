import type { ClientEvent } from '@sluice/core';
import type { ErrorReport, HookName } from '@sluice/core/kit';

const error: ErrorReport = { name: 'HttpError', message: 'testing.rows: the server responded with 500.', code: 'http' };
const of = { route: 'testing.rows', request: 1 };

/** At least one event of each type, as a client emits them. */
export const sampleEvents: { readonly [Name in HookName]: readonly Extract<ClientEvent, { readonly type: Name }>[] } = {
  request: [{ type: 'request', ...of, method: 'GET', url: 'https://api.example.com/rows' }],
  limiter: [
    { type: 'limiter', apis: ['testing'], used: 3, limit: 5, per: 1_000, queued: 2, running: 1, paused: 0 },
    {
      type: 'limiter',
      apis: ['testing'],
      used: 0,
      limit: Infinity,
      per: 1_000,
      queued: 1,
      running: 0,
      paused: 1_500,
      cause: 'retry-after',
    },
  ],
  attempt: [{ type: 'attempt', ...of, attempt: 1, waited: 0 }],
  response: [{ type: 'response', ...of, attempt: 1, status: 500, took: 12.5 }],
  retry: [{ type: 'retry', ...of, attempt: 1, delay: 250, reason: 'http', error, left: 60_000 }],
  paused: [{ type: 'paused', ...of, for: 1_000 }],
  settled: [
    { type: 'settled', ...of, attempts: 2, took: 40, outcome: 'answered', status: 200 },
    { type: 'settled', ...of, attempts: 2, took: 40, outcome: 'failed', error },
    { type: 'settled', ...of, attempts: 0, took: 40, outcome: 'stopped' },
  ],
  page: [
    { type: 'page', source: 'testing.rows', partition: 0, page: 1, rows: 100, total: 250 },
    { type: 'page', source: 'testing.rows', partition: 1, page: 1, rows: 0 },
  ],
  commit: [{ type: 'commit', source: 'testing.rows', sink: 'csv', rows: 100, pages: 1, isSealed: false }],
  change: [
    {
      type: 'change',
      source: 'testing.rows.changes',
      key: 'a',
      kind: 'changed',
      before: 'active',
      after: 'error',
      observedAt: '2026-01-02T03:04:05.000Z',
    },
  ],
  due: [
    {
      type: 'due',
      source: 'testing.rows.changes',
      key: 'a',
      rule: 'dying',
      kind: 'due',
      earliest: '2026-01-01T06:00:00.000Z',
      latest: '2026-01-01T07:04:05.000Z',
      times: 1,
      actBefore: '2026-01-02T06:00:00.000Z',
      observedAt: '2026-01-02T03:04:05.000Z',
    },
  ],
  sink: [
    { type: 'sink', source: 'testing.rows', sink: 'csv', call: 'write' },
    { type: 'sink', source: 'testing.rows', sink: 'csv', call: 'write', took: 2.5 },
  ],
  delivery: [
    { type: 'delivery', source: 'testing.rows', sink: 'webhook', step: 'sent', waiting: 3 },
    { type: 'delivery', source: 'testing.rows', sink: 'webhook', step: 'retry', waiting: 3, status: 502, error },
    { type: 'delivery', source: 'testing.rows', sink: 'webhook', step: 'accepted', waiting: 2, status: 200 },
  ],
  outage: [
    {
      type: 'outage',
      source: 'testing.rows',
      sink: 'postgres',
      cause: 'connection refused',
      for: 6_000,
      left: 54_000,
      error,
    },
    { type: 'outage', source: 'testing.rows', sink: 'postgres' },
  ],
  error: [
    { type: 'error', of: 'request', name: 'testing.rows', error },
    { type: 'error', of: 'export', name: 'testing.rows', error: { name: 'Error', message: '' } },
  ],
  warning: [{ type: 'warning', message: 'Two addresses are the same.', plugin: 'testing' }],
  info: [{ type: 'info', message: 'Begun.', plugin: 'testing' }],
  'plugin-fault': [{ type: 'plugin-fault', plugin: 'testing', hook: 'page', error }],
  close: [{ type: 'close' }],
};

export const hookNames: readonly HookName[] = Object.keys(sampleEvents).filter(isHookName);

function isHookName(name: string): name is HookName {
  return Object.hasOwn(sampleEvents, name);
}
