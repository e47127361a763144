// An API that returns an array, and the next page in a header: Link: <https://…/issues?page=2>; rel="next"
import { byLink, defineApi, listing } from '@sluice/core';
import * as v from 'valibot';

export const issues = defineApi({
  name: 'issues',
  sources: {
    ofProject: listing({
      path: ({ project }: { project: string }) => `/projects/${encodeURIComponent(project)}/issues`,
      query: { sort: 'created' },
      pageSize: { param: 'per_page', default: 50, max: 100 },
      paging: byLink(),
      rows: '',
      total: ({ headers }) => headers['x-total-count'],
      schema: v.object({ number: v.number(), title: v.string(), state: v.string() }),
      version: '1',
      columns: ['number', 'title', 'state'],
      key: (issue) => String(issue.number),
    }),
  },
});
