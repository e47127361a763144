import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { openDatabase, postgresPrograms } from '../../../test/kit/postgresServer.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { readTable } from './readTable.js';
import { settingsFor, sluice } from './runSluice.js';
import { watchArgs } from './watching.js';

describe('D5 a watch --to a table', () => {
  test('mirrors the rows in SQLite, says so, and goes on with the same command', async () => {
    await using sandbox = await startSandbox({ streams: 5 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const args = watchArgs('--polls', '1', '--to', 'a.sqlite#streams', '--key-columns', 'id');
    const { code, stdout, stderr } = await sluice(args, options);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toMatch(/^Mirroring the rows in a\.sqlite#streams, which keeps the state, too\.\n/);
    expect(stderr).toMatch(/\n5 rows at the start, 0 changes in 1 poll -> .*a\.sqlite#streams\n$/);
    const ids = () => readTable(join(options.cwd, 'a.sqlite'), 'SELECT count(*), count(DISTINCT id) FROM streams');
    expect(ids()).toEqual([[5, 5]]);
    const again = await sluice(args, options);
    expect(again).toMatchObject({ code: 0, stderr: expect.stringMatching(/Resuming: 5 streams/) as string });
    expect(again.stderr).toMatch(/\n0 changes in 1 poll/);
    expect(await sluice([...args, '--restart'], options)).toMatchObject({ code: 0 });
    expect(ids()).toEqual([[5, 5]]);
    const other = await sluice([...args, '--deleted-at'], options);
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('--deleted-at') as string });
  });

  test('mirrors any listing, with the chosen columns', async () => {
    await using sandbox = await startSandbox({ holdings: 30, owners: 1 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const more = ['--polls', '1', '--to', 'b.db#nfts', '--deleted-at'];
    const columns = ['--columns', 'owner_address,name,amount'];
    const watched = await sluice(['nfts', 'watch', '--owner', ...sandbox.owners, ...more, ...columns], options);
    expect(watched).toMatchObject({ code: 0 });
    expect(readTable(join(options.cwd, 'b.db'), 'SELECT count(*), count(_key), count(_deleted_at) FROM nfts')).toEqual([
      [30, 30, 0],
    ]);
    const any = await sluice(['watch', 'streams.list', '--polls', '1', '--to', 'c.sqlite#list'], options);
    expect(any).toMatchObject({ code: 0 });
    expect(readTable(join(options.cwd, 'c.sqlite'), 'SELECT count(*) FROM list')).toEqual([[42]]);
  });

  test(
    'D9 with --mode history writes every version, and with --only one if the status changes',
    { tags: ['slow'] },
    async () => {
      await using sandbox = await startSandbox({ streams: 3, nasty: 0 });
      const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
      const history = ['--mode', 'history', '--key-columns', 'id', '--polls', '1'];
      const all = watchArgs('--to', 'a.sqlite#all', ...history);
      const quiet = watchArgs('--to', 'a.sqlite#quiet', ...history, '--ignore', 'description');
      const status = watchArgs('--to', 'a.sqlite#status', ...history, '--only', 'status');
      const counts = () =>
        readTable(
          join(options.cwd, 'a.sqlite'),
          'SELECT (SELECT count(*) FROM "all"), (SELECT count(*) FROM quiet), (SELECT count(*) FROM status)',
        );
      sandbox.setStream(0, { status: 'active', description: 'a' });
      for (const args of [all, quiet, status]) expect(await sluice(args, options)).toMatchObject({ code: 0 });
      sandbox.setStream(0, { description: 'b' });
      for (const args of [all, quiet, status]) expect(await sluice(args, options)).toMatchObject({ code: 0 });
      expect(counts()).toEqual([[4, 3, 3]]);
      sandbox.setStream(0, { status: 'error' });
      sandbox.setStream(1, { description: 'c' });
      for (const args of [all, quiet, status]) expect(await sluice(args, options)).toMatchObject({ code: 0 });
      expect(counts()).toEqual([[6, 4, 4]]);
      const now = readTable(
        join(options.cwd, 'a.sqlite'),
        "SELECT description FROM status_now WHERE status = 'error' AND _generation > 1",
      );
      expect(now).toEqual([['b']]);
      expect(await sluice([...all, '--deleted-at'], options)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('leave out --deleted-at.') as string,
      });
    },
  );

  test('D9 an export with --mode history writes versions, and history compact removes old ones', async () => {
    await using sandbox = await startSandbox({ streams: 3, nasty: 0 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const night = ['streams', 'export', '--to', 'a.sqlite#s', '--mode', 'history', '--key-columns', 'id'];
    sandbox.setStream(0, { status: 'active' });
    expect(await sluice(night, options)).toMatchObject({ code: 0 });
    sandbox.setStream(0, { status: 'error' });
    sandbox.removeStream(1);
    expect(await sluice(night, options)).toMatchObject({ code: 0 });
    const ended = () =>
      readTable(join(options.cwd, 'a.sqlite'), 'SELECT _ended FROM s WHERE _ended IS NOT NULL ORDER BY 1');
    expect(ended()).toEqual([['changed']]);
    expect(await sluice(night, options)).toMatchObject({ code: 0 });
    expect(ended()).toEqual([['changed'], ['removed']]);
    const compact = (keep: string) => sluice(['history', 'compact', 'a.sqlite#s', '--keep', keep], options);
    expect(await compact('90d')).toMatchObject({
      code: 0,
      stderr: '0 versions removed from a.sqlite#s: no poll is that old.\n',
    });
    expect(await compact('1ms')).toMatchObject({
      code: 0,
      stderr: '2 versions removed from a.sqlite#s: the history begins with poll 3.\n',
    });
    expect(ended()).toEqual([]);
    for (const args of [[], ['a.sqlite#s'], ['a.sqlite#s', '--keep', '0s'], ['a.csv', '--keep', '1d']])
      expect(await sluice(['history', 'compact', ...args], options)).toMatchObject({ code: 2 });
    const missing = await sluice(['history', 'compact', 'b.sqlite#s', '--keep', '1d'], options);
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('b.sqlite does not exist') as string });
  });

  test.each([
    [['--only', 'status'], '--only leaves out changes'],
    [['--format', 'jsonl'], '--format goes with a file'],
    [['--if-exists', 'overwrite'], '--if-exists goes with a file'],
    [['--state', 'folder'], '--state is for state in a folder'],
    [['--trust-filesystem'], '--trust-filesystem is for state in a folder'],
  ])('refuses %j, which goes with other targets', async (more, message) => {
    await using sandbox = await startSandbox({ streams: 1 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const { code, stderr } = await sluice(watchArgs('--polls', '1', '--to', 'a.sqlite#s', ...more), options);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
    expect(sandbox.counts.requests).toBe(0);
  });

  test.each(['--columns id', '--key-columns id', '--deleted-at'])('%s goes with a table only', async (flag) => {
    await using sandbox = await startSandbox({ streams: 1 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const { code, stderr } = await sluice(
      watchArgs('--polls', '1', '--to', 'changes.jsonl', ...flag.split(' ')),
      options,
    );
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/goes with a table/) });
  });
});

test.runIf(postgresPrograms !== undefined)(
  'D5 a watch mirrors the rows in PostgreSQL',
  { tags: ['slow'] },
  async () => {
    const server = await openDatabase();
    await using sandbox = await startSandbox({ streams: 6 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const args = watchArgs('--polls', '1', '--to', `${server.url}?table=streams`);
    for (let run = 1; run <= 2; run += 1) {
      expect(await sluice(args, options)).toMatchObject({ code: 0 });
      expect(await server.query('SELECT count(*), count(DISTINCT _key) FROM streams')).toBe('6|6');
    }
  },
);
