// Where requests have their parameters.
import { byCursor, byPage, listing, onePage } from '@sluice/core/define';
import { ids, type Kind } from './kind.js';

const columns = ['id'];

export const requests: readonly Kind[] = [
  {
    says: 'has parameters in its path',
    sources: { rows: listing({ path: '/repos/{+repo}/labels/{label}', paging: onePage(), rows: '', columns }) },
    params: { repo: 'acme/shop', label: 'to do/now' },
    answers: { '/repos/acme/shop/labels/to%20do%2Fnow': ids(1) },
    exports: ids(1),
  },
  {
    says: 'has parameters in its query',
    sources: {
      rows: listing({
        path: '/orders',
        query: { state: '{state}', fields: 'id' },
        paging: onePage(),
        rows: '',
        columns,
      }),
    },
    params: { state: 'open' },
    answers: { '/orders?state=open&fields=id': ids(1) },
    exports: ids(1),
  },
  {
    says: 'takes lists in its query',
    sources: { rows: listing({ path: '/orders', query: { ids: '{ids}' }, paging: onePage(), rows: '', columns }) },
    options: { arrays: 'repeat' }, // or 'brackets', 'indices', 'comma'
    params: { ids: ['1', '2'] },
    answers: { '/orders?ids=1&ids=2': ids(1, 2) },
    exports: ids(1, 2),
  },
  {
    says: 'wants headers',
    sources: {
      rows: listing({ path: '/orders', headers: { 'x-shop': '{shop}' }, paging: onePage(), rows: '', columns }),
    },
    options: { headers: { 'api-version': '2026-01' } }, // of all listings
    params: { shop: 'de' },
    headers: { 'api-version': '2026-01', 'x-shop': 'de' },
    answers: { '/orders': ids(1) },
    exports: ids(1),
  },
  {
    says: 'has the page or the cursor in a header of the request',
    sources: {
      rows: listing({
        path: '/orders',
        paging: byCursor({ header: 'x-after', at: 'after?' }),
        rows: 'orders',
        columns,
      }),
    },
    answers: { '/orders': { orders: ids(1) } },
    exports: ids(1),
  },
  {
    says: 'takes a form',
    sources: {
      rows: listing({
        method: 'POST',
        path: '/messages/search',
        bodyType: 'form',
        body: { tags: ['a', 'b'], sender: '{sender}' },
        paging: byPage({ into: 'page', pages: 'pages' }),
        rows: 'messages',
        columns,
      }),
    },
    params: { sender: 'me' },
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    answers: {
      'POST /messages/search tags%5B%5D=a&tags%5B%5D=b&sender=me': { messages: ids(1), pages: 2 },
      'POST /messages/search tags%5B%5D=a&tags%5B%5D=b&sender=me&page=2': { messages: ids(2), pages: 2 },
    },
    exports: ids(1, 2),
  },
];
