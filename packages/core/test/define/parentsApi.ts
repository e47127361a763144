import { createClient, type RowKey } from '../../src/index.js';
import {
  byCursor,
  byPage,
  defineApi,
  listing,
  rowOf,
  type Paging,
  type Responses,
  type RowOfOptions,
} from '../../src/define/index.js';
import type { RowFormat } from '../../src/kit.js';
import type { Said } from './servedApi.js';

/** A parent: how many rows its listing has, or the status with which it is refused. */
export interface Repo {
  readonly id: number;
  readonly name: string;
}

export interface Issue {
  readonly repo: string;
  readonly id: number;
}

/** What a forge has. */
export interface Kept {
  /** Changes between two requests, if a test wants it to. */
  repos: readonly Repo[];
  /** The number of issues of each repo, or a status. Default 0. */
  readonly issues: Readonly<Record<string, number | { readonly status: number }>>;
}

/** What a forge says to a request. */
export function answerOf({ repos, issues }: Kept, url: URL): Said {
  const size = Number(url.searchParams.get('size') ?? 2);
  if (url.pathname === '/api/repos') {
    const page = Number(url.searchParams.get('page') ?? 1);
    return { body: { items: repos.slice((page - 1) * size, page * size), pages: Math.ceil(repos.length / size) } };
  }
  const [, repo = ''] = /^\/api\/repos\/(\w+)\/issues$/.exec(url.pathname) ?? [];
  const count = issues[repo] ?? 0;
  if (typeof count !== 'number') return { status: count.status, body: { message: 'not for you' } };
  const from = Number(url.searchParams.get('after') ?? 0);
  const rows = Array.from({ length: Math.max(0, Math.min(size, count - from)) }, (_, index) => ({ id: from + index }));
  return { body: { items: rows, total: count, next: from + size < count ? String(from + size) : null } };
}

export interface EachIssue extends RowOfOptions<Repo, { repo: string }, never, object> {
  readonly responses: Responses;
}

/** A repo that was removed. */
export const skipGone: Responses = { 404: 'skip', 410: 'skip' };

/** The definition of its sources. */
export const reposOf = (key: ((repo: Repo) => RowKey) | null = ({ id }) => id) =>
  listing<Repo>({
    path: '/repos',
    rows: 'items',
    columns: ['id', 'name'],
    pageSize: { param: 'size', default: 3 },
    paging: byPage({ param: 'page', pages: 'pages' }),
    ...(key && { key }),
  });

export const issuesOf = (
  { responses, ...each }: Partial<EachIssue> = {},
  paging: Paging = byCursor({ param: 'after', at: 'next' }),
) =>
  listing<Issue, { repo: string }, object>({
    each: rowOf({
      source: 'repos',
      params: ({ name }: Repo) => ({ repo: name }),
      ...each,
    }),
    fields: { repo: '{repo}' },
    path: '/repos/{+repo}/issues',
    pageSize: { param: 'size', default: 2 },
    paging,
    ...(responses && { responses }),
    rows: 'items',
    total: 'total',
    columns: ['repo', 'id'],
    version: '1',
    key: ({ repo, id }) => `${repo}/${String(id)}`,
  });

/** A client with these sources. */
export function clientOf(baseUrl: string, each: Partial<EachIssue> = {}, paging?: Paging) {
  const forge = defineApi({ name: 'forge', sources: { issues: issuesOf(each, paging), repos: reposOf() } });
  return createClient({ apiKey: 'test-key-1', rateLimit: false, retry: { retries: 0 } }).use(forge({ baseUrl }));
}

/** All rows as text, in the plan's order. */
export function linesOf({ repos, issues }: Kept): string[] {
  return repos.flatMap(({ name }) => {
    const count = issues[name] ?? 0;
    return Array.from({ length: typeof count === 'number' ? count : 0 }, (_, id) => `${name}/${String(id)}`);
  });
}

export const lineOf = ({ repo, id }: Issue): string => `${repo}/${String(id)}`;

/** An issue a line. */
export const issueLines: RowFormat<Issue> = {
  name: 'lines',
  identity: null,
  encoder: () => ({ header: '', encode: (rows) => rows.map((row) => `${lineOf(row)}\n`).join('') }),
};
