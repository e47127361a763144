// Mailchimp: audiences, and the members of each of them.
import { basic, byOffset, defineApi, listing, rowOf } from '@sluice/core/define';
import * as v from 'valibot';

const paged = { pageSize: { param: 'count', default: 500, max: 1000 }, paging: byOffset({ param: 'offset' }) } as const;

export const mailchimp = defineApi({
  name: 'mailchimp',
  auth: basic({ user: 'sluice', password: { env: 'MAILCHIMP_API_KEY' } }),
  rateLimit: { requests: 100, per: 1_000, concurrency: 8 }, // it refuses an 11th connection
  sources: {
    audiences: listing({
      description: 'Audiences.',
      path: '/3.0/lists',
      ...paged,
      rows: 'lists',
      total: 'total_items',
      version: '1',
      schema: v.object({ id: v.string(), name: v.string() }),
      columns: ['id', 'name'],
      key: 'id',
    }),
    members: listing({
      description: 'Members of all audiences.',
      each: rowOf({ source: 'audiences', params: { audience: '{id}' } }),
      fields: { audience: '{audience}' }, // added to each row
      path: '/3.0/lists/{audience}/members',
      responses: { 404: 'skip' }, // an audience that was removed
      ...paged,
      rows: 'members',
      total: 'total_items',
      version: '1',
      schema: v.object({ audience: v.string(), id: v.string(), email_address: v.string(), status: v.string() }),
      columns: ['audience', 'id', 'email_address', 'status'],
      key: ['audience', 'id'],
    }),
  },
});
