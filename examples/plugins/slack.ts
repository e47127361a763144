// Slack: the messages of each channel, the newest ones first. Errors come with status 200.
import { bearer, byCursor, bySince, defineApi, listing, rowOf, type Responses } from '@sluice/core/define';
import { z } from 'zod';

const said = z.object({ ok: z.boolean(), error: z.string().default('') });
const responses: Responses = ({ status, body }) => {
  const { data: { ok, error } = { ok: true, error: '' } } = said.safeParse(body);
  if (status !== 200 || ok) return undefined;
  const isElsewhere = ['not_in_channel', 'channel_not_found'].includes(error);
  return { kind: isElsewhere ? 'skip' : 'final', message: error };
};

const byNextCursor = byCursor({ param: 'cursor', at: 'response_metadata?.next_cursor?' });

export const slack = defineApi({
  name: 'slack',
  baseUrl: 'https://slack.com/',
  auth: bearer({ env: 'SLACK_TOKEN' }),
  rateLimit: { requests: 20, per: 60_000 }, // what its methods of tier 2 allow
  responses,
  sources: {
    channels: listing({
      description: 'Public channels.',
      path: '/api/conversations.list',
      query: { types: 'public_channel', exclude_archived: true },
      pageSize: { param: 'limit', default: 200, max: 1000 },
      paging: byNextCursor,
      rows: 'channels',
      columns: ['id', 'name'],
      key: 'id',
    }),
    messages: listing({
      description: 'Messages of all channels of which the app is a member.',
      each: rowOf({ source: 'channels', params: { channel: '{id}' } }),
      fields: { channel: '{channel}' },
      path: '/api/conversations.history',
      query: { channel: '{channel}', inclusive: true },
      pageSize: { param: 'limit', default: 200, max: 999 },
      paging: bySince({
        param: 'oldest',
        field: 'ts',
        type: 'epoch-seconds',
        order: 'newest-first',
        paging: byNextCursor,
      }),
      rows: 'messages',
      schema: z.object({ channel: z.string(), ts: z.string(), user: z.string().optional(), text: z.string() }),
      version: '1',
      columns: ['channel', 'ts', 'user', 'text'],
      key: ['channel', 'ts'],
    }),
  },
});
