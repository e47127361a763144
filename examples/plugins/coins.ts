// An API with offset paging and a total: { "data": { "items": [ … ], "total": 4213 } }
import { byOffset, defineApi, listing } from '@sluice/core/define';
import { z } from 'zod';

export const coins = defineApi({
  name: 'coins',
  sources: {
    markets: listing({
      description: 'Prices of all coins in a currency.',
      path: '/v1/markets',
      params: z.object({ currency: z.string().describe('e.g. usd') }),
      query: { vs_currency: '{currency}' },
      pageSize: { param: 'limit', default: 100, max: 250 },
      paging: byOffset({ param: 'offset' }),
      rows: 'data.items',
      total: 'data.total',
      schema: z.object({ id: z.string(), name: z.string(), price: z.number() }),
      version: '1',
      columns: ['id', 'name', 'price'],
      key: 'id',
    }),
  },
});
