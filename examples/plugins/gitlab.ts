// GitLab: issues in the order of their last change, so that a run can continue where the last one ended.
import { bySince, defineApi, header, listing, rateLimitHeaders } from '@sluice/core/define';
import * as v from 'valibot';

export const gitlab = defineApi({
  name: 'gitlab',
  baseUrl: 'https://gitlab.com/api/v4/',
  auth: header('PRIVATE-TOKEN', { env: 'GITLAB_TOKEN' }),
  quota: rateLimitHeaders(),
  sources: {
    issues: listing({
      description: 'Issues of a project, the one that changed last at the end.',
      path: '/projects/{project}/issues',
      query: { scope: 'all', order_by: 'updated_at', sort: 'asc' },
      pageSize: { param: 'per_page', default: 100, max: 100 },
      paging: bySince({ param: 'updated_after', field: 'updated_at', type: 'instant', overlap: 60_000 }),
      rows: '',
      schema: v.object({ iid: v.number(), title: v.string(), state: v.string(), updated_at: v.string() }),
      version: '1',
      columns: ['iid', 'title', 'state', 'updated_at'],
      key: 'iid',
    }),
  },
});
