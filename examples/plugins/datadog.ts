// Datadog: a search of logs by POST, with two keys, and the cursor in the body.
import { byCursor, bySince, defineApi, header, listing, rateLimitHeaders } from '@sluice/core/define';
import { z } from 'zod';

export const datadog = defineApi({
  name: 'datadog',
  baseUrl: 'https://api.datadoghq.com/',
  auth: [header('DD-API-KEY', { env: 'DD_API_KEY' }), header('DD-APPLICATION-KEY', { env: 'DD_APP_KEY' })],
  quota: rateLimitHeaders(),
  sources: {
    logs: listing({
      description: 'Log events that match a query, the newest ones at the end.',
      method: 'POST',
      path: '/api/v2/logs/events/search',
      params: z.object({ query: z.string().describe('e.g. service:web status:error') }),
      body: { filter: { query: '{query}', to: 'now' }, sort: 'timestamp' },
      pageSize: { into: 'page.limit', default: 1000, max: 1000 },
      paging: bySince({
        into: 'filter.from',
        begin: '2020-01-01', // by default it lists a quarter of an hour
        field: 'attributes.timestamp',
        type: 'instant',
        paging: byCursor({ into: 'page.cursor', at: 'meta.page?.after?' }),
      }),
      rows: 'data',
      schema: z
        .object({
          id: z.string(),
          attributes: z.object({ timestamp: z.string(), service: z.string(), message: z.string() }),
        })
        .transform(({ id, attributes }) => ({ id, ...attributes })),
      version: '1',
      columns: ['id', 'timestamp', 'service', 'message'],
      types: { timestamp: 'timestamp' },
      key: 'id',
    }),
  },
});
