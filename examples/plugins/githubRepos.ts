// GitHub: the issues of each repository of an organization. An incremental export has a mark for each repository.
import { bearer, byLink, bySince, defineApi, listing, rateLimitHeaders, rowOf } from '@sluice/core/define';
import { z } from 'zod';

export const githubRepos = defineApi({
  name: 'github',
  baseUrl: 'https://api.github.com/',
  auth: bearer({ env: 'GITHUB_TOKEN' }),
  headers: { Accept: 'application/vnd.github+json', 'X-GitHub-Api-Version': '2022-11-28' },
  quota: rateLimitHeaders(),
  responses({ status, headers, body }) {
    const isSecondary = [403, 429].includes(status) && JSON.stringify(body ?? '').includes('secondary rate limit');
    if (!isSecondary) return undefined;
    // It may have no Retry-After: a minute is then what its documentation asks for.
    return headers['retry-after'] === undefined ? { kind: 'rate-limited', retryAfter: 60_000 } : 'rate-limited';
  },
  sources: {
    repos: listing({
      description: 'Repositories of an organization.',
      path: '/orgs/{org}/repos',
      query: { sort: 'created', direction: 'asc' },
      pageSize: { param: 'per_page', default: 100, max: 100 },
      paging: byLink(),
      rows: '',
      schema: z.object({ full_name: z.string() }),
      version: '1',
      columns: ['full_name'],
      key: 'full_name',
    }),
    issues: listing({
      description: 'Issues of all repositories of an organization.',
      each: rowOf({
        source: 'repos',
        given: z.object({ org: z.string() }),
        params: { repo: '{full_name}' },
      }),
      fields: { repo: '{repo}' },
      path: '/repos/{+repo}/issues',
      responses: { 404: 'skip', 410: 'skip' }, // a repository that was removed meanwhile, or has no issues
      query: { state: 'all', sort: 'updated', direction: 'asc' },
      pageSize: { param: 'per_page', default: 100, max: 100 },
      paging: bySince({ param: 'since', field: 'updated_at', type: 'instant' }),
      rows: '',
      schema: z.object({ repo: z.string(), number: z.number(), title: z.string(), updated_at: z.string() }),
      version: '1',
      columns: ['repo', 'number', 'title', 'updated_at'],
      key: ['repo', 'number'],
    }),
  },
});
