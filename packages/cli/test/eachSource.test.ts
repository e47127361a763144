import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { configFolder, run } from './config/configFolder.js';
import { readTable } from './readTable.js';
import { changesIn } from './watching.js';

/** A forge of repos, each with issues. */
let server: Server;
let asked: string[] = [];
/** A path that fails with this status. */
let failing: { readonly path: string; readonly status: number } | undefined;
/** Issues that the forge lists no more, as `repo/id`. */
let gone: string[] = [];
/** Whether a page of `/graph` lacks rows. */
let isPartial = false;

beforeAll(async () => {
  server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    asked.push(request.url ?? '');
    response.statusCode = failing?.path === pathname ? failing.status : 200;
    const page = Number(searchParams.get('page') ?? 1);
    const all = pathname === '/repos' ? ['a', 'b', 'c'] : [1, 2, 3];
    const repo = pathname.split('/')[2] ?? '';
    const rows = all.filter((id) => !gone.includes(`${repo}/${String(id)}`)).map((id) => ({ id }));
    const items = rows.slice(2 * page - 2, 2 * page);
    const errors = isPartial && page === 2 ? [{ message: 'a shard is away' }] : [];
    response.setHeader('content-type', 'application/json');
    const isGraph = pathname === '/graph';
    response.end(
      JSON.stringify(
        isGraph ? { data: { items: errors.length > 0 ? [null] : items }, errors, pages: 2 } : { items, pages: 2 },
      ),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => void server.close());
beforeEach(() => {
  asked = [];
  failing = undefined;
  gone = [];
  isPartial = false;
});

function forgeFolder(): string {
  const baseUrl = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const paging = `paging: byPage({ param: 'page', pages: 'pages' }), rows: 'items', version: '1'`;
  const issues = (responses: string): string => `listing({
    each: rowOf({
      source: 'repos',
      params: ({ id }: { id: string }, { state }: { state?: string }) => ({ repo: id, state }),
      parentParams: () => ({}),
    }),
    fields: { repo: '{repo}' }, responses: ${responses},
    path: '/repos/{repo}/issues', query: { state: '{state}' },
    columns: ['repo', 'id'], key: ({ repo, id }) => repo + '/' + id, ${paging} })`;
  return configFolder({
    'sluice.config.ts': `
      import { byPage, defineApi, graphqlErrors, listing, rowOf } from '@sluice/core/define';
      const forge = defineApi({ name: 'forge', sources: {
        repos: listing({ path: '/repos', columns: ['id'], key: ({ id }) => String(id), ${paging} }),
        issues: ${issues('{}')},
        some: ${issues("{ 404: 'skip' }")},
        graph: listing({ path: '/graph', columns: ['id'], paging: byPage({ param: 'page', pages: 'pages' }),
          rows: 'data.items', version: '1', responses: graphqlErrors({ allowPartial: true }) }),
      } });
      export default { plugins: [forge({ baseUrl: '${baseUrl}' })], defaults: { rate: 'unlimited' } };`,
  });
}

const rowsOf = (...repos: string[]): string =>
  ['repo,id', ...repos.flatMap((repo) => [1, 2, 3].map((id) => `${repo},${String(id)}`)), ''].join('\r\n');

test('A6 A9 sluice sources NAME shows whose rows it lists', { tags: ['slow'] }, async () => {
  const folder = forgeFolder();
  const { code, stdout, stderr } = await run(['sources', 'forge.issues'], folder);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^forge\.issues\n {2}each {5}row of forge\.repos\n {2}columns {2}repo, id\n/m);
  expect((await run(['sources', 'forge.repos'], folder)).stdout).not.toContain('each');
  const json = await run(['sources', 'forge', '--format', 'json'], folder);
  expect(JSON.parse(json.stdout)).toMatchObject({
    sources: [{ name: 'forge.repos' }, { name: 'forge.issues', each: 'forge.repos' }, { name: 'forge.some' }, {}],
  });
  expect(asked).toEqual([]);
});

test('A6 sluice export has the rows of each parent, into a file and to stdout, which has no state', async () => {
  const folder = forgeFolder();
  const args = ['export', 'forge.issues', '--param', 'state=open', '--concurrency', '3'];
  const { code, stderr } = await run([...args, '--to', 'out.csv'], folder);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^9 rows in 6 pages -> out\.csv/) });
  expect(readFileSync(join(folder, 'out.csv'), 'utf8')).toBe(rowsOf('a', 'b', 'c'));
  expect(asked).toContain('/repos/c/issues?state=open&page=2');
  expect(asked[0]).toBe('/repos');
  expect((await run(['export', 'forge.issues', '--to', '-', '--quiet'], folder)).stdout).toBe(rowsOf('a', 'b', 'c'));
});

