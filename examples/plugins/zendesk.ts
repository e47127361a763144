// Zendesk: incremental exports, which begin at seconds since 1970, and end with end_of_stream.
import { bearer, byLink, bySince, defineApi, listing } from '@sluice/core/define';
import { z } from 'zod';

const since = {
  param: 'start_time',
  begin: '1970-01-01',
  overlap: 120_000, // it excludes the last minute, and refuses one as start_time
  paging: byLink({ at: 'after_url', last: 'end_of_stream' }),
} as const;
const pageSize = { param: 'per_page', default: 1000, max: 1000 } as const;

export const zendesk = defineApi({
  name: 'zendesk',
  auth: bearer({ env: 'ZENDESK_TOKEN' }),
  rateLimit: { requests: 10, per: 60_000 },
  sources: {
    tickets: listing({
      description: 'Tickets, the one that changed last at the end.',
      path: '/api/v2/incremental/tickets/cursor.json',
      pageSize,
      // Not updated_at, which system updates leave as it is.
      paging: bySince({ ...since, field: 'generated_timestamp', type: 'epoch-seconds' }),
      rows: 'tickets',
      schema: z.object({ id: z.number(), subject: z.string(), status: z.string(), generated_timestamp: z.number() }),
      version: '1',
      columns: ['id', 'subject', 'status', 'generated_timestamp'],
      types: { id: 'integer', generated_timestamp: 'integer' },
      key: 'id',
    }),
    users: listing({
      description: 'Users, the one that changed last at the end.',
      path: '/api/v2/incremental/users/cursor.json',
      pageSize,
      paging: bySince({ ...since, field: 'updated_at', type: 'instant', write: '{epoch-seconds}' }),
      rows: 'users',
      schema: z.object({ id: z.number(), name: z.string(), updated_at: z.string() }),
      version: '1',
      columns: ['id', 'name', 'updated_at'],
      types: { id: 'integer', updated_at: 'timestamp' },
      key: 'id',
    }),
  },
});
