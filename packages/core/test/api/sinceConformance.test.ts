import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { testSource, type Answering, type SentRequest } from '@sluice/testing';
import { describe } from 'vitest';
import { byOffset, byPage, bySince, createClient, defineApi, listing } from '../../src/index.js';
import { allBut } from '../../../testing/test/offering.js';

const rows = Array.from({ length: 23 }, (_, id) => ({ id, at: 1_767_225_600 + id * 600.5 }));

describe.each([
  [
    'newest first, without a filter',
    bySince({ field: 'at', type: 'epoch-seconds', order: 'newest-first', paging: byPage({ param: 'page' }) }),
    rows.toReversed(),
  ],
  [
    'ascending, by offsets from a day on',
    bySince({
      param: 'from',
      field: 'at',
      type: 'epoch-seconds',
      write: '{date}',
      paging: byOffset({ param: 'offset' }),
    }),
    rows,
  ],
])('G5 R7 a listing %s,', (_, paging, listed) => {
  testSource({
    ...allBut(
      'a source of several partitions',
      '`useUpQuota` of the fixture',
      ...(paging.increment?.isSent === false ? ['a source that sends its mark'] : []),
    ),
    factory: async () => {
      const sent: SentRequest[] = [];
      let open = 0;
      let how: Answering = 'well';
      const server = createServer((request, response) => {
        open += 1;
        response.once('close', () => (open -= 1));
        const { method = '', url = '' } = request;
        sent.push({ method, url });
        if (how === 'never') return;
        if (how === 'fail') return void response.writeHead(400).end();
        const query = new URL(url, 'http://localhost').searchParams;
        const size = Number(query.get('n'));
        const start = Number(query.get('offset') ?? (Number(query.get('page') ?? 1) - 1) * size);
        const from = Date.parse(query.get('from') ?? '2000-01-01') / 1_000;
        response.end(JSON.stringify(listed.filter(({ at }) => at >= from).slice(start, start + size)));
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const items = listing({
        path: '/items',
        rows: '',
        columns: ['id', 'at'],
        key: ({ id }) => Number(id),
        pageSize: { param: 'n', default: 5, max: 5 },
        paging,
      });
      const client = createClient({ apiKey: 'key-of-since-1', rateLimit: false }).use(
        defineApi({ name: 'feed', sources: { items } })({
          baseUrl: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
        }),
      );
      return {
        source: () => client.feed.items(),
        requests: () => ({ made: sent.length, open, sent }),
        answer: (answering) => (how = answering),
        dispose: async () => {
          await client.close();
          server.closeAllConnections();
          server.close();
        },
      };
    },
  });
});