test('A6 sluice export that failed resumes with the parents that it had logged', async () => {
  const folder = forgeFolder();
  const args = ['export', 'forge.issues', '--to', 'out.csv', '--commit-every', '1'];
  failing = { path: '/repos/c/issues', status: 404 };
  expect(await run(args, folder)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/404.* It concerns "c" of forge\.repos\./),
  });
  expect(existsSync(join(folder, 'out.csv.sluice/partitions.log'))).toBe(true);
  const shown = await run(['checkpoint', 'show', 'out.csv'], folder);
  expect(shown.stdout).toMatch(/2 partitions finished, 0 open/);
  failing = undefined;
  asked = [];
  const { code, stderr } = await run(args, folder);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(/^Resuming after 6 rows \(4 pages\), at page 1 of partition 3\.\n9 rows/),
  });
  expect(asked).toEqual(['/repos/c/issues', '/repos/c/issues?page=2']);
  expect(readFileSync(join(folder, 'out.csv'), 'utf8')).toBe(rowsOf('a', 'b', 'c'));
  expect(existsSync(join(folder, 'out.csv.sluice/partitions.log'))).toBe(false);
});

test(
  'A6 sluice export names a parent that it skips, and sluice watch takes none of its rows for removed',
  { tags: ['slow'] },
  async () => {
    const folder = forgeFolder();
    failing = { path: '/repos/b/issues', status: 404 };
    const { code, stdout, stderr } = await run(['export', 'forge.some', '--to', '-', '--progress', 'none'], folder);
    expect({ code, stdout }).toEqual({ code: 0, stdout: rowsOf('a', 'c') });
    expect(stderr).toMatch(/forge\.some: skipped "b" of forge\.repos, so its rows are missing: .*404/);
    expect(stderr).toMatch(/\(.*incomplete\)\n$/);
    const quiet = await run(['export', 'forge.some', '--to', 'quiet.csv', '--quiet'], folder);
    expect(quiet).toMatchObject({
      code: 0,
      stderr: 'sluice: quiet.csv is incomplete: the API refused a part for good, or reported errors.\n',
    });
    const json = await run(['export', 'forge.some', '--to', 'json.csv', '--progress', 'json'], folder);
    expect(json.stderr).toMatch(/"event":"report".*"isIncomplete":true/);
    const args = ['watch', 'forge.some', '--every', '10ms', '--polls', '3', '--format', 'jsonl', '--quiet'];
    const watched = await run(args, folder);
    expect(changesIn(watched.stdout).map(({ key }) => key)).toEqual(['a/1', 'a/2', 'a/3', 'c/1', 'c/2', 'c/3']);
  },
);

test.each([
  {
    what: 'a parent was skipped',
    source: 'some',
    key: ['repo', 'id'],
    all: ['a/1', 'a/2', 'a/3', 'b/1', 'b/2', 'b/3', 'c/1', 'c/2', 'c/3'],
    begin: () => void (failing = { path: '/repos/b/issues', status: 404 }),
    // That of another parent stays, too.
    removed: ['c/3'],
    kept: '4 rows',
    next: ['b/2'],
  },
  {
    what: 'a response of GraphQL was partial',
    source: 'graph',
    key: ['id'],
    all: ['/1', '/2', '/3'],
    begin: () => void (isPartial = true),
    removed: ['/1'],
    kept: '1 row',
    next: ['/2'],
  },
])('D3 replace keeps all rows on a night when $what, and removes them on the next', { tags: ['slow'] }, async (of) => {
  const { source, key, all, begin, removed, kept, next } = of;
  const folder = forgeFolder();
  const to = ['--to', 't.sqlite#t', '--mode', 'replace', '--key-columns', key.join()];
  const exported = (...more: string[]) => run(['export', `forge.${source}`, ...to, ...more], folder);
  const columns = key.length > 1 ? key.join(` || '/' || `) : `'/' || id`;
  const rows = () => readTable(join(folder, 't.sqlite'), `SELECT ${columns} FROM t ORDER BY 1`).flat();
  expect(await exported('--quiet')).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(rows()).toEqual(all);
  begin();
  gone = removed;
  const quiet = await exported('--quiet');
  expect(quiet).toMatchObject({ code: 0, stdout: '' });
  expect(quiet.stderr).toContain('t.sqlite#t is incomplete: the API refused a part for good, or reported errors.\n');
  expect(quiet.stderr).toContain(`t.sqlite#t keeps ${kept} that the walk did not find, since it was incomplete.\n`);
  const plain = await exported('--progress', 'none');
  expect(plain).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(`, incomplete, ${kept} not removed\\)\n$`) as string,
  });
  const report: unknown = JSON.parse((await exported('--progress', 'json')).stderr.trimEnd().split('\n').at(-1) ?? '');
  expect(report).toMatchObject({ event: 'report', isIncomplete: true, rowsNotRemoved: parseInt(kept) });
  expect(rows()).toEqual(all);
  failing = undefined;
  isPartial = false;
  gone = [...removed, ...next];
  const isMost = gone.length > all.length / 2;
  if (isMost) expect((await exported('--quiet')).stderr).toContain('2 of 3 rows would be removed from t');
  expect(await exported('--quiet', '--max-removed', '2')).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(rows()).toEqual(all.filter((row) => !gone.includes(row)));
});
