// As Jira responds: searches in JQL, which must be bounded and has times in the zone of the user; offsets elsewhere.
import { z } from 'zod';
import type { Answer, Answering } from './listingServer.js';
import { readToken, tokenFor } from './tokens.js';

export interface JiraIssue {
  readonly key: string;
  readonly fields: { readonly summary: string; readonly status: { readonly name: string }; readonly updated: string };
}

export interface JiraWorklog {
  readonly id: string;
  readonly timeSpentSeconds: number;
}

export interface Jira {
  readonly email: string;
  readonly apiToken: string;
  readonly projects: readonly { readonly key: string; readonly name: string }[];
  readonly issues: JiraIssue[];
  /** By the key of an issue. One that is missing was removed. */
  readonly worklogs: ReadonlyMap<string, readonly JiraWorklog[]>;
  /** Tokens are refused that it gave before, as after a week. */
  hasForgotten?: boolean;
}

const search = z.strictObject({
  jql: z.string(),
  fields: z.array(z.string()),
  maxResults: z.number().optional(),
  nextPageToken: z.string().optional(),
});

export function jiraAnswers(site: Jira): Answering<unknown> {
  const authorization = `Basic ${Buffer.from(`${site.email}:${site.apiToken}`).toString('base64')}`;
  return (url, _, { headers, body, method }) => {
    if (headers.authorization !== authorization)
      return refuse(401, 'Client must be authenticated to access this resource.');
    const { pathname } = url;
    if (method === 'POST' && pathname === '/rest/api/3/search/jql')
      return searchPage(site, search.parse(JSON.parse(body)));
    if (pathname === '/rest/api/3/project/search') return offsetPage(url, 'values', site.projects, 50);
    const [, key = ''] = /^\/rest\/api\/3\/issue\/([A-Z]+-\d+)\/worklog$/.exec(pathname) ?? [];
    const logged = site.worklogs.get(key);
    if (!logged) return refuse(404, 'Issue does not exist or you do not have permission to see it.');
    return offsetPage(url, 'worklogs', logged, 5000);
  };
}

function offsetPage({ searchParams }: URL, name: string, all: readonly object[], max: number): Answer {
  const startAt = Number(searchParams.get('startAt') ?? 0);
  const maxResults = Math.min(Number(searchParams.get('maxResults') ?? max), max);
  return {
    body: {
      startAt,
      maxResults,
      total: all.length,
      isLast: startAt + maxResults >= all.length,
      [name]: all.slice(startAt, startAt + maxResults),
    },
  };
}

function searchPage(site: Jira, { jql, maxResults = 50, nextPageToken }: z.infer<typeof search>): Answer {
  const found = findIssues(site, jql);
  if (typeof found === 'string') return refuse(400, found);
  const rest = nextPageToken === undefined ? { from: 0, filters: { jql } } : readToken(nextPageToken);
  if (rest?.filters['jql'] !== jql || (rest.from > 0 && site.hasForgotten))
    return refuse(400, 'The provided next page token is invalid or expired.');
  const to = rest.from + Math.min(maxResults, 100);
  const isLast = to >= found.length;
  const more = !isLast && { nextPageToken: tokenFor({ from: to, filters: { jql } }) };
  return { body: { isLast, issues: found.slice(rest.from, to), ...more } };
}

/** A number is in ms since 1970. A text would be in the time zone of the user. */
function findIssues({ issues }: Jira, jql: string): readonly JiraIssue[] | string {
  const [, project, since, order = ''] = /^(?:project = "([A-Z]+)"|updated >= (\d+)) ORDER BY (.+)$/.exec(jql) ?? [];
  if (project === undefined && since === undefined)
    return 'Unbounded JQL queries are not allowed here. Please add a search restriction to your query.';
  return issues
    .filter(({ key, fields }) => project === key.split('-')[0] || Date.parse(fields.updated) >= Number(since ?? NaN))
    .sort((a, b) => (order.startsWith('updated') ? Date.parse(a.fields.updated) - Date.parse(b.fields.updated) : 0));
}

function refuse(status: number, message: string): Answer {
  return { status, body: { errorMessages: [message], errors: {} } };
}
