// GitHub: the next page is in a Link header, and each response says how much of the quota is left.
import { bearer, byLink, defineApi, listing, rateLimitHeaders } from '@sluice/core/define';
import { z } from 'zod';

export const github = defineApi({
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
    issues: listing({
      description: 'Issues and pull requests of a repository.',
      params: z.object({ owner: z.string(), repo: z.string() }),
      path: '/repos/{owner}/{repo}/issues',
      query: { state: 'all', sort: 'created', direction: 'asc' },
      pageSize: { param: 'per_page', default: 100, max: 100 },
      paging: byLink(),
      rows: '',
      schema: z.object({ number: z.number(), title: z.string(), state: z.string() }),
      version: '1',
      columns: ['number', 'title', 'state'],
      key: 'number',
    }),
  },
});
