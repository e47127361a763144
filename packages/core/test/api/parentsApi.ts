import { onTestEnd } from '../../../../scripts/testScope.js';
import {
  byCursor,
  byPage,
  createClient,
  defineApi,
  listing,
  rowOf,
  type RowKey,
  type RowOfOptions,
  type Source,
} from '../../src/index.js';
import { serve, type Said } from './servedApi.js';

/** A parent: how many rows its listing has, or the status with which it is refused. */
export interface Repo {
  readonly id: number;
  readonly name: string;
}

export interface Issue {
  readonly repo: string;
  readonly id: number;
}

/** A forge with repos, and issues of each. */
export interface Forge {
  /** Changes between two requests, if a test wants it to. */
  repos: readonly Repo[];
  /** The number of issues of each repo, or a status. Default 0. */
  readonly issues: Record<string, number | { readonly status: number }>;
  /** Says something else. */
  say: (url: URL, nth: number) => Said | 'cut' | undefined;
  readonly asked: string[];
  readonly baseUrl: string;
}

/** Repos of these numbers of issues, which are called `r0`, `r1` and so on. */
export async function forgeOf(counts: readonly (number | { readonly status: number })[]): Promise<Forge> {
  const names = counts.map((_, index) => `r${String(index)}`);
  const forge: Pick<Forge, 'repos' | 'issues' | 'say'> = {
    repos: names.map((name, index): Repo => ({ id: 1000 + index, name })),
    issues: Object.fromEntries(counts.map((count, index) => [`r${String(index)}`, count])),
    say: (): Said | 'cut' | undefined => undefined,
  };
  const { asked, baseUrl } = await serve((url, nth) => forge.say(url, nth) ?? answer(forge, url));
  return Object.assign(forge, { asked, baseUrl });
}

function answer({ repos, issues }: Pick<Forge, 'repos' | 'issues'>, url: URL): Said {
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

type EachIssue = RowOfOptions<Repo, { repo: string }, never, object>;

/** The definition of its sources. */
export const reposOf = (key: ((repo: Repo) => RowKey) | null = ({ id }) => id) =>
  listing<Repo>({
    ...{ path: '/repos', rows: 'items', columns: ['id', 'name'] },
    pageSize: { param: 'size', default: 3 },
    paging: byPage({ param: 'page', pages: 'pages' }),
    ...(key && { key }),
  });

export const issuesOf = (each: Partial<EachIssue> = {}) =>
  listing<Issue, { repo: string }, object>({
    each: rowOf({
      ...{ source: 'repos', params: ({ name }: Repo) => ({ repo: name }), fields: ({ repo }) => ({ repo }) },
      ...each,
    }),
    path: ({ repo }) => `/repos/${repo}/issues`,
    pageSize: { param: 'size', default: 2 },
    paging: byCursor({ param: 'after', at: 'next' }),
    ...{ rows: 'items', total: 'total', columns: ['repo', 'id'], version: '1' },
    key: ({ repo, id }) => `${repo}/${String(id)}`,
  });

/** The issues of a forge, and what its client warned of. */
export function openForge(
  { baseUrl }: Pick<Forge, 'baseUrl'>,
  each: Partial<EachIssue> = {},
): { readonly source: Source<Issue>; readonly warnings: string[]; readonly client: ReturnType<typeof clientOf> } {
  const client = clientOf(baseUrl, each);
  const warnings: string[] = [];
  client.events.subscribe((event) => {
    if (event.type === 'warning') warnings.push(event.message);
  });
  onTestEnd(() => client.close());
  return { source: client.forge.issues(), warnings, client };
}

function clientOf(baseUrl: string, each: Partial<EachIssue>) {
  const forge = defineApi({ name: 'forge', sources: { issues: issuesOf(each), repos: reposOf() } });
  return createClient({ apiKey: 'test-key-1', rateLimit: false, retry: { retries: 0 } }).use(forge({ baseUrl }));
}

/** All rows as text, in the plan's order. */
export function linesOf({ repos, issues }: Pick<Forge, 'repos' | 'issues'>): string[] {
  return repos.flatMap(({ name }) => {
    const count = issues[name] ?? 0;
    return Array.from({ length: typeof count === 'number' ? count : 0 }, (_, id) => `${name}/${String(id)}`);
  });
}

export const lineOf = ({ repo, id }: Issue): string => `${repo}/${String(id)}`;
