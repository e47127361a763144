// Jira: projects, their issues, and the work on each of these; and issues by JQL, which has the time of the last change.
import { basic, byCursor, byOffset, bySince, defineApi, listing, rowOf } from '@sluice/core/define';

const issues = {
  method: 'POST',
  path: '/rest/api/3/search/jql',
  pageSize: { into: 'maxResults', default: 100, max: 100 },
  rows: 'issues',
  columns: ['key', 'fields'],
  types: { fields: 'json' },
  key: 'key',
} as const;
const fields = ['summary', 'status', 'updated'];
const byToken = byCursor({ into: 'nextPageToken', at: 'nextPageToken?' });

export const jira = defineApi({
  name: 'jira',
  auth: basic({ user: { env: 'JIRA_EMAIL' }, password: { env: 'JIRA_API_TOKEN' } }),
  sources: {
    projects: listing({
      path: '/rest/api/3/project/search',
      query: { orderBy: 'key' },
      pageSize: { param: 'maxResults', default: 50, max: 50 },
      paging: byOffset({ param: 'startAt', last: 'isLast' }),
      rows: 'values',
      columns: ['key', 'name'],
      key: 'key',
    }),
    issues: listing({
      description: 'Issues of all projects.',
      each: rowOf({ source: 'projects', params: { project: '{key}' } }),
      body: ({ project }) => ({ jql: `project = "${project}" ORDER BY created, key`, fields }),
      paging: byToken,
      version: '1',
      ...issues,
    }),
    worklogs: listing({
      description: 'Work on all issues of all projects.',
      each: rowOf({ source: 'issues', params: { issue: '{key}' } }),
      fields: { issue: '{issue}' },
      path: '/rest/api/3/issue/{issue}/worklog',
      responses: { 404: 'skip' }, // an issue that was removed meanwhile
      pageSize: { param: 'maxResults', default: 1000, max: 5000 },
      paging: byOffset({ param: 'startAt' }),
      rows: 'worklogs',
      total: 'total',
      version: '1',
      columns: ['issue', 'id', 'timeSpentSeconds'],
      key: 'id',
    }),
    changes: listing({
      description: 'Issues that have changed, the last one at the end.',
      body: { fields },
      paging: bySince({
        into: 'jql',
        write: 'updated >= {epoch-ms} ORDER BY updated, key', // "{minute}" would be in the time zone of the user
        begin: '1970-01-01', // Jira refuses a query without any restriction
        field: 'fields.updated',
        type: 'instant',
        paging: byToken,
      }),
      ...issues,
    }),
  },
});
