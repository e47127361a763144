// How listings continue from page to page.
import {
  byConnection,
  byCursor,
  byHeader,
  byKeyset,
  byLink,
  byOffset,
  byPage,
  listing,
  onePage,
} from '@sluice/core/define';
import { cursorOf, type Paging } from '@sluice/core/define';
import { answer, ids, type Kind } from './kind.js';

const columns = ['id'];
const limit = { param: 'limit', default: 3, max: 100 } as const;

export const pages: readonly Kind[] = [
  {
    says: 'sends all rows in one response',
    sources: { rows: listing({ path: '/currencies', paging: onePage(), rows: 'currencies', columns }) },
    answers: { '/currencies': { currencies: ids('EUR', 'USD') } },
    exports: ids('EUR', 'USD'),
  },
  {
    says: 'uses offsets, and says how many rows there are',
    sources: {
      rows: listing({
        path: '/orders',
        pageSize: limit,
        paging: byOffset({ param: 'offset' }),
        rows: 'data',
        total: 'total',
        columns,
      }),
    },
    // Each later page starts with the last known row, which tells whether rows have moved.
    answers: {
      '/orders?limit=3': { data: ids(1, 2, 3), total: 4 },
      '/orders?limit=3&offset=2': { data: ids(3, 4), total: 4 },
    },
    exports: ids(1, 2, 3, 4),
  },
  {
    says: 'counts rows from 1, as SCIM does',
    sources: {
      rows: listing({
        path: '/Users',
        pageSize: { param: 'count', default: 3, max: 100 },
        paging: byOffset({ param: 'startIndex', first: 1 }),
        rows: 'Resources',
        total: 'totalResults',
        columns,
      }),
    },
    answers: {
      '/Users?count=3': { Resources: ids('a', 'b', 'c'), totalResults: 4 },
      '/Users?count=3&startIndex=3': { Resources: ids('c', 'd'), totalResults: 4 },
    },
    exports: ids('a', 'b', 'c', 'd'),
  },
  {
    says: 'numbers pages',
    sources: {
      rows: listing({ path: '/orders', pageSize: limit, paging: byPage({ param: 'page' }), rows: '', columns }),
    },
    answers: { '/orders?limit=3': ids(1, 2), '/orders?limit=3&page=2': ids(3), '/orders?limit=3&page=3': [] },
    exports: ids(1, 2, 3),
  },
  {
    says: 'numbers pages, and says how many there are',
    sources: {
      rows: listing({ path: '/orders', paging: byPage({ param: 'page', pages: 'pages' }), rows: 'orders', columns }),
    },
    answers: { '/orders': { orders: ids(1, 2), pages: 2 }, '/orders?page=2': { orders: ids(3), pages: 2 } },
    exports: ids(1, 2, 3),
  },
  {
    says: 'sends a cursor or a token for the next page',
    sources: {
      rows: listing({ path: '/files', paging: byCursor({ param: 'token', at: 'next?' }), rows: 'files', columns }),
    },
    answers: { '/files': { files: ids(1, 2), next: 'b1' }, '/files?token=b1': { files: ids(3) } },
    exports: ids(1, 2, 3),
  },
  {
    says: 'takes the cursor in the body of a POST',
    sources: {
      rows: listing({
        method: 'POST',
        path: '/search',
        body: { sort: 'id' },
        pageSize: { into: 'page.size', default: 2, max: 100 },
        paging: byCursor({ into: 'page.after', at: 'after' }),
        rows: 'hits',
        columns,
      }),
    },
    answers: {
      'POST /search {"sort":"id","page":{"size":2}}': { hits: ids(1, 2), after: 17 },
      'POST /search {"sort":"id","page":{"size":2,"after":17}}': { hits: ids(3), after: null },
    },
    exports: ids(1, 2, 3),
  },
  {
    says: 'sends the token in a header',
    sources: {
      rows: listing({ path: '/items', paging: byHeader({ header: 'x-next', param: 'from' }), rows: '', columns }),
    },
    answers: { '/items': answer(ids(1, 2), { 'x-next': 'b1' }), '/items?from=b1': ids(3) },
    exports: ids(1, 2, 3),
  },
  {
    says: 'sends the address of the next page in a Link header',
    sources: { rows: listing({ path: '/issues', paging: byLink(), rows: '', columns }) },
    answers: { '/issues': answer(ids(1, 2), { link: '</issues?page=2>; rel="next"' }), '/issues?page=2': ids(3) },
    exports: ids(1, 2, 3),
  },
  {
    says: 'sends the address of the next page in the body',
    sources: {
      rows: listing({ path: '/people', paging: byLink({ at: "['@odata.nextLink']?" }), rows: 'value', columns }),
    },
    answers: {
      '/people': { value: ids(1, 2), '@odata.nextLink': '/people?$skiptoken=b1' },
      '/people?$skiptoken=b1': { value: ids(3) },
    },
    exports: ids(1, 2, 3),
  },
  {
    says: 'continues after the id of the last row',
    sources: {
      rows: listing({
        path: '/charges',
        paging: byKeyset([{ field: 'id', param: 'starting_after' }], { more: 'has_more' }),
        rows: 'data',
        columns,
      }),
    },
    answers: {
      '/charges': { data: ids('ch_1', 'ch_2'), has_more: true },
      '/charges?starting_after=ch_2': { data: ids('ch_3'), has_more: false },
    },
    exports: ids('ch_1', 'ch_2', 'ch_3'),
  },
  {
    says: 'is a GraphQL connection',
    sources: {
      rows: listing({
        method: 'POST',
        path: '/graphql',
        body: { query: 'query ($after: String) { … }' },
        paging: byConnection('data.orders'),
        rows: 'data.orders.nodes',
        columns,
      }),
    },
    answers: {
      'POST /graphql {"query":"query ($after: String) { … }"}': connection(ids(1, 2), 'b1'),
      'POST /graphql {"query":"query ($after: String) { … }","variables":{"after":"b1"}}': connection(ids(3)),
    },
    exports: ids(1, 2, 3),
  },
  {
    says: 'continues in another way',
    sources: { rows: listing({ path: '/log', paging: byLastDay(), rows: 'lines', columns }) },
    answers: {
      '/log': { lines: ids(1, 2), earlier: '2026-01-30' },
      '/log?until=2026-01-30': { lines: ids(3), earlier: '' },
    },
    exports: ids(1, 2, 3),
  },
];

function connection(nodes: readonly object[], endCursor: string | null = null): object {
  return { data: { orders: { nodes, pageInfo: { hasNextPage: endCursor !== null, endCursor } } } };
}

/** A paging of one's own. */
function byLastDay(): Paging {
  return {
    identity: 'last-day',
    params: ['until'],
    reads: [],
    request: ({ path, query }, at) => ({ path, query: { ...query, until: cursorOf(at) } }),
    next: ({ at, read }) => {
      const cursor = read.cursor(at('earlier'), 'earlier');
      return cursor === undefined ? 'end' : { cursor };
    },
  };
}
