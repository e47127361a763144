// HubSpot: a search of several types of objects, which lists no more than 10,000 results between two times.
import { type ApiOptions, bearer, byCursor, bySince, defineApi, listing } from '@sluice/core/define';
import { z } from 'zod';

const lastChange = 'hs_lastmodifieddate';

/** @param begin the day from which the account has objects */
export const hubspot = ({ begin = '2015-01-01', ...options }: Partial<ApiOptions> & { readonly begin?: string } = {}) =>
  defineApi({
    name: 'hubspot',
    baseUrl: 'https://api.hubapi.com/',
    auth: bearer({ env: 'HUBSPOT_TOKEN' }),
    rateLimit: { requests: 5, per: 1_000 },
    sources: {
      objects: listing({
        description: 'Companies, products and tickets, by the time of their last change.',
        partitions: { type: ['companies', 'products', 'tickets'] },
        fields: { type: '{type}' },
        method: 'POST',
        path: '/crm/v3/objects/{type}/search',
        body: {
          filterGroups: [
            { filters: [{ propertyName: lastChange, operator: 'BETWEEN', value: null, highValue: null }] },
          ],
          sorts: [{ propertyName: lastChange, direction: 'ASCENDING' }],
          properties: ['name', lastChange],
        },
        pageSize: { into: 'limit', default: 200, max: 200 },
        paging: bySince({
          into: 'filterGroups[0].filters[0].value',
          begin,
          windows: { to: 'filterGroups[0].filters[0].highValue', step: '7d' },
          write: '{epoch-ms}',
          overlap: 300_000, // the search finds changes late
          field: 'updatedAt',
          type: 'instant',
          paging: byCursor({ into: 'after', at: 'paging?.next?.after?' }),
        }),
        rows: 'results',
        total: 'total',
        schema: z
          .object({
            type: z.string(),
            id: z.string(),
            properties: z.object({ name: z.string() }),
            updatedAt: z.string(),
          })
          .transform(({ properties, ...row }) => ({ ...row, ...properties })),
        version: '1',
        columns: ['type', 'id', 'name', 'updatedAt'],
        types: { updatedAt: 'timestamp' },
        key: ['type', 'id'],
      }),
    },
  })(options);
