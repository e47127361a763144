// Exports of only what is new since the last one.
import { byOffset, byPage, bySince, listing, onePage, rowOf } from '@sluice/core/define';
import type { Kind } from './kind.js';

const columns = ['id', 'at'];
const limit = { param: 'limit', default: 100, max: 100 } as const;
/** Rows of these instants in 2026, that are all later than any that come afterwards. */
const row = (id: number, day: number): { id: number; at: string } => ({ id, at: `2026-01-0${day}T00:00:00Z` });

export const increments: readonly Kind[] = [
  {
    says: 'lists rows in the order of their last change, from a time on',
    sources: {
      rows: listing({
        path: '/issues',
        query: { sort: 'at' },
        pageSize: limit,
        paging: bySince({ param: 'since', field: 'at', type: 'instant', overlap: 0 }),
        rows: '',
        columns,
        key: 'id',
      }),
    },
    answers: {
      '/issues?limit=100&sort=at': [row(1, 1), row(2, 2)],
      '/issues?limit=100&sort=at&since=2026-01-02T00%3A00%3A00Z': [row(2, 2)],
    },
    exports: [row(1, 1), row(2, 2)],
    later: [
      {
        answers: {
          '/issues?limit=100&sort=at&since=2026-01-02T00%3A00%3A00Z': [row(2, 2), row(1, 3)],
          '/issues?limit=100&sort=at&since=2026-01-03T00%3A00%3A00Z': [row(1, 3)],
        },
        exports: [row(1, 3)],
      },
    ],
  },
  {
    says: 'wants the time in another format than its rows have',
    sources: {
      rows: listing({
        path: '/issues',
        pageSize: limit,
        paging: bySince({ param: 'after', field: 'at', type: 'instant', write: '{epoch-seconds}', overlap: 0 }),
        rows: '',
        columns,
        key: 'id',
      }),
    },
    answers: { '/issues?limit=100': [row(1, 1), row(2, 2)], '/issues?limit=100&after=1767312000': [row(2, 2)] },
    exports: [row(1, 1), row(2, 2)],
    later: [
      {
        answers: {
          '/issues?limit=100&after=1767312000': [row(2, 2), row(3, 3)],
          '/issues?limit=100&after=1767398400': [row(3, 3)],
        },
        exports: [row(3, 3)],
      },
    ],
  },
  {
    says: 'lists only rows after the time, without the time itself',
    sources: {
      rows: listing({
        path: '/subscriptions',
        pageSize: limit,
        paging: bySince({
          param: 'updated_at[after]',
          field: 'at',
          type: 'epoch-seconds',
          write: (value) => String(Number(value) - 1),
          overlap: 0,
        }),
        rows: '',
        columns,
        key: 'id',
      }),
    },
    answers: {
      '/subscriptions?limit=100': [{ id: 1, at: 1767312000 }],
      '/subscriptions?limit=100&updated_at%5Bafter%5D=1767311999': [{ id: 1, at: 1767312000 }],
    },
    exports: [{ id: 1, at: 1767312000 }],
    later: [
      {
        // Another row of that second may have appeared since.
        answers: {
          '/subscriptions?limit=100&updated_at%5Bafter%5D=1767311999': [
            { id: 1, at: 1767312000 },
            { id: 2, at: 1767312000 },
          ],
        },
        exports: [{ id: 2, at: 1767312000 }],
      },
    ],
  },
  {
    says: 'wants the time beside a parameter in one filter',
    sources: {
      rows: listing({
        path: '/search',
        partitions: { project: ['ops'] },
        query: ({ project }: { project: string }) => ({ jql: `project = ${project} AND {since}` }),
        pageSize: limit,
        paging: bySince({
          param: 'jql',
          field: 'at',
          type: 'instant',
          write: 'updated >= {epoch-ms}',
          begin: '2026-01-01',
          overlap: 0,
        }),
        rows: '',
        columns,
        key: 'id',
      }),
    },
    answers: {
      '/search?limit=100&jql=project+%3D+ops+AND+updated+%3E%3D+1767225600000': [row(1, 1), row(2, 2)],
      '/search?limit=100&jql=project+%3D+ops+AND+updated+%3E%3D+1767312000000': [row(2, 2)],
    },
    exports: [row(1, 1), row(2, 2)],
  },
  {
    says: 'wants the time inside of a filter or a query',
    sources: {
      rows: listing({
        path: '/search',
        pageSize: limit,
        paging: bySince({
          param: 'jql',
          field: 'at',
          type: 'instant',
          write: 'updated >= "{minute}" ORDER BY updated',
          zone: 'UTC',
          begin: '2026-01-01',
          overlap: 0,
        }),
        rows: '',
        columns,
        key: 'id',
      }),
    },
    answers: {
      '/search?limit=100&jql=updated+%3E%3D+%222026-01-01+00%3A00%22+ORDER+BY+updated': [row(1, 1), row(2, 2)],
      '/search?limit=100&jql=updated+%3E%3D+%222026-01-02+00%3A00%22+ORDER+BY+updated': [row(2, 2)],
    },
    exports: [row(1, 1), row(2, 2)],
    later: [
      {
        answers: { '/search?limit=100&jql=updated+%3E%3D+%222026-01-02+00%3A00%22+ORDER+BY+updated': [row(2, 2)] },
        exports: [],
      },
    ],
  },
  {
    says: 'has times without a zone, or wants them in requests',
    sources: {
      rows: listing({
        path: '/report',
        pageSize: limit,
        paging: bySince({
          param: 'from',
          field: 'at',
          type: 'instant',
          write: '{datetime}',
          zone: '-07:00',
          begin: '2026-01-01',
          overlap: 0,
        }),
        rows: '',
        columns,
        key: 'id',
      }),
    },
    answers: {
      '/report?limit=100&from=2025-12-31T17%3A00%3A00': [row(1, 1), row(2, 2)],
      '/report?limit=100&from=2026-01-01T17%3A00%3A00': [row(2, 2)],
    },
    exports: [row(1, 1), row(2, 2)],
    later: [{ answers: { '/report?limit=100&from=2026-01-01T17%3A00%3A00': [row(2, 2)] }, exports: [] }],
  },
  {
    says: 'needs a time in each request, also in the first one',
    sources: {
      rows: listing({
        path: '/issues',
        pageSize: limit,
        paging: bySince({ param: 'since', field: 'at', type: 'instant', begin: '2026-01-01T00:00:00Z' }),
        rows: '',
        columns,
      }),
    },
    answers: { '/issues?limit=100&since=2026-01-01T00%3A00%3A00Z': [row(1, 1)] },
    exports: [row(1, 1)],
  },
  {
    says: 'filters by a time, and continues with offsets',
    sources: {
      rows: listing({
        path: '/issues',
        pageSize: { param: 'limit', default: 3, max: 3 },
        paging: bySince({
          param: 'since',
          field: 'at',
          type: 'instant',
          overlap: 0,
          paging: byOffset({ param: 'offset' }),
        }),
        rows: '',
        columns,
        key: 'id',
      }),
    },
    answers: {
      '/issues?limit=3': [row(1, 1), row(2, 1), row(3, 1)],
      '/issues?limit=3&offset=2': [row(3, 1), row(4, 1)],
      '/issues?limit=3&offset=3': [row(4, 1)],
    },
    exports: [row(1, 1), row(2, 1), row(3, 1), row(4, 1)],
  },
  {
    says: 'lists the newest rows first, without a filter',
    sources: {
      rows: listing({
        path: '/events',
        paging: bySince({
          field: 'at',
          type: 'instant',
          order: 'newest-first',
          overlap: 0,
          paging: byPage({ param: 'page' }),
        }),
        rows: '',
        columns,
        key: 'id',
      }),
    },
    answers: { '/events': [row(2, 2), row(1, 1)], '/events?page=2': [] },
    exports: [row(2, 2), row(1, 1)],
    later: [
      {
        // The second page is all from before the mark, so no other one is requested.
        answers: { '/events': [row(3, 3), row(2, 2)], '/events?page=2': [row(1, 1)] },
        exports: [row(3, 3)],
      },
    ],
  },
  {
    says: 'filters by a time, but lists rows in no order',
    sources: {
      rows: listing({
        path: '/issues',
        paging: bySince({
          param: 'since',
          field: 'at',
          type: 'instant',
          order: 'any',
          overlap: 0,
          paging: byPage({ param: 'page', pages: 'pages' }),
        }),
        rows: 'issues',
        columns,
        key: 'id',
      }),
    },
    answers: { '/issues': { issues: [row(2, 2), row(1, 1)], pages: 1 } },
    exports: [row(2, 2), row(1, 1)],
    later: [
      {
        answers: { '/issues?since=2026-01-02T00%3A00%3A00Z': { issues: [row(3, 3), row(2, 2)], pages: 1 } },
        exports: [row(3, 3)],
      },
    ],
  },
  {
    says: 'has neither a filter nor an order',
    sources: {
      rows: listing({
        path: '/issues',
        paging: bySince({ field: 'at', type: 'instant', order: 'any', overlap: 0, paging: onePage() }),
        rows: '',
        columns,
        key: 'id',
      }),
    },
    answers: { '/issues': [row(2, 2), row(1, 1)] },
    exports: [row(2, 2), row(1, 1)],
    later: [{ answers: { '/issues': [row(1, 3), row(2, 2)] }, exports: [row(1, 3)] }],
  },
  {
    says: 'has increments below each row of another listing',
    sources: {
      repos: listing({ path: '/repos', paging: onePage(), rows: '', columns: ['id'], key: 'id' }),
      rows: listing({
        each: rowOf({ source: 'repos', params: { repo: '{id}' } }),
        path: '/repos/{repo}/issues',
        pageSize: limit,
        paging: bySince({ param: 'since', field: 'at', type: 'instant', overlap: 0 }),
        rows: '',
        version: '1',
        columns,
        key: 'id',
      }),
    },
    answers: {
      '/repos': [{ id: 'a' }, { id: 'b' }],
      '/repos/a/issues?limit=100': [row(1, 1)],
      '/repos/a/issues?limit=100&since=2026-01-01T00%3A00%3A00Z': [row(1, 1)],
      '/repos/b/issues?limit=100': [row(2, 2)],
      '/repos/b/issues?limit=100&since=2026-01-02T00%3A00%3A00Z': [row(2, 2)],
    },
    exports: [row(1, 1), row(2, 2)],
    later: [
      {
        answers: {
          '/repos': [{ id: 'a' }, { id: 'b' }],
          '/repos/a/issues?limit=100&since=2026-01-01T00%3A00%3A00Z': [row(1, 1), row(3, 3)],
          '/repos/a/issues?limit=100&since=2026-01-03T00%3A00%3A00Z': [row(3, 3)],
          '/repos/b/issues?limit=100&since=2026-01-02T00%3A00%3A00Z': [row(2, 2)],
        },
        exports: [row(3, 3)],
      },
    ],
  },
  {
    says: 'wants a beginning and an end, at most 30 days apart',
    sources: {
      rows: listing({
        path: '/events',
        pageSize: limit,
        until: 'short-page',
        paging: bySince({
          param: 'from',
          field: 'at',
          type: 'instant',
          begin: '2026-01-01T00:00:00Z',
          order: 'any',
          overlap: 0,
          paging: byPage({ param: 'page' }),
          windows: { to: 'to', step: '30d' },
        }),
        rows: '',
        columns,
        key: 'id',
      }),
    },
    answers: {
      '/events?limit=100&from=2026-01-01T00%3A00%3A00Z&to=2026-01-31T00%3A00%3A00Z': [row(2, 2), row(1, 1)],
      '/events?limit=100&from=2026-01-01T00%3A00%3A00Z&to=2026-01-31T00%3A00%3A00Z&page=2': [],
      '/events?limit=100&from=2026-01-31T00%3A00%3A00Z&to=2026-03-01T00%3A00%3A00Z': [],
      // The last one is walked when all others have ended, and has room for what changes meanwhile.
      '/events?limit=100&from=2026-03-01T00%3A00%3A00Z&to=2026-03-31T00%3A00%3A00Z': [],
    },
    exports: [row(2, 2), row(1, 1)],
  },
];
