// @module-tag slow
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { aptos, type ListNftsOptions } from '@sluice/aptos';
import { openCluster } from '@sluice/cluster';
import { createClient, SinkError } from '@sluice/core';
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../scripts/testScope.js';
import { dashboardAddress } from '../../../test/kit/dashboardAddress.js';
import { freePort } from '../../../test/kit/freePort.js';
import { openDatabase, postgresPrograms } from '../../../test/kit/postgresServer.js';
import { redisProgram, startRedis } from '../../../test/kit/redisServer.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { configFolder } from './config/configFolder.js';
import { settingsFor, sluice, startSluice } from './runSluice.js';
import { listenTo } from './watching.js';

const password = 'word-of-redis';

/** A sandbox of wallets with a Redis that wants a password, and a folder to work in. */
async function startShared(latency = 0) {
  const sandbox = await startSandbox({ holdings: 900, owners: 8, latency });
  onTestEnd(() => sandbox.close());
  const server = await startRedis(['--requirepass', password]);
  onTestEnd(() => server.close());
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'wallets.txt'), sandbox.owners.join('\n'));
  const env = { ...settingsFor(sandbox), SLUICE_REDIS_URL: `redis://:${password}@127.0.0.1:${server.port}` };
  const wallets = ['--owners-file', 'wallets.txt', '--owners-per-request', '1', '--page-size', '20'];
  return { sandbox, server, cwd, env, wallets, at: { cwd, env } };
}

const unlimited = ['--rate', 'unlimited'];

