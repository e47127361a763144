import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../scripts/testScope.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { configFolder } from './config/configFolder.js';
import { readTable } from './readTable.js';
import { sluice } from './runSluice.js';

/** An API of streams that lists ten and says that there are 25. */
async function cappedStreams(): Promise<Readonly<Record<string, string>>> {
  let listings = 0;
  const server = createServer((_, response) => {
    // Each listing has ten others.
    listings += 1;
    const result = Array.from({ length: 10 }, (__, nth) => ({ id: String(10 * listings + nth), status: 'active' }));
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ result, total: 25, cursor: null }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestEnd(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { SLUICE_API_KEY: 'key-of-the-test', SLUICE_STREAMS_URL: `http://127.0.0.1:${port}` };
}

const said = "streams.list: the API's total of rows is 25, but it listed 10, so 15 may be missing.";

describe('P10 an export that lists fewer rows than the API counts', () => {
  test.each(['plain', 'bar', 'none'])('says so with --progress %s, and again when it is repeated', async (progress) => {
    const env = await cappedStreams();
    const folder = temporaryFolder();
    const args = ['streams', 'export', '--to', join(folder, 'x.csv'), '--progress', progress];
    const first = await sluice(args, { env });
    expect(first.code).toBe(0);
    expect(first.stderr).toContain(said);
    expect(first.stderr).toMatch(/10 rows in 1 page -> .*10 of 25 rows listed\)/);
    expect((await sluice(args, { env })).stderr).toContain('is complete (10 rows, 10 of 25 rows listed, exported');
  });

  test('says so to stdout, and under --quiet', async () => {
    const env = await cappedStreams();
    const shown = await sluice(['streams', 'export', '--to', '-', '--progress', 'plain'], { env });
    expect(shown.stderr).toContain(said);
    const quiet = await sluice(['streams', 'export', '--to', '-', '--quiet'], { env });
    expect(quiet.stderr).toBe("sluice: stdout is short of the API's total: 10 of 25 rows listed.\n");
  });

  test('has both numbers in JSON', async () => {
    const env = await cappedStreams();
    const folder = temporaryFolder();
    const { stderr } = await sluice(['streams', 'export', '--to', join(folder, 'x.csv'), '--progress', 'json'], {
      env,
    });
    const events = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(events.find(({ event }) => event === 'warning')?.['message']).toContain(said);
    expect(events.at(-1)).toMatchObject({ event: 'report', rows: 10, shortOfTotal: { total: 25, listed: 10 } });
  });

  test('fails with --require-total before the file gets its name, and goes with neither --max-rows nor --incremental', async () => {
    const env = await cappedStreams();
    const folder = temporaryFolder();
    const args = ['streams', 'export', '--to', join(folder, 'x.csv'), '--require-total'];
    const { code, stderr } = await sluice(args, { env });
    expect([code, await readdir(folder)]).toEqual([1, expect.not.arrayContaining(['x.csv'])]);
    expect(stderr).toContain(said);
    const bounded = await sluice([...args, '--max-rows', '5'], { env });
    expect(bounded.stderr).toContain("--require-total can't be met: streams.list is exported up to maxRows");
  });

  test(
    'D3 stops replace from removing rows, until --no-require-total or a configuration says that the total counts something else',
    { tags: ['slow'] },
    async () => {
      const env = await cappedStreams();
      const cwd = temporaryFolder();
      const run = (...more: string[]) =>
        sluice(['streams', 'export', '--to', 'a.sqlite#s', '--mode', 'replace', '--key-columns', 'id', ...more], {
          env,
          cwd,
        });
      const rows = () => readTable(join(cwd, 'a.sqlite'), 'SELECT count(*) FROM s');
      expect((await run()).code).toBe(0);
      const remedy = 'If none is missing, --no-require-total removes them.';
      for (const [progress, kept] of [
        ['plain', 10],
        ['json', 20],
        ['none', 30],
      ] as const)
        expect((await run('--progress', progress)).stderr).toContain(
          `a.sqlite#s keeps ${kept} rows that the walk did not find, since it was incomplete. ${remedy}`,
        );
      expect((await run('--quiet')).stderr).toContain(remedy);
      expect(rows()).toEqual([[50]]);
      const { stderr } = await run('--no-require-total', '--max-removed', '100%', '--progress', 'plain');
      expect(stderr).toContain(said);
      expect(stderr).not.toContain('not removed');
      expect(rows()).toEqual([[10]]);
      const defaults = { requireTotal: false, maxRemoved: '100%' };
      await writeFile(join(cwd, 'sluice.config.json'), JSON.stringify({ defaults }));
      expect((await run()).code).toBe(0);
      expect(rows()).toEqual([[10]]);
    },
  );

  test.each(['plain', 'json', 'none'])(
    'D3 names --no-require-total also if the parents of the rows are short, with --progress %s',
    { tags: ['slow'] },
    async (progress) => {
      let isShort = false;
      const server = createServer(({ url = '' }, response) => {
        const ids = isShort ? [1] : [1, 2];
        const body = url.startsWith('/repos')
          ? { items: ids.map((id) => ({ id })), total: 2 }
          : { items: [{ id: url }] };
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ ...body, pages: 1 }));
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      onTestEnd(() => void server.close());
      const { port } = server.address() as AddressInfo;
      const cwd = configFolder({
        'sluice.config.js': `
          import { byPage, defineApi, listing, rowOf } from '@sluice/core/define';
          const paging = byPage({ param: 'page', pages: 'pages' });
          const repos = listing({ path: '/repos', columns: ['id'], rows: 'items', total: 'total', paging, key: ({ id }) => id });
          const issues = listing({ each: rowOf({ source: 'repos', params: ({ id }) => ({ repo: id }) }), version: '1',
            path: '/issues/{repo}', columns: ['id'], rows: 'items', paging });
          export default { plugins: [defineApi({ name: 'forge', sources: { repos, issues } })({ baseUrl: 'http://127.0.0.1:${port}' })] };`,
      });
      const run = (...more: string[]) =>
        sluice(['export', 'forge.issues', '--to', 'a.sqlite#s', '--mode', 'replace', '--key-columns', 'id', ...more], {
          cwd,
          env: { SLUICE_API_KEY: 'key-of-the-test' },
        });
      expect((await run()).code).toBe(0);
      isShort = true;
      expect((await run('--progress', progress)).stderr).toContain(
        'a.sqlite#s keeps 1 row that the walk did not find, since it was incomplete. If none is missing, --no-require-total removes them.',
      );
      expect((await run('--max-rows', '1')).stderr).not.toContain('--no-require-total');
      expect((await run('--no-require-total')).stderr).not.toContain('not removed');
      expect(readTable(join(cwd, 'a.sqlite'), 'SELECT count(*) FROM s')).toEqual([[1]]);
    },
  );

  test('D3 ends replace without key columns with an error that says what to do', { tags: ['slow'] }, async () => {
    const env = await cappedStreams();
    const cwd = temporaryFolder();
    const run = (...more: string[]) =>
      sluice(['streams', 'export', '--to', 'a.sqlite#s', '--mode', 'replace', ...more], { env, cwd });
    expect((await run()).code).toBe(0);
    expect(await run('--quiet')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        "no row of s may be removed: the API's total of rows is 25, but it listed 10. Without key columns no row can be told from a new one, so nothing was changed. Name the columns that identify a row with --key-columns, or if the total counts something else, say so with --no-require-total.",
      ) as string,
    });
    expect((await run('--no-require-total')).code).toBe(0);
    const bounded = await run('--max-rows', '5');
    expect(bounded.stderr).toContain('or the limit in --max-rows was reached. Without key columns');
    expect(bounded.stderr).not.toContain('--no-require-total');
    expect(readTable(join(cwd, 'a.sqlite'), 'SELECT count(*) FROM s')).toEqual([[10]]);
  });
});
