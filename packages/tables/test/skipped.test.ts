import { createClient, exportTo, watch, type ExportReport, type Source } from '@sluice/core';
import { byPage, defineApi, listing, rowOf } from '@sluice/core/define';
import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../scripts/testScope.js';
import { serve, type Said } from '../../core/test/define/servedApi.js';
import { SkippingClock } from '../../core/test/rows/watch/skippingClock.js';
import { describeDatabases, type TestDatabase } from './databases.js';

interface Issue {
  readonly repo: string;
  readonly id: number;
}

/** A forge whose repos have issues, a row a page. Its listings may be refused. */
async function openForge() {
  const issues: Record<string, number[]> = { a: [1, 2], b: [1, 2], c: [1] };
  const refused = new Map<string, (page: number) => Said | undefined>();
  const { baseUrl } = await serve(({ pathname, searchParams }) => {
    const [, path = '', repo] = /^\/api(\/repos(?:\/(.*))?)$/.exec(pathname) ?? [];
    const page = Number(searchParams.get('page') ?? 1);
    const said = refused.get(path)?.(page);
    if (said) return said;
    const rows =
      repo === undefined ? Object.keys(issues).map((name) => ({ name })) : (issues[repo] ?? []).map((id) => ({ id }));
    return { body: { items: rows.slice(page - 1, page), pages: rows.length } };
  });
  const shared = {
    rows: 'items',
    paging: byPage({ param: 'page', pages: 'pages' }),
    responses: { 403: 'skip', 404: 'skip', 409: 'end' },
    version: '1',
  } as const;
  const api = defineApi({
    name: 'forge',
    sources: {
      repos: listing<{ name: string }>({ ...shared, path: '/repos', columns: ['name'], key: ({ name }) => name }),
      issues: listing<Issue, { repo: string }, object>({
        ...shared,
        each: rowOf({
          source: 'repos',
          params: ({ name }: { name: string }) => ({ repo: name }),
        }),
        path: '/repos/{repo}',
        fields: { repo: '{repo}' },
        columns: ['repo', 'id'],
        key: ({ repo, id }) => `${repo}${id}`,
      }),
    },
  });
  const client = createClient({ apiKey: false, rateLimit: false, retry: { retries: 0 } }).use(api({ baseUrl }));
  onTestEnd(() => client.close());
  return { issues, refused, source: () => client.forge.issues() };
}

const replaced = (database: TestDatabase, source: Source<Issue>): Promise<ExportReport> =>
  exportTo(source, database.sink<Issue>({ table: 'issues', mode: 'replace', key: ['repo', 'id'] })).run();

function mirrored(database: TestDatabase, source: Source<Issue>): Promise<ExportReport> {
  const mirror = database.mirror<Issue>({ table: 'issues' });
  const options = { every: 1_000, polls: 1, confirmations: 1, acceptRemovals: true, holdAbove: 1 } as const;
  return exportTo(watch(source, { ...options, clock: new SkippingClock(), state: mirror.state }), mirror).run();
}

async function inTable(database: TestDatabase): Promise<string> {
  const rows = await database.query('SELECT repo, id FROM issues ORDER BY repo, id');
  return rows.map(({ repo, id }) => `${repo}${id}`).join(' ');
}

const answers = (status: number) => (): Said => ({ status, body: {} });

/** Is there for its first page, and then gone. */
function vanishing(): (page: number) => Said | undefined {
  let isGone = false;
  return (page) => {
    isGone ||= page > 1;
    return isGone ? { status: 404, body: {} } : undefined;
  };
}

describeDatabases('R1 in $name, below what is skipped,', ({ open }) => {
  describe.each([
    ['replace', replaced],
    ['a mirror', mirrored],
  ])('%s removes no row:', (_how, write) => {
    test.each<[string, string, (page: number) => Said | undefined, string]>([
      ['a parent that answers 404', '/repos/b', answers(404), 'a1 a2 a3 b1 b2 c1'],
      ['a parent that answers 403', '/repos/b', answers(403), 'a1 a2 a3 b1 b2 c1'],
      ['a parent that is gone between two pages', '/repos/b', vanishing(), 'a1 a2 a3 b1 b2 c1'],
      ['a parent that ends at its first page', '/repos/b', answers(409), 'a1 a2 a3 b1 b2 c1'],
      ['the listing of parents', '/repos', answers(404), 'a1 a2 b1 b2 c1'],
      ['the rest of the listing of parents', '/repos', vanishing(), 'a1 a2 a3 b1 b2 c1'],
      ['a listing of parents that ends at its first page', '/repos', answers(409), 'a1 a2 b1 b2 c1'],
    ])('%s', { tags: ['slow'] }, async (_what, where, said, meanwhile) => {
      const [database, { issues, refused, source }] = [await open(), await openForge()];
      await write(database, source());
      expect(await inTable(database)).toBe('a1 a2 b1 b2 c1');
      issues['a'] = [2, 3];
      issues['b'] = [2, 4];
      refused.set(where, said);
      await write(database, source());
      expect(await inTable(database)).toBe(meanwhile);
      refused.clear();
      await write(database, source());
      expect(await inTable(database)).toBe('a2 a3 b2 b4 c1');
    });
  });
});