describe.runIf(redisProgram !== undefined)('sluice cluster', () => {
  test('U1 shows a run with its workers on a page until it has ended, and then ends', async () => {
    const { wallets, at } = await startShared();
    await sluice(['cluster', 'submit', 'nfts', 'export', ...wallets, '--to', 'run'], at);
    const own = { ...at, env: { ...at.env, XDG_STATE_HOME: at.cwd }, isInstalled: true };
    const shown = startSluice(['cluster', 'status', 'run', '--dashboard'], own);
    const url = await new Promise<URL>((resolve, reject) => {
      let text = '';
      shown.process.stderr.on('data', (data: Buffer) => {
        text += data.toString();
        const address = dashboardAddress(text);
        if (address !== undefined) resolve(new URL(address));
      });
      shown.process.on('exit', () => reject(new Error(text)));
    });
    const { origin, hash } = url;
    const answer = await fetch(`${origin}/snapshots`, { headers: { Authorization: `Bearer ${hash.slice(1)}` } });
    const text = answer.text();
    await sluice(['cluster', 'work', '--until-done', ...unlimited], at);
    const lines = (await text).trim().split('\n');
    expect(JSON.parse(lines.at(-1) ?? '{}')).toMatchObject({
      end: { outcome: 'finished' },
      about: { kind: 'cluster', title: 'run: aptos.nfts' },
      cluster: { partitions: 8, done: 8, rows: 900, failed: 0 },
    });
    expect(await text).not.toContain(password);
    expect(await shown.ended).toMatchObject({ code: 0, stdout: expect.stringContaining('8 of 8 partitions') });
  });

  test('exports with workers, and merges the file that one machine would have written', async () => {
    const { cwd, wallets, at } = await startShared();
    const submitted = await sluice(['cluster', 'submit', 'nfts', 'export', ...wallets, '--to', 'run'], at);
    expect(submitted).toMatchObject({ code: 0, stdout: 'run\n' });
    expect(submitted.stderr).toBe(
      `8 partitions to ${join(cwd, 'run')}. Workers on any machine: sluice cluster work\nHow far it is: sluice cluster status run\n`,
    );
    const listed = await sluice(['cluster', 'status'], at);
    expect(listed.stdout).toMatch(/^run +state +partitions +source +to\nrun +active +8 +aptos\.nfts +\S+\/run\n$/);
    const early = await sluice(['cluster', 'merge', 'run', '--to', 'rows.csv'], at);
    expect(early).toMatchObject({ code: 2, stderr: expect.stringContaining('8 of 8 partitions of run are missing') });

    const worked = await sluice(['cluster', 'work', '--until-done', ...unlimited], at);
    expect(worked.code).toBe(0);
    expect(worked.stderr).toMatch(/run: working on it\. 8 partitions, to \S+\/run\n/);
    expect(worked.stderr).toMatch(
      /run: all partitions are done\.\nEnded: finished 8 partitions, fetched 900 rows\.\n$/,
    );
    for (const name of ['run', './run', join(cwd, 'run')]) {
      const status = await sluice(['cluster', 'status', name, '--wait'], at);
      expect(status.code).toBe(0);
      expect(status.stdout).toMatch(/^run\n {2}state +finished\n/);
      expect(status.stdout).toContain('8 of 8 partitions (100.0 %), 900 rows');
    }
    const merged = await sluice(['cluster', 'merge', 'run', '--to', 'rows.csv'], at);
    expect(merged).toMatchObject({ code: 0, stderr: expect.stringContaining('900 rows') });
    await sluice(['nfts', 'export', ...wallets, ...unlimited, '--to', 'single.csv'], at);
    expect(readFileSync(join(cwd, 'rows.csv'))).toEqual(readFileSync(join(cwd, 'single.csv')));

    expect(await sluice(['cluster', 'clean', 'run'], at)).toMatchObject({ code: 0 });
    expect(await sluice(['cluster', 'status'], at)).toMatchObject({ code: 0, stderr: 'Redis knows no run.\n' });
    expect(await sluice(['cluster', 'status', 'run'], at)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Redis does not know the run "run". It knows none at all.'),
    });
  });

  test('finishes although a worker is killed and another one is told to end', async () => {
    const { sandbox, cwd, wallets, at } = await startShared(20);
    await sluice(['cluster', 'submit', 'nfts', 'export', ...wallets, '--to', 'run', '--name', 'night'], at);
    const work = ['cluster', 'work', '--concurrency', '1', '--progress', 'json', ...unlimited];
    const doomed = startSluice(work, at);
    await listenTo(doomed.process.stderr).until(/"joined"/);
    const drained = startSluice(work, at);
    await listenTo(drained.process.stderr).until(/"joined"/);
    doomed.process.kill('SIGKILL');
    drained.process.kill('SIGTERM');
    const { code, stderr } = await drained.ended;
    expect(code).toBe(0);
    const events = stderr
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
    expect(events[0]).toMatchObject({ event: 'start' });
    expect(events[1]).toEqual({ event: 'joined', run: 'night', partitions: 8, target: join(cwd, 'run') });
    expect(events.at(-1)).toMatchObject({ event: 'report', failed: 0 });

    const status = await sluice(['cluster', 'status', 'night', '--format', 'json'], at);
    expect(JSON.parse(status.stdout)).toMatchObject({ name: 'night', state: 'active', partitions: 8 });
    expect(stderr + status.stdout).not.toContain(sandbox.apiKey);
  });

  test('says why a worker does not work on a run', async () => {
    const { cwd, env, at } = await startShared();
    writeFileSync(join(cwd, 'wallets.txt'), ['0x1', '0x2'].join('\n'));
    await sluice(['cluster', 'submit', 'nfts', 'export', '--owners-file', 'wallets.txt', '--to', 'run'], at);
    const wrong = { cwd, env: { ...env, SLUICE_API_KEY: 'key-of-another-project' } };
    const unable = startSluice(['cluster', 'work', ...unlimited], wrong);
    await once(unable.process.stderr, 'data');
    await once(unable.process.stderr, 'data');
    const { stdout } = await sluice(['cluster', 'status', 'run'], at);
    expect(stdout).toMatch(/workers +1\n.*can't work on it\. run was submitted with another API key/);
    unable.process.kill('SIGINT');
    const { code, stderr } = await unable.ended;
    expect(code).toBe(130);
    expect(stderr).toContain(
      "run: this worker can't work on it, and tries again in 30 s. run was submitted with another API key",
    );
    expect(stderr).not.toContain('key-of-another-project');
  });

  test('says which partitions were given up, and exits with 1', async () => {
    const { sandbox, cwd, env, wallets, at } = await startShared();
    await sluice(['cluster', 'submit', 'nfts', 'export', ...wallets, '--to', 'run'], at);
    const cluster = openCluster({ url: env.SLUICE_REDIS_URL });
    const client = createClient({ apiKey: sandbox.apiKey, rateLimit: false }).use(aptos({ baseUrl: sandbox.aptosUrl }));
    onTestEnd(async () => {
      await cluster.close();
      await client.close();
    });
    const open = (params: ListNftsOptions) => ({
      info: client.aptos.nfts(params).info,
      pages: () => {
        throw new SinkError('Not today.');
      },
    });
    await cluster.work({ sources: { 'aptos.nfts': open }, untilDone: true, retryAfter: 1 });
    const status = await sluice(['cluster', 'status', 'run', '--wait'], at);
    expect(status).toMatchObject({ code: 1, stderr: '' });
    expect(status.stdout).toMatch(/state +finished\n/);
    expect(status.stdout).toMatch(/failed +8\n +partition \d: Not today\.\n/);
    expect((await sluice(['cluster', 'status'], at)).stdout).toContain('finished, 8 failed');

    await sluice(['cluster', 'submit', 'nfts', 'export', ...wallets, '--to', 'run'], at);
    expect(await sluice(['cluster', 'work', '--until-done', ...unlimited], at)).toMatchObject({ code: 0 });
    expect(await sluice(['cluster', 'status', join(cwd, 'run')], at)).toMatchObject({ code: 0 });
  });

  test('cancels a run for good', async () => {
    const { wallets, at } = await startShared();
    const submit = ['cluster', 'submit', 'nfts', 'export', ...wallets, '--to', 'run'];
    await sluice(submit, at);
    expect(await sluice(['cluster', 'cancel', 'run'], at)).toMatchObject({
      code: 0,
      stderr: 'run is cancelled for good. 0 of 8 partitions were done.\n',
    });
    expect(await sluice(submit, at)).toMatchObject({ code: 2, stderr: expect.stringContaining('cancelled for good') });
    expect((await sluice(['cluster', 'status', 'run'], at)).stdout).toContain('cancelled');
  });

  test('shows and changes the limit that workers share', async () => {
    const { wallets, at } = await startShared();
    expect(await sluice(['cluster', 'limit', 'api'], at)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Redis knows no limit "api"'),
    });
    expect(await sluice(['cluster', 'limit', 'api', '--set', '200/s'], at)).toMatchObject({
      code: 0,
      stdout: 'api: 200 per 1000 ms; 0 of 200 used in the last 1.0 s\n',
    });
    await sluice(['cluster', 'submit', 'nfts', 'export', ...wallets, '--to', 'run'], at);
    // Another rate than that of the others is refused; without one, theirs holds.
    const other = await sluice(['cluster', 'work', '--until-done', '--rate', '25/s', '--quiet'], at);
    expect(other.stderr).toContain('has other limits than this process: 200 per 1000 ms, not 25 per 1000 ms');
    const work = await sluice(['cluster', 'work', '--until-done'], at);
    expect(work).toMatchObject({ code: 0, stderr: expect.stringContaining('fetched 900 rows') });
  });

  test.runIf(postgresPrograms !== undefined)('fills a table of PostgreSQL (K2)', async () => {
    const { cwd, env, wallets } = await startShared();
    const database = await openDatabase();
    const at = { cwd, env };
    const to = `${database.url}?table=nfts`;
    const submit = ['cluster', 'submit', 'nfts', 'export', ...wallets, '--to', to, '--mode', 'replace'];
    expect(await sluice(submit, at)).toMatchObject({ code: 0, stdout: 'nfts\n' });
    expect((await sluice(['cluster', 'work', '--until-done', ...unlimited], at)).stderr).toContain(
      'all partitions are done',
    );
    for (const name of ['nfts', to])
      expect((await sluice(['cluster', 'status', name], at)).stdout).toContain('8 of 8 partitions (100.0 %), 900 rows');
    expect(await database.query('SELECT count(*) FROM nfts')).toBe('900');
    expect(await sluice(['cluster', 'merge', 'nfts', '--to', 'rows.csv'], at)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('The rows of nfts are in its table'),
    });
    const folder = await sluice([...submit.slice(0, -4), '--to', 'run', '--mode', 'append'], at);
    expect(folder).toMatchObject({ code: 2, stderr: expect.stringContaining('--to run is a folder') });
    const sqlite = await sluice([...submit.slice(0, -4), '--to', 'rows.sqlite#nfts'], at);
    expect(sqlite).toMatchObject({ code: 2, stderr: expect.stringContaining('SQLite is a file of one machine') });
  });

  test.runIf(postgresPrograms !== undefined)(
    'D3 says that a run into a table lacks rows, and how many stay, also with --quiet',
    async () => {
      const { env } = await startShared();
      const database = await openDatabase();
      await database.query("CREATE TABLE users AS SELECT unnest(ARRAY['a', 'old']) AS id");
      const errors = [{ message: 'a shard is away' }];
      const baseUrl = await apiWith({ data: { users: [{ id: 'a' }] }, pages: 1, errors });
      const cwd = configFolder({
        'sluice.config.js': `
          import { byPage, defineApi, graphqlErrors, listing } from '@sluice/core/define';
          const users = listing({ path: '/users', columns: ['id'], rows: 'data.users', paging: byPage({ param: 'page', pages: 'pages' }),
            responses: graphqlErrors({ allowPartial: true }) });
          export default { plugins: [defineApi({ name: 'graph', sources: { users } })({ baseUrl: '${baseUrl}' })] };`,
      });
      const at = { cwd, env };
      const to = ['--to', `${database.url}?table=users`, '--mode', 'replace', '--key-columns', 'id'];
      expect(await sluice(['cluster', 'submit', 'export', 'graph.users', ...to], at)).toMatchObject({ code: 0 });
      const worked = await sluice(['cluster', 'work', '--until-done', '--quiet', ...unlimited], at);
      expect(worked.code).toBe(0);
      expect(worked.stderr).toContain('users is incomplete: the API refused a part for good, or reported errors.\n');
      expect(worked.stderr).toContain('users keeps 1 row that the walk did not find, since it was incomplete.\n');
      expect((await sluice(['cluster', 'status', 'users'], at)).stdout).toContain(
        '1 row, incomplete, 1 row not removed\n',
      );
      const json = await sluice(['cluster', 'status', '--format', 'json'], at);
      expect(JSON.parse(json.stdout)).toMatchObject([{ name: 'users', isIncomplete: true, rowsNotRemoved: 1 }]);
      expect(await database.query('SELECT count(*) FROM users')).toBe('2');

      // Without key columns no attempt can succeed.
      await database.query("CREATE TABLE others AS SELECT 'old'::text AS id");
      const keyless = ['cluster', 'submit', 'export', 'graph.users', '--to', `${database.url}?table=others`];
      const replace = ['--mode', 'replace'];
      expect((await sluice([...keyless, ...replace, '--name', 'keyless'], at)).code).toBe(0);
      const failed = await sluice(['cluster', 'work', '--until-done', ...unlimited], at);
      expect(failed.code).toBe(1);
      expect(failed.stderr.match(/no row of others may be removed/g)).toHaveLength(1);
      expect(failed.stderr).toContain(
        'so nothing was changed. Cancel this run, and submit another one by another name, with key columns. It is given up',
      );
      expect((await sluice(['cluster', 'cancel', 'keyless'], at)).code).toBe(0);
      const keyed = [...keyless, ...replace, '--name', 'keyed', '--key-columns', 'id'];
      expect(await sluice(keyed, at)).toMatchObject({ code: 0 });
      expect((await sluice(['cluster', 'work', '--until-done', ...unlimited], at)).code).toBe(0);
      expect(await database.query('SELECT count(*) FROM others')).toBe('2');
    },
  );

  test.runIf(postgresPrograms !== undefined)(
    'D3 keeps rows of a table that the API counts and does not list, unless --no-require-total says why',
    async () => {
      const { env } = await startShared();
      const database = await openDatabase();
      await database.query("CREATE TABLE users AS SELECT unnest(ARRAY['a', 'old']) AS id");
      const baseUrl = await apiWith({ users: [{ id: 'a' }], pages: 1, total: 2 });
      const cwd = configFolder({
        'sluice.config.js': `
          import { byPage, defineApi, listing } from '@sluice/core/define';
          const users = listing({ path: '/users', columns: ['id'], rows: 'users', total: 'total', paging: byPage({ param: 'page', pages: 'pages' }) });
          export default { plugins: [defineApi({ name: 'short', sources: { users } })({ baseUrl: '${baseUrl}' })] };`,
      });
      const at = { cwd, env };
      const to = ['--to', `${database.url}?table=users`, '--mode', 'replace', '--key-columns', 'id'];
      const run = async (...more: readonly string[]) => {
        const submitted = await sluice(['cluster', 'submit', 'export', 'short.users', ...to, ...more], at);
        expect(submitted).toMatchObject({ code: 0 });
        const { code, stderr } = await sluice(['cluster', 'work', '--until-done', ...unlimited], at);
        return { code, stderr, rows: await database.query('SELECT count(*) FROM users') };
      };
      const said = "users is short of the API's total: ";
      const kept = await run();
      expect(kept).toMatchObject({ code: 0, rows: '2', stderr: expect.stringContaining(said) as string });
      expect(kept.stderr).toContain('users keeps 1 row that the walk did not find');
      const removed = await run('--no-require-total');
      expect(removed).toMatchObject({ code: 0, rows: '1', stderr: expect.stringContaining(said) as string });

      // A merge that starts over would read the same rows.
      expect((await sluice(['cluster', 'submit', 'export', 'short.users', '--to', 'f1'], at)).code).toBe(0);
      expect((await sluice(['cluster', 'work', '--until-done', ...unlimited], at)).code).toBe(0);
      const merged = await sluice(['cluster', 'merge', 'f1', '--to', 'm2.csv', '--require-total'], at);
      expect(merged.code).toBe(1);
      expect(merged.stderr).toContain('submit it again, to another folder');
      expect(merged.stderr).not.toContain('--restart');
    },
  );

  test('exports any source', async () => {
    const { at } = await startShared();
    const submitted = await sluice(
      ['cluster', 'submit', 'export', 'streams.list', '--to', 'all', '--page-size', '10'],
      at,
    );
    expect(submitted).toMatchObject({ code: 0, stdout: 'all\n' });
    expect((await sluice(['cluster', 'work', '--until-done', ...unlimited], at)).code).toBe(0);
    expect(await sluice(['cluster', 'merge', 'all', '--to', 'streams.jsonl', '--require-total'], at)).toMatchObject({
      code: 0,
    });
    const wrong = await sluice(['cluster', 'submit', 'export', 'streams.list', '--to', 'b', '--param', 'x=1'], at);
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('streams.list takes no parameters') });
  });

  test('K10 refuses a password as an argument, and shows none', async () => {
    const { cwd, env, server, at } = await startShared();
    const url = `redis://:${password}@127.0.0.1:${server.port}`;
    const refused = await sluice(['cluster', 'status', '--redis', url], { cwd, env: {} });
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('--redis has a password') });
    writeFileSync(join(cwd, 'redis.url'), `${url}\n`, { mode: 0o600 });
    expect(await sluice(['cluster', 'status', '--redis-url-file', 'redis.url'], { cwd })).toMatchObject({ code: 0 });
    const query = await sluice(['cluster', 'status', '--redis', `redis://127.0.0.1?password=${password}`], { cwd });
    expect(query).toMatchObject({ code: 2, stderr: expect.stringContaining('--redis has a password') });
    const percent = await sluice(['cluster', 'status'], {
      cwd,
      env: { SLUICE_REDIS_URL: `redis://:50%${password}@h` },
    });
    expect(percent).toMatchObject({ code: 2, stderr: expect.stringContaining('a % that begins no escape') });
    const both = await sluice(['cluster', 'status', '--redis', 'redis://127.0.0.1', '--redis-url-file', 'redis.url'], {
      cwd,
    });
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('exclude each other') });
    const wrong = `redis://:wrong-${password}@127.0.0.1:${server.port}`;
    const denied = await sluice(['cluster', 'status'], { cwd, env: { ...env, SLUICE_REDIS_URL: wrong } });
    expect(denied.code).toBe(1);
    expect(denied.stderr).toMatch(/^sluice: Redis at 127\.0\.0\.1:\d+ can't be used: /);
    const nowhere = `redis://:${password}@127.0.0.1:${await freePort()}`;
    const away = await sluice(['cluster', 'status'], { cwd, env: { SLUICE_REDIS_URL: nowhere } });
    expect(away.stderr).toMatch(/can't be used: connect ECONNREFUSED 127\.0\.0\.1:\d+\. Check that it runs, .*\n$/);
    for (const { stderr } of [refused, query, percent, both, denied, away]) expect(stderr).not.toContain(password);
    expect(await sluice(['cluster', 'status', '--redis', 'http://127.0.0.1'], at)).toMatchObject({ code: 2 });
  });

  test('says what is done, and cancels, when Redis is away', async () => {
    const { server, wallets, at } = await startShared();
    await sluice(['cluster', 'submit', 'nfts', 'export', ...wallets, '--to', 'run'], at);
    await server.kill();
    const status = await sluice(['cluster', 'status', './run'], at);
    expect(status.stdout).toMatch(
      /^run\n {2}state +unknown\n.*\n.*\n {2}done +0 of 8 partitions \(0\.0 %\), 0 rows\n$/,
    );
    expect(status).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Who works on run is not known. Redis at'),
    });
    const cancelled = await sluice(['cluster', 'cancel', './run'], at);
    expect(cancelled).toMatchObject({ code: 1, stderr: expect.stringContaining('run is cancelled for good, but') });
    expect((await sluice(['cluster', 'status', './run'], at)).stdout).toMatch(/state +cancelled/);
  });

  test('says where a run can be put', async () => {
    const { cwd, wallets, at } = await startShared();
    const submit = (...args: string[]) => sluice(['cluster', 'submit', 'nfts', 'export', ...wallets, ...args], at);
    expect(await submit()).toMatchObject({ code: 2, stderr: expect.stringContaining('Where to? Give --to DIR') });
    expect(await submit('--to', 'a/b')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('does not exist. Make it first'),
    });
    expect(existsSync(join(cwd, 'a'))).toBe(false);
    mkdirSync(join(cwd, 'full'));
    writeFileSync(join(cwd, 'full', 'notes'), '');
    expect(await submit('--to', 'full')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Give an empty folder'),
    });
    expect(await submit('--to', 'run', '--name', 'a b')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("can't name a run"),
    });
  });
});

/** The base URL of an API that sends the same document for every request. */
async function apiWith(document: object): Promise<string> {
  const api = createServer((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(document));
  });
  await once(api.listen(0, '127.0.0.1'), 'listening');
  onTestEnd(() => void api.close());
  return `http://127.0.0.1:${String((api.address() as AddressInfo).port)}`;
}
