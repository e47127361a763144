import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../scripts/testScope.js';
import { configFolder } from './config/configFolder.js';
import { readTable } from './readTable.js';
import { sluice, startSluice } from './runSluice.js';

/** An API of ten rows, whose later pages may have rows of the one before in place of others. */
async function openApi(defaults = {}) {
  const api = { repeats: true, total: 10, isHeldAt: -1, onHeld: () => undefined as unknown };
  const server = createServer(({ url = '' }, response) => {
    const nth = Number(new URL(url, 'http://x').searchParams.get('c') ?? 0);
    if (nth === api.isHeldAt) return void api.onHeld();
    const first = api.repeats ? nth * 3 : nth * 4;
    const ids = [0, 1, 2, 3].map((id) => first + id).filter((id) => id < 10);
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({ rows: ids.map((id) => ({ id })), total: api.total, ...(nth < 2 && { next: nth + 1 }) }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const cwd = configFolder({
    'sluice.config.js': `
      import { byCursor, defineApi, listing, noAuth } from '@sluice/core/define';
      const rows = listing({ path: '/rows', rows: 'rows', total: 'total', columns: ['id'], types: { id: 'integer' }, key: 'id',
        paging: byCursor({ param: 'c', at: 'next?' }) });
      export default { defaults: ${JSON.stringify(defaults)}, plugins: [defineApi({ name: 'shop', auth: noAuth, sources: { rows } })({ baseUrl: 'http://127.0.0.1:${port}' })] };`,
  });
  return { api, cwd };
}

/** Of twelve rows, 3 and 6 come twice: all ten keys are there. */
const all = '12 rows in 3 pages -> x.csv';

describe('P10 an export whose API lists rows again', () => {
  test.each(['plain', 'none'])('says so with --progress %s, and again when it is repeated', async (progress) => {
    const { cwd } = await openApi();
    const args = ['export', 'shop.rows', '--to', 'x.csv', '--require-total', '--progress', progress];
    const { code, stderr } = await sluice(args, { cwd });
    expect(code).toBe(0);
    expect(stderr).toContain('shop.rows: the API listed 2 rows again, by their keys.');
    expect(stderr).toContain(all);
    expect(stderr).toContain('2 repeated rows)');
    expect((await sluice(args, { cwd })).stderr).toContain('x.csv is complete (12 rows, 2 repeated rows, exported');
  });

  test('says so under --quiet, unless they are dropped, and in JSON', { tags: ['slow'] }, async () => {
    const { cwd } = await openApi();
    const run = (...more: string[]) =>
      sluice(['export', 'shop.rows', '--to', 'x.csv', '--if-exists', 'overwrite', ...more], { cwd });
    expect((await run('--quiet')).stderr).toBe('sluice: x.csv has 2 repeated rows: the API listed them again.\n');
    expect((await run('--quiet', '--repeats', 'drop')).stderr).toBe('');
    const { stderr } = await run('--repeats', 'drop');
    expect(stderr).toContain('10 rows in 3 pages -> x.csv');
    expect(stderr).toContain('2 repeated rows dropped)');
    expect((await readFile(join(cwd, 'x.csv'), 'utf8')).trim().split('\n')).toHaveLength(11);
    const json = await run('--progress', 'json');
    const last = JSON.parse(json.stderr.trim().split('\n').at(-1) ?? '') as unknown;
    expect(last).toMatchObject({ event: 'report', rows: 12, repeatedRows: 2 });
  });

  test('names both numbers of rows that are missing, or too many', async () => {
    const { api, cwd } = await openApi();
    const args = ['export', 'shop.rows', '--to', 'x.jsonl', '--if-exists', 'overwrite', '--quiet'];
    api.total = 12;
    expect((await sluice(args, { cwd })).stderr).toBe(
      "sluice: x.jsonl is short of the API's total: 2 repeated rows, 10 of 12 different rows listed.\n",
    );
    Object.assign(api, { total: 7, repeats: false });
    expect((await sluice(args, { cwd })).stderr).toBe(
      "sluice: x.jsonl has more rows than the API's total: 10 rows listed for a total of 7.\n",
    );
    for (const total of [7, 11]) {
      api.total = total;
      const required = await sluice([...args, '--require-total'], { cwd });
      expect(required).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(`total of rows is ${total}`) as string,
      });
    }
  });

  test('D3 removes no row of a table', { tags: ['slow'] }, async () => {
    const { api, cwd } = await openApi();
    const run = (...more: string[]) =>
      sluice(['export', 'shop.rows', '--to', 'a.sqlite#s', '--mode', 'replace', '--key-columns', 'id', ...more], {
        cwd,
      });
    const rows = () => readTable(join(cwd, 'a.sqlite'), 'SELECT count(*) FROM s');
    // The first night, it has rows up to 9, and in the second one, twelve in place of fourteen.
    api.repeats = false;
    expect((await run()).code).toBe(0);
    Object.assign(api, { repeats: true, total: 14 });
    expect((await run('--require-total')).code).toBe(1);
    expect((await run('--quiet')).stderr).toContain('10 of 14 different rows listed');
    expect(rows()).toEqual([[10]]);
  });

  test('fails at the first one with --repeats fail, also by a configuration', async () => {
    const { cwd } = await openApi();
    const args = ['export', 'shop.rows', '--to', 'x.csv'];
    const said =
      'page 2 lists the row "3" again. If it is another row, the key does not identify a row. ' +
      "If the API's pages overlap, use --repeats drop, or start over with --restart.";
    expect(await sluice([...args, '--repeats', 'fail'], { cwd })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(said) as string,
    });
    const configured = await openApi({ repeats: 'fail' });
    expect((await sluice(args, configured)).stderr).toContain(said);
    expect((await sluice([...args, '--restart', '--repeats', 'drop'], configured)).code).toBe(0);
  });

  test.each(['x.csv', 'x.sqlite#s'])(
    'E1 is judged alike after SIGKILL between the rows that come again: %s',
    { tags: ['slow'] },
    async (to) => {
      const { api, cwd } = await openApi();
      const args = ['export', 'shop.rows', '--to', to, '--repeats', 'drop', '--commit-every', '1', '--require-total'];
      Object.assign(api, { isHeldAt: 2, total: 12 });
      const held = new Promise((resolve) => (api.onHeld = () => void resolve(undefined)));
      const running = startSluice(args, { cwd });
      await held;
      running.process.kill('SIGKILL');
      await running.ended;
      api.isHeldAt = -1;
      const refused = await sluice(args, { cwd });
      expect(refused.stderr).toContain('it listed 10 different rows, and 2 rows again');
      const { code, stderr } = await sluice(args.slice(0, -1), { cwd });
      expect([code, stderr]).toEqual([
        0,
        expect.stringContaining('2 repeated rows dropped, 10 of 12 different rows listed'),
      ]);
      const state = (await readdir(cwd)).filter((name) => name.endsWith('.sluice'));
      for (const folder of state) expect(await readdir(join(cwd, folder))).not.toContain('keys.log');
    },
  );
});
