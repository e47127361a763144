// What responses are made of.
import { gzipSync } from 'node:zlib';
import { byLink, byPage, listing, onePage } from '@sluice/core/define';
import { z } from 'zod';
import { answer, ids, type Kind } from './kind.js';

const columns = ['id'];

export const bodies: readonly Kind[] = [
  {
    says: 'has rows inside of lists',
    sources: { rows: listing({ path: '/orders', paging: onePage(), rows: 'orders[*].items[*]', columns }) },
    answers: { '/orders': { orders: [{ items: ids(1, 2) }, { items: [] }, { items: ids(3) }] } },
    exports: ids(1, 2, 3),
  },
  {
    says: 'has rows as the values of an object',
    sources: {
      rows: listing({
        path: '/rates',
        paging: onePage(),
        rows: ({ at, read }) => ({
          rows: Object.entries(read.record(at('rates'), 'rates')).map(([id, rate]) => ({ id, rate })),
          at: 'rates',
        }),
        columns: ['id', 'rate'],
      }),
    },
    answers: { '/rates': { rates: { EUR: 0.9, USD: 1 } } },
    exports: [
      { id: 'EUR', rate: 0.9 },
      { id: 'USD', rate: 1 },
    ],
  },
  {
    says: 'lists rows of other kinds, too',
    sources: {
      rows: listing({
        path: '/issues',
        paging: byLink(),
        rows: '',
        schema: z.object({ id: z.number(), pull_request: z.object({}).optional() }),
        filter: ({ pull_request }) => pull_request === undefined,
        version: '1',
        columns: ['id'],
      }),
    },
    answers: { '/issues': [{ id: 1 }, { id: 2, pull_request: {} }, { id: 3 }] },
    exports: ids(1, 3),
  },
  {
    says: 'has fields inside of other fields',
    sources: {
      rows: listing({
        path: '/people',
        paging: onePage(),
        rows: '',
        schema: z
          .object({ id: z.number(), address: z.object({ city: z.string() }) })
          .transform(({ id, address: { city } }) => ({ id, city })),
        version: '1',
        columns: ['id', 'city'],
      }),
    },
    answers: { '/people': [{ id: 1, address: { city: 'Berlin' } }] },
    exports: [{ id: 1, city: 'Berlin' }],
  },
  {
    says: 'sends numbers with more digits than a double has',
    sources: { rows: listing({ path: '/trades', paging: onePage(), rows: '', columns }) },
    answers: { '/trades': answer('[{"id":12345678901234567890},{"id":7}]') },
    exports: ids('12345678901234567890', 7),
  },
  {
    says: 'sends a document of JSON per line',
    sources: { rows: listing({ path: '/export', format: 'jsonLines', paging: onePage(), rows: '', columns }) },
    answers: { '/export': answer('{"id":1}\n{"id":2}\n', { 'content-type': 'application/x-ndjson' }) },
    exports: ids(1, 2),
  },
  {
    says: 'sends CSV or XML',
    sources: {
      rows: listing({
        path: '/report.csv',
        parse: parseCsv, // by a library of your choice
        version: '1',
        paging: onePage(),
        rows: '',
        columns: ['id', 'name'],
      }),
    },
    answers: { '/report.csv': answer('id,name\n1,Ann\n2,Bob\n', { 'content-type': 'text/csv' }) },
    exports: [
      { id: '1', name: 'Ann' },
      { id: '2', name: 'Bob' },
    ],
  },
  {
    says: 'sends gzip files',
    sources: { rows: listing({ path: '/events.json.gz', paging: onePage(), rows: '', columns }) },
    answers: { '/events.json.gz': answer(gzipSync('[{"id":1}]'), { 'content-type': 'application/octet-stream' }) },
    exports: ids(1),
  },
  {
    says: 'sends another charset than UTF-8',
    sources: { rows: listing({ path: '/cities', paging: onePage(), rows: '', columns }) },
    answers: {
      '/cities': answer(Buffer.from('[{"id":"Zürich"}]', 'latin1'), {
        'content-type': 'application/json; charset=latin1',
      }),
    },
    exports: ids('Zürich'),
  },
  {
    says: 'has moved to another path',
    sources: {
      rows: listing({ path: '/v1/orders', paging: byPage({ param: 'page', pages: 'pages' }), rows: 'orders', columns }),
    },
    answers: {
      '/v1/orders': answer('', { location: '/v2/orders' }, 301),
      '/v2/orders': { orders: ids(1), pages: 1 },
    },
    exports: ids(1),
  },
];

function parseCsv(text: string): object[] {
  const [names = [], ...lines] = text
    .trim()
    .split('\n')
    .map((line) => line.split(','));
  return lines.map((line) => Object.fromEntries(line.map((value, nth) => [names[nth] ?? '', value])));
}
