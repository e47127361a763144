import { serveListing, testSource } from '@sluice/testing';
import { describe } from 'vitest';
import { createClient } from '../../src/index.js';
import { byOffset, byPage, bySince, defineApi, listing } from '../../src/define/index.js';
import { allBut } from '../../../testing/test/offering.js';

const rows = Array.from({ length: 37 }, (_, id) => ({ id, at: 1_767_225_600 + id * 600.5 }));

const listings = [
  {
    title: 'newest first, without a filter',
    paging: bySince({ field: 'at', type: 'epoch-seconds', order: 'newest-first', paging: byPage({ param: 'page' }) }),
    listed: rows.toReversed(),
  },
  {
    title: 'ascending, by offsets from a day on',
    paging: bySince({
      param: 'from',
      field: 'at',
      type: 'epoch-seconds',
      write: '{date}',
      zone: 'UTC',
      paging: byOffset({ param: 'offset' }),
    }),
    listed: rows,
  },
  {
    title: 'in windows',
    paging: bySince({
      param: 'from',
      field: 'at',
      type: 'epoch-seconds',
      write: '{date}',
      zone: 'UTC',
      begin: '2025-12-20',
      windows: { to: 'to', step: '30d' },
      paging: byOffset({ param: 'offset' }),
    }),
    listed: rows,
  },
];

for (const [nth, { title, paging, listed }] of listings.entries())
  describe(`G5 R7 a listing ${title},`, { tags: nth === 0 ? [] : ['slow'] }, () => {
    const hasPages = paging.increment?.isSent === false;
    testSource({
      ...allBut(
        'a source of several partitions',
        '`useUpQuota` of the fixture',
        ...(paging.increment?.windows ? ['partitions that are known before a walk'] : []),
        ...(hasPages ? ['a source that sends its mark', 'an API whose rows move'] : []),
      ),
      factory: async () => {
        const api = await serveListing(listed, ({ url: { searchParams: query }, rows: current, limit }) => {
          const size = limit(query.get('n'));
          const start = Number(query.get('offset') ?? (Number(query.get('page') ?? 1) - 1) * size);
          const from = Date.parse(query.get('from') ?? '2000-01-01') / 1_000;
          const to = Date.parse(query.get('to') ?? '9999-01-01') / 1_000;
          return { body: current.filter(({ at }) => at >= from && at < to).slice(start, start + size) };
        });
        const items = listing({
          path: '/items',
          rows: '',
          columns: ['id', 'at'],
          key: ({ id }) => Number(id),
          pageSize: { param: 'n', default: 12, max: 100 },
          paging,
        });
        const client = createClient({ apiKey: 'key-of-since-1', rateLimit: false }).use(
          defineApi({ name: 'feed', sources: { items } })({ baseUrl: api.baseUrl }),
        );
        return {
          ...api,
          areRowsStill: hasPages,
          source: () => client.feed.items(),
          dispose: async () => {
            await client.close();
            await api.close();
          },
        };
      },
    });
  });
