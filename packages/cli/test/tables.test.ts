import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { openDatabase, postgresPrograms } from '../../../test/kit/postgresServer.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { exportArgs, interrupt } from './interruptedExport.js';
import { readTable } from './readTable.js';
import { settingsFor, sluice, startSluice } from './runSluice.js';

describe('D1 --to FILE.sqlite#TABLE', () => {
  test('writes a table, with the types of the source, and says so', async () => {
    await using sandbox = await startSandbox({ holdings: 300 });
    const cwd = temporaryFolder();
    const options = { env: settingsFor(sandbox), cwd };
    const { code, stdout, stderr } = await sluice(exportArgs(sandbox, 'out.sqlite#nfts'), options);
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(/^300 rows in \d+ pages -> out\.sqlite#nfts \(\d/),
    });
    expect(readTable(join(cwd, 'out.sqlite'), 'SELECT count(*), min(typeof(amount)) FROM nfts')).toEqual([
      [300, 'text'],
    ]);
    // The name of the file is that of the table.
    expect((await sluice(['streams', 'export', '--to', 'streams.db', '--columns', 'id,status'], options)).code).toBe(0);
    expect(readTable(join(cwd, 'streams.db'), 'SELECT count(*), count(status) FROM streams')).toEqual([[42, 42]]);
  });

  test(
    'E1 after a signal it says how to go on, which has the rows of an undisturbed export',
    { tags: ['slow'] },
    async () => {
      await using sandbox = await startSandbox({ holdings: 3_000, latency: 5 });
      const cwd = temporaryFolder();
      const args = exportArgs(sandbox, 'out.sqlite#nfts', '--page-size', '100');
      const stopped = await interrupt(sandbox, args, { after: 12, cwd, isInstalled: true });
      expect(stopped).toMatchObject({
        code: 130,
        stderr: expect.stringMatching(/[\d,]+ rows committed\. Resume with:/) as string,
      });
      const before = sandbox.counts.requests;
      const { code, stderr } = await sluice(args, { env: settingsFor(sandbox), cwd });
      expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('Resuming after') as string });
      expect(sandbox.counts.requests - before).toBeLessThan(31);
      expect(readTable(join(cwd, 'out.sqlite'), 'SELECT count(*) FROM nfts')).toEqual([[3_000]]);
      const again = await sluice(args, { env: settingsFor(sandbox), cwd });
      expect(again.stderr).toMatch(/^out\.sqlite#nfts is complete .* use --restart to export it again\n$/);
    },
  );

  test('D3 --mode and --key-columns say what becomes of rows that are there', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ streams: 5 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const run = (...more: string[]) => sluice(['streams', 'export', '--to', 'a.sqlite#s', ...more], options);
    const count = () => readTable(join(options.cwd, 'a.sqlite'), 'SELECT count(*) FROM s');
    expect((await run()).code).toBe(0);
    expect(await run('--mode', 'merge')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^sluice: The table s has other columns than the rows: _key, for the key that the source has, is missing\. .* Name the columns that identify a row with --key-columns\.\n$/,
      ) as string,
    });
    expect((await run('--mode', 'merge', '--key-columns', 'id')).code).toBe(0);
    expect((await run('--mode', 'replace', '--key-columns', 'id')).code).toBe(0);
    expect(count()).toEqual([[5]]);
    expect((await run('--mode', 'append')).code).toBe(0);
    expect(count()).toEqual([[10]]);
    expect((await run('--mode', 'append')).stderr).toMatch(
      /use --restart to export it again: its rows are there twice then\n$/,
    );
    for (const [wrong, said] of [
      [
        ['--mode', 'merge', '--key-columns', 'di'],
        'The key has "di", which is not a column of the table. Did you mean id?',
      ],
      [
        ['--key-columns', 'id'],
        'A key is for merge and replace. Say in --mode which one this is, or leave the key out.',
      ],
    ] as const)
      expect(await run(...wrong)).toMatchObject({ code: 2, stderr: expect.stringContaining(said) as string });
    expect(await run('--columns', 'id')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^sluice: The table s has rows already\. .*--mode/) as string,
    });
  });

  test('--schema evolve adds columns and says so once, and --extra keeps other fields', async () => {
    await using sandbox = await startSandbox({ streams: 5 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const run = (...more: string[]) =>
      sluice(['streams', 'export', '--to', 'a.sqlite#s', '--mode', 'merge', '--key-columns', 'id', ...more], options);
    expect((await run('--columns', 'id,tag')).code).toBe(0);
    expect((await run('--columns', 'id,tag,status')).stderr).toContain('status is missing');
    const grown = await run('--columns', 'id,tag,status', '--schema', 'evolve');
    expect(grown.stderr).toMatch(
      /^sluice: Added the column status to s: the source has it, and the table lacked it\.\n5 rows [^\n]*\n$/,
    );
    expect(readTable(join(options.cwd, 'a.sqlite'), 'SELECT count(*), count(status) FROM s')).toEqual([[5, 5]]);
    const more = ['--schema', 'evolve', '--extra', '--progress', 'json'];
    const { stderr } = await run('--columns', 'id,tag,status', ...more);
    expect(stderr).toMatch(/"event":"warning","message":"Added the column extra to s: .*"addedColumns":\["extra"\]/s);
    expect((await run('--columns', 'id,tag,status', ...more)).stderr).not.toMatch(/Added|addedColumns/);
  });

  test(
    'D3 says what became of the rows, and with --quiet that replace removed most of them',
    { tags: ['slow'] },
    async () => {
      await using sandbox = await startSandbox({ streams: 20 });
      const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
      const run = (...more: string[]) => sluice(['streams', 'export', '--to', 'a.sqlite#s', ...more], options);
      const change = (sql: string) => readTable(join(options.cwd, 'a.sqlite'), sql);
      const byKey = ['--mode', 'replace', '--key-columns', 'id'];
      expect((await run(...byKey)).stderr).toMatch(/^20 rows in 1 page -> a\.sqlite#s \(\d/);
      expect((await run(...byKey)).stderr).toMatch(/^20 rows in 1 page -> a\.sqlite#s \(nothing changed, /);
      change("UPDATE s SET tag = 'x' WHERE id IN (SELECT id FROM s LIMIT 3)");
      change("UPDATE s SET id = 'gone' WHERE id = (SELECT max(id) FROM s)");
      expect((await run(...byKey)).stderr).toMatch(/ \(1 added, 3 changed, 1 removed, /);
      for (let nth = 0; nth < 30; nth += 1) change(`INSERT INTO s (id) VALUES ('old ${nth}')`);
      const refused = (removed: number, before: number, max = '50%'): object => ({
        code: 1,
        stderr: `sluice: ${removed} of ${before} rows would be removed from s, and --max-removed is ${max}. Nothing was changed. If they are really gone, allow it with --max-removed 100%.\n`,
      });
      for (let times = 1; times <= 2; times += 1) expect(await run(...byKey, '--quiet')).toMatchObject(refused(30, 50));
      expect(await run(...byKey, '--quiet', '--max-removed', '29')).toMatchObject(refused(30, 50, '29'));
      writeFileSync(join(options.cwd, 'sluice.config.json'), JSON.stringify({ defaults: { maxRemoved: '70%' } }));
      expect((await run(...byKey, '--quiet')).stderr).toBe('');
      // A default is for modes that remove rows.
      expect(await run('--mode', 'merge', '--key-columns', 'id', '--quiet')).toMatchObject({ code: 0, stderr: '' });
      await using empty = await startSandbox({ streams: 0 });
      const env = settingsFor(empty);
      const toNone = ['streams', 'export', '--to', 'a.sqlite#s', '--mode', 'replace', '--quiet'];
      expect(await sluice(toNone, { ...options, env })).toMatchObject(refused(20, 20, '70%'));
      expect(await sluice([...toNone, '--max-removed', '100%'], { ...options, env })).toMatchObject({
        code: 0,
        stderr: '',
      });
    },
  );

  test('D8 a second process is refused, and told whose the table is', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({
      holdings: 300,
      script: ({ nth }) => (nth > 2 ? { kind: 'never' } : undefined),
    });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const args = exportArgs(sandbox, 'out.sqlite#nfts');
    const { process, ended } = startSluice(args, { ...options, isInstalled: true });
    await sandbox.until(() => sandbox.counts.requests >= 3);
    const { code, stderr } = await sluice(args, options);
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`process ${String(process.pid)}`) as string,
    });
    process.kill('SIGKILL');
    await ended;
  });

  test.each([
    [['--to', 'a.sqlite#'], '--to a.sqlite# lacks the table: write it after the #.'],
    [['--to', 'a.sqlite', '--gzip'], '--gzip goes with a file: a table has no format of its own.'],
    [
      ['--to', 'a.sqlite', '--state', 'x'],
      '--state is for state in a folder, and this target keeps its own checkpoints.',
    ],
    [
      ['--to', 'a.csv', '--mode', 'merge'],
      '--mode goes with a table: --to FILE.sqlite#TABLE or --to postgres://…. For a file there is --if-exists.',
    ],
    [
      ['--to', 'postgres://me:hunter22@localhost/db?table=t'],
      '--to has a password, which others on this machine can read. Leave it out, and set PGPASSWORD or use ~/.pgpass.',
    ],
    [['--to', 'postgres://me@localhost/db'], '--to lacks the table: write postgres://user@host/database?table=NAME.'],
    ...['db#a..b', 'db?table=a#b', 'db?table=a&table=b', 'db?schema=a&table=b'].map((named): [string[], string] => [
      ['--to', `postgres://me@localhost/${named}`],
      '--to names its table once, as postgres://user@host/database?table=SCHEMA.TABLE, and takes no # and no schema.',
    ]),
    [
      ['--to', 'postgres://me@localhost/db?table=a..b'],
      `The table can't be "a..b": its name has a dot with nothing before or after it. Write TABLE or SCHEMA.TABLE.`,
    ],
  ])('refuses %j', async (args, sentence) => {
    await using sandbox = await startSandbox({ streams: 1 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    expect(await sluice(['streams', 'export', ...args], options)).toEqual({
      code: 2,
      stdout: '',
      stderr: `sluice: ${sentence}\n`,
    });
    expect(sandbox.counts.requests).toBe(0);
  });
});

describe.runIf(postgresPrograms !== undefined)('D1 --to postgres://…', () => {
  test('writes a table; the password is shown nowhere', async () => {
    const server = await openDatabase();
    await using sandbox = await startSandbox({ holdings: 300 });
    const env = { ...settingsFor(sandbox), PGPASSWORD: 'hunter22hunter' };
    const options = { env, cwd: temporaryFolder() };
    const { code, stderr } = await sluice(exportArgs(sandbox, `${server.url}?table=nfts`), options);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringMatching(/^300 rows/) as string });
    expect(
      await server.query(
        'SELECT count(*), pg_typeof(max(amount)), pg_typeof(max(last_transaction_timestamp)) FROM nfts',
      ),
    ).toBe('300|numeric|timestamp with time zone');
    const refused = await sluice(exportArgs(sandbox, `${server.url}x?table=hunter22hunter`), options);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/database "db_\w+x" does not exist/);
    expect(refused.stderr).not.toContain('hunter22hunter');
  });
});
