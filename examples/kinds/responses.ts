// What responses mean.
import { byCursor, graphqlErrors, listing, onePage, rowOf, type Responses } from '@sluice/core/define';
import { answer, ids, inTurn, type Kind } from './kind.js';

const columns = ['id'];

/** Only what is asked for here; the status says the rest. */
const responses: Responses = ({ status, headers }) =>
  status === 400 && headers['x-wait-seconds'] !== undefined
    ? { kind: 'retry', retryAfter: 1_000 * Number(headers['x-wait-seconds']) }
    : undefined;

export const meanings: readonly Kind[] = [
  {
    says: 'answers 404 where there are no rows',
    sources: { rows: listing({ path: '/refunds', responses: { 404: 'end' }, paging: onePage(), rows: '', columns }) },
    answers: { '/refunds': answer({ error: 'no refunds' }, {}, 404) },
    exports: [],
  },
  {
    says: 'answers 403 or 404 for some of the parents',
    sources: {
      projects: listing({ path: '/projects', paging: onePage(), rows: '', columns, key: 'id' }),
      rows: listing({
        each: rowOf({ source: 'projects', params: { project: '{id}' } }),
        path: '/projects/{project}/tasks',
        responses: { 403: 'skip', 404: 'skip' },
        paging: onePage(),
        rows: '',
        version: '1',
        columns,
      }),
    },
    answers: {
      '/projects': ids('a', 'b', 'c'),
      '/projects/a/tasks': ids(1),
      '/projects/b/tasks': answer({ error: 'not yours' }, {}, 403),
      '/projects/c/tasks': ids(2),
    },
    exports: ids(1, 2),
  },
  {
    says: 'answers temporary errors with a status of its own',
    sources: {
      rows: listing({
        path: '/orders',
        responses: { 420: 'rate-limited', 456: 'retry' },
        paging: onePage(),
        rows: '',
        columns,
      }),
    },
    answers: {
      '/orders': inTurn(answer('', { 'retry-after': '0' }, 420), answer('', { 'retry-after': '0' }, 456), ids(1)),
    },
    exports: ids(1),
  },
  {
    says: 'says in the body what kind of error it is',
    sources: {
      rows: listing({
        path: '/report',
        responses: { 'error.code=busy': 'retry', 'error.message~no such report': 'skip' },
        paging: onePage(),
        rows: '',
        columns,
      }),
    },
    answers: {
      '/report': inTurn(
        answer({ error: { code: 'busy' } }, { 'retry-after': '0' }, 400),
        answer({ error: { code: 'invalid', message: 'There is No such report.' } }, {}, 400),
      ),
    },
    exports: [],
  },
  {
    says: 'says in a header of its own how long to wait',
    sources: { rows: listing({ path: '/report', responses, paging: onePage(), rows: '', columns }) },
    answers: { '/report': inTurn(answer('', { 'x-wait-seconds': '0' }, 400), ids(1)) },
    exports: ids(1),
  },
  {
    says: 'sends errors with status 200',
    sources: {
      rows: listing({
        path: '/orders',
        responses: graphqlErrors(),
        paging: onePage(),
        rows: 'data.orders',
        columns,
      }),
    },
    answers: {
      '/orders': inTurn(
        { errors: [{ message: 'later', extensions: { code: 'THROTTLED' } }] },
        { data: { orders: ids(1) } },
      ),
    },
    exports: ids(1),
  },
  {
    says: 'refuses a cursor that has expired',
    sources: {
      rows: listing({
        path: '/orders',
        responses: { 400: 'expired-cursor' },
        paging: byCursor({ param: 'after', at: 'next?' }),
        rows: 'orders',
        columns,
      }),
    },
    onExpired: 'restart-partition',
    answers: {
      '/orders': inTurn({ orders: ids(1, 2), next: 'b1' }, { orders: ids(1, 2, 3) }),
      '/orders?after=b1': answer({ error: 'expired' }, {}, 400),
    },
    exports: ids(1, 2, 3),
  },
  {
    says: 'says that rows are missing from a page',
    sources: {
      rows: listing({ path: '/orders', responses: { 206: 'partial' }, paging: onePage(), rows: '', columns }),
    },
    answers: { '/orders': answer(ids(1, 2), {}, 206) },
    exports: ids(1, 2),
  },
];
