// How listings end whose API does not say that a page is the last one.
import { byCursor, byPage, listing } from '@sluice/core/define';
import { ids, type Kind } from './kind.js';

const columns = ['id'];
const paging = byPage({ param: 'page' });

export const ends: readonly Kind[] = [
  {
    says: 'ends with a page of fewer rows than requested',
    sources: {
      rows: listing({
        path: '/orders',
        pageSize: { param: 'limit', default: 2, max: 2 },
        paging,
        until: 'short-page',
        rows: '',
        columns,
      }),
    },
    // A server may send fewer rows than requested in the middle, so the page behind a short one is requested, too.
    answers: { '/orders?limit=2': ids(1, 2), '/orders?limit=2&page=2': ids(3), '/orders?limit=2&page=3': [] },
    exports: ids(1, 2, 3),
  },
  {
    says: 'sends a cursor with every page, also the last one',
    sources: {
      rows: listing({
        path: '/events',
        paging: byCursor({ param: 'after', at: 'cursor' }),
        until: 'no-rows',
        rows: 'events',
        columns,
      }),
    },
    answers: {
      '/events': { events: ids(1, 2), cursor: 'b2' },
      '/events?after=b2': { events: [], cursor: 'b3' },
    },
    exports: ids(1, 2),
  },
  {
    says: 'repeats its last page for later page numbers',
    sources: { rows: listing({ path: '/pages', paging, until: 'repeated-page', rows: '', columns }) },
    answers: { '/pages': ids(1, 2), '/pages?page=2': ids(3), '/pages?page=3': ids(3) },
    exports: ids(1, 2, 3),
  },
  {
    says: 'says with true or false whether a page is the last one',
    sources: {
      rows: listing({ path: '/projects', paging: byPage({ param: 'page', last: 'isLast' }), rows: 'values', columns }),
    },
    answers: {
      '/projects': { values: ids(1, 2), isLast: false },
      '/projects?page=2': { values: ids(3), isLast: true },
    },
    exports: ids(1, 2, 3),
  },
  {
    says: 'says in its own way that a page is the last one',
    sources: {
      rows: listing({
        path: '/tickets',
        paging: byCursor({ param: 'cursor', at: 'after' }),
        until: ({ at }) => at('state') === 'complete',
        rows: 'tickets',
        columns,
      }),
    },
    answers: {
      '/tickets': { tickets: ids(1, 2), after: 'b2', state: 'partial' },
      '/tickets?cursor=b2': { tickets: ids(3), after: 'b3', state: 'complete' },
    },
    exports: ids(1, 2, 3),
  },
];
