// @module-tag slow
import { readdirSync } from 'node:fs';
import { mkdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { CheckpointReport } from '../src/commands/checkpoint/stateReport.js';
import { reportLines } from '../src/commands/checkpoint/lines.js';
import { exportArgs, filesIn, interrupt } from './interruptedExport.js';
import { settingsFor, sluice, startSluice } from './runSluice.js';
import { openDatabase, postgresPrograms } from '../../../test/kit/postgresServer.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { readTable } from './readTable.js';
import { listenTo, watchArgs } from './watching.js';

const perWallet = ['--owners-per-request', '1'];

describe('sluice checkpoint show', () => {
  test('explains what an interrupted export left, by any of its names, and changes nothing', async () => {
    await using sandbox = await startSandbox({ holdings: 5000, owners: 5, latency: 3 });
    const cwd = temporaryFolder();
    const args = exportArgs(sandbox, 'out.csv', ...perWallet, '--concurrency', '3');
    await interrupt(sandbox, args, { cwd, after: 30 });
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * 3_600_000 });
    onTestFinished(() => void vi.useRealTimers());
    const files = filesIn(cwd);

    const { code, stdout, stderr } = await sluice(['checkpoint', 'show', 'out.csv'], { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      new RegExp(
        [
          `^target    ${join(cwd, 'out.csv')}`,
          'source    aptos\\.nfts',
          'made      with columns: all; page size: the default; wallets: 5 of --owner',
          'command   \\S.* nfts export --owner 0x[^\\n]*…?',
          'kept      [1-4],\\d{3} rows in [1-4]\\d pages',
          'plan      [0-2] of 5 partitions finished, [123] open',
          '          partition \\d: [\\d,]+ rows in \\d+ pages?',
          '(?:          partition \\d: [\\d,]+ rows in \\d+ pages?\\n)*written   2 h 0 min ago \\(\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z\\)',
          'file      out\\.csv\\.part has [^\\n]+',
          'next      Run the same command to resume, or with --restart to start over\\. Later than --resume-within after the last commit, it begins a new run\\.\\n$',
        ].join('\\n'),
      ),
    );
    const others = [
      'out.csv.part',
      'out.csv.sluice',
      'out.csv.sluice/',
      join('out.csv.sluice', 'checkpoint'),
      join(cwd, 'out.csv'),
    ];
    for (const name of others) expect((await sluice(['checkpoint', 'show', name], { cwd })).stdout).toBe(stdout);
    expect(filesIn(cwd)).toEqual(files);
  });

  test('--format json is for programs, and holds neither cursors nor anything of the key', async () => {
    await using sandbox = await startSandbox({ holdings: 3000, latency: 3 });
    const cwd = temporaryFolder();
    await interrupt(sandbox, exportArgs(sandbox, 'out.csv'), { cwd, after: 15 });
    const { stdout } = await sluice(['checkpoint', 'show', 'out.csv', '--format', 'json'], { cwd });
    const report = JSON.parse(stdout) as CheckpointReport;
    const { pages, rows } = report;
    expect(rows).toBe(100 * pages);
    expect(report).toEqual({
      checkpoint: join(cwd, 'out.csv.sluice', 'checkpoint'),
      target: join(cwd, 'out.csv'),
      madeWith: {
        columns: 'all',
        'page size': 'the default',
        wallets: '3 of --owner',
        command: expect.stringMatching(/ nfts export --owner 0x.* --to out\.csv /),
      },
      source: 'aptos.nfts',
      isSealed: false,
      rows: expect.any(Number),
      pages: expect.any(Number),
      partitions: { total: 1, finished: 0, open: [{ partition: 1, pages, rows }] },
      writtenAt: expect.stringMatching(/Z$/),
      file: {
        path: join(cwd, 'out.csv.part'),
        bytes: expect.any(Number),
        keptBytes: expect.any(Number),
        fit: expect.stringMatching(/^(exact|longer)$/),
      },
    });
  });

  test('says who works with it now', async () => {
    await using sandbox = await startSandbox({ holdings: 3000, latency: 3 });
    const cwd = temporaryFolder();
    const running = startSluice(exportArgs(sandbox, 'out.csv'), { env: settingsFor(sandbox), cwd });
    await sandbox.until(() => sandbox.counts.requests > 12);
    running.process.kill('SIGSTOP');
    const { stdout } = await sluice(['checkpoint', 'show', 'out.csv'], { cwd });
    expect(stdout).toMatch(
      new RegExp(`^in use    by process ${String(running.process.pid)} on \\S+, which is running$`, 'm'),
    );
    expect(stdout).toMatch(/^next {6}That process is running\. Once it has stopped: run the same command to resume/m);
    running.process.kill('SIGCONT');
    expect((await running.ended).code).toBe(0);
  });

  test('sees a file that is damaged', async () => {
    await using sandbox = await startSandbox({ holdings: 3000, latency: 3 });
    const cwd = temporaryFolder();
    await interrupt(sandbox, exportArgs(sandbox, 'out.csv'), { cwd, after: 15 });
    await truncate(join(cwd, 'out.csv.part'), 9);
    const { stdout } = await sluice(['checkpoint', 'show', 'out.csv'], { cwd });
    expect(stdout).toMatch(
      /^file {6}out\.csv\.part is damaged: it is [\d,]+ bytes shorter than the \d+ kB that were committed$/m,
    );
    expect(stdout).toMatch(/^next {6}The same command with --restart starts over/m);
  });

  test.each([
    ['that is not there', undefined, /checkpoint is not there: no export was interrupted/],
    ['that is empty', '', /checkpoint is empty\. Start over with --restart/],
    ['that is none', 'hello\n', /checkpoint is not a state of Sluice, or is damaged/],
    ['of a newer version', 'sluice-state 9\n', /written by another version of Sluice/],
  ])('of a checkpoint %s says so, with exit code 1', async (_, content, sentence) => {
    const cwd = temporaryFolder();
    await mkdir(join(cwd, 'out.csv.sluice'));
    if (content !== undefined) await writeFile(join(cwd, 'out.csv.sluice', 'checkpoint'), content);
    const { code, stdout, stderr } = await sluice(['checkpoint', 'show', 'out.csv'], { cwd });
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^sluice: [^\n]+\n$/),
    });
    expect(stderr).toMatch(sentence);
  });
});

describe('sluice checkpoint show of a table', () => {
  test('explains its export, or that there is none, and creates nothing', async () => {
    await using sandbox = await startSandbox({
      holdings: 30,
      owners: 2,
      script: ({ nth }) => (nth < 2 ? undefined : { kind: 'status', status: 404 }),
    });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const show = (table: string, ...more: string[]) => sluice(['checkpoint', 'show', table, ...more], options);
    expect(await show('a.sqlite#nfts')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/does not exist\.\n$/),
    });
    expect(readdirSync(options.cwd)).toEqual([]);
    const args = exportArgs(sandbox, 'a.sqlite#nfts', '--page-size', '5', '--commit-every', '1');
    expect(await sluice(args, options)).toMatchObject({ code: 1 });
    const files = filesIn(options.cwd);
    const { stdout } = await show('a.sqlite#nfts');
    expect(stdout).toMatch(
      /^target {4}a\.sqlite#nfts\nsource {4}aptos\.nfts\nmade .*\ncommand .*\nkept {6}\d+ rows in [12] pages?\n/,
    );
    expect(stdout).toMatch(
      /^next {6}Run the same command to resume, or with --restart to start over\. Later than --resume-within after the last commit, it begins a new run\.\n$/m,
    );
    for (const [named, shown] of [
      ['a.sqlite#other', 'a.sqlite#other'],
      ['a.sqlite', 'a.sqlite#a'],
    ] as const)
      expect(await show(named)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(`${shown} has no checkpoint: no export was interrupted`),
      });
    expect(filesIn(options.cwd)).toEqual(files);
  });

  test('explains its watch', async () => {
    await using sandbox = await startSandbox({ streams: 7 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    await sluice(watchArgs('--to', 'a.sqlite#streams', '--polls', '1'), options);
    const { stdout } = await sluice(['checkpoint', 'show', 'a.sqlite#streams'], options);
    expect(stdout).toMatch(/^known {5}the snapshot of the watch is in the table _sluice, /m);
    expect(stdout).toMatch(/^kept {6}7 changes, up to generation 1$/m);
  });

  test('says who writes it, and that it was dropped', async () => {
    let hangsAt = Infinity;
    await using sandbox = await startSandbox({
      streams: 7,
      script: ({ nth }) => (nth === hangsAt ? { kind: 'never' } : undefined),
    });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const mirror = watchArgs('--to', 'a.sqlite#mirror', '--polls', '1');
    const exported = ['streams', 'export', '--to', 'a.sqlite#export', '--page-size', '2', '--commit-every', '1'];
    await sluice(mirror, options);
    const show = async (table: string) => (await sluice(['checkpoint', 'show', table], options)).stdout;
    hangsAt = sandbox.counts.requests + 2;
    const running = startSluice(exported, { ...options, isInstalled: true });
    await sandbox.until(() => sandbox.counts.requests >= hangsAt);
    expect(await show('a.sqlite#EXPORT')).toMatch(
      new RegExp(`^in use {4}by process ${String(running.process.pid)} on \\S+, which is running\nnext`, 'm'),
    );
    running.process.kill('SIGKILL');
    await running.ended;
    const { code, stderr } = await sluice(exported, options);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(await show('a.sqlite#export')).not.toMatch(/^table|^in use/m);
    for (const table of ['mirror', 'export']) readTable(join(options.cwd, 'a.sqlite'), `DROP TABLE ${table}`);
    expect(await show('a.sqlite#export')).toMatch(
      /^table {5}it no longer exists: somebody has dropped it\nnext {6}The same command exports it again, from the start\.$/m,
    );
    expect(await show('a.sqlite#mirror')).toMatch(
      /^table {5}it no longer exists: .*\nnext {6}The same command with --restart starts over; there is nothing/m,
    );
  });

  test.runIf(postgresPrograms !== undefined)(
    'explains what PostgreSQL has, beside the run that writes it',
    async () => {
      const server = await openDatabase();
      await using sandbox = await startSandbox({ streams: 3 });
      const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
      const table = `${server.url}?table=streams`;
      const show = () => sluice(['checkpoint', 'show', table, '--format', 'json'], options);
      expect(await show()).toMatchObject({ code: 1, stderr: expect.stringContaining('has no checkpoint') });
      expect(await server.query("SELECT count(*) FROM pg_class WHERE relname = '_sluice'")).toBe('0');
      const running = startSluice(watchArgs('--to', table), options);
      await listenTo(running.process.stderr).until(/Watching/);
      await expect
        .poll(async () => JSON.parse((await show()).stdout) as unknown)
        .toMatchObject({
          log: { table: '_sluice' },
          written: { changes: 3, generation: 1 },
          holder: { pid: running.process.pid, host: '127.0.0.1', isRunning: true },
        });
      running.process.kill('SIGINT');
      await running.ended;
    },
  );
});

describe('sluice checkpoint show of a watch', () => {
  test('says what was written and where the rest is, and changes nothing', async () => {
    await using sandbox = await startSandbox({ streams: 12 });
    const cwd = temporaryFolder();
    const options = { env: settingsFor(sandbox), cwd };
    await sluice(watchArgs('--to', 'changes.jsonl', '--polls', '1'), options);
    sandbox.setStream(3, { status: 'elsewhere' });
    await sluice(watchArgs('--to', 'changes.jsonl', '--polls', '1'), options);
    const files = filesIn(cwd);
    const { code, stdout, stderr } = await sluice(['checkpoint', 'show', 'changes.jsonl'], { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      new RegExp(
        [
          `^target    ${join(cwd, 'changes.jsonl')}`,
          'source    streams\\.list\\.changes',
          'made      with columns: all; page size: the default',
          'command   sluice streams watch [^\\n]+ --to changes\\.jsonl --polls 1',
          'known     the snapshot of the watch is in watch\\.log \\(\\d+ kB\\), and is read when the watch starts',
          'kept      13 changes, up to generation 2',
          'written   \\S+ m?s ago \\(\\S+Z\\)',
          'file      changes\\.jsonl has exactly the \\d+ kB that were committed',
          'next      Run the same command to resume, or with --restart to start over\\.\\n$',
        ].join('\\n'),
      ),
    );
    expect(filesIn(cwd)).toEqual(files);
  });

  test('whose log is missing says so, and that it has to start over', async () => {
    await using sandbox = await startSandbox({ streams: 12 });
    const cwd = temporaryFolder();
    const options = { env: settingsFor(sandbox), cwd };
    const args = watchArgs('--to', 'changes.jsonl', '--polls', '1');
    await sluice(args, options);
    const log = join(cwd, 'changes.jsonl.sluice', 'watch.log');
    await rm(log);
    const { code, stdout } = await sluice(['checkpoint', 'show', 'changes.jsonl'], { cwd });
    expect(code).toBe(0);
    expect(stdout).toMatch(
      new RegExp(
        [
          `^target    ${join(cwd, 'changes.jsonl')}`,
          'source    streams\\.list\\.changes',
          'made      with columns: all; page size: the default',
          'command   sluice streams watch [^\\n]+ --to changes\\.jsonl --polls 1',
          'known     watch\\.log no longer exists, and with it the snapshot of the watch, [^\\n]+',
          'kept      12 changes, up to generation 1',
          'file      changes\\.jsonl has exactly the \\d+ kB that were committed',
          'next      The same command with --restart starts over; there is nothing to resume from\\.\\n$',
        ].join('\\n'),
      ),
    );
    const { stdout: json } = await sluice(['checkpoint', 'show', 'changes.jsonl', '--format', 'json'], { cwd });
    expect(JSON.parse(json)).toMatchObject({ log: { path: log, isMissing: true }, written: { changes: 12 } });
    // That is how it is.
    expect((await sluice(args, options)).stderr).toContain('Start over with --restart');
  });

  test('that knows nothing yet says so, and that it goes on', async () => {
    await using sandbox = await startSandbox({
      script: ({ n }) => (n > 1 ? { kind: 'status', status: 404 } : undefined),
    });
    const cwd = temporaryFolder();
    const running = startSluice(watchArgs('--to', 'changes.jsonl'), { env: settingsFor(sandbox), cwd });
    await listenTo(running.process.stderr).until(/A poll failed/);
    running.process.kill('SIGKILL');
    await running.ended;
    const { stdout } = await sluice(['checkpoint', 'show', 'changes.jsonl'], { cwd });
    expect(stdout).toMatch(/^known {5}nothing yet: no poll has succeeded\nkept {6}0 changes, up to generation 0\n/m);
    expect(stdout).toMatch(/^next {6}Run the same command to resume/m);
  });

  test('without a file says where it is, and who works with it', async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const running = startSluice(watchArgs('--state', 'known'), options);
    await listenTo(running.process.stderr).until(/Watching/);
    const { stdout } = await sluice(['checkpoint', 'show', 'known', '--format', 'json'], options);
    expect(JSON.parse(stdout)).toMatchObject({
      log: { path: join(options.cwd, 'known', 'watch.log') },
      holder: { pid: running.process.pid, isRunning: true },
    });
    running.process.kill('SIGINT');
    expect((await running.ended).code).toBe(130);
    expect((await sluice(['checkpoint', 'show', 'known'], options)).stdout).toMatch(
      /^known {5}the snapshot of the watch [^\n]+\nwritten [^\n]+\nnext {6}Run the same command to resume/,
    );
  });
});

describe('a report', () => {
  const report: CheckpointReport = {
    checkpoint: '/data/out.csv.sluice/checkpoint',
    target: '/data/out.csv',
    source: 'aptos.nfts',
    isSealed: false,
    rows: 12_300,
    pages: 123,
    partitions: { total: 1, finished: 0, open: [{ partition: 1, pages: 123, rows: 12_300 }] },
    writtenAt: '2026-01-01T00:00:00.000Z',
    file: { path: '/data/out.csv.part', bytes: 1000, keptBytes: 1000, fit: 'exact' },
  };
  const now = Date.parse('2026-01-01T02:05:00Z');

  test('leaves out what goes without saying', () => {
    expect(reportLines(report, now)).toEqual([
      ['target', '/data/out.csv'],
      ['source', 'aptos.nfts'],
      ['kept', '12,300 rows in 123 pages'],
      ['written', '2 h 5 min ago (2026-01-01T00:00:00.000Z)'],
      ['file', 'out.csv.part has exactly the 1.0 kB that were committed'],
      [
        'next',
        'Run the same command to resume, or with --restart to start over. Later than --resume-within after the last commit, it begins a new run.',
      ],
    ]);
  });

  test('names some of many open parts', () => {
    const open = Array.from({ length: 11 }, (_, at) => ({ partition: at + 4, pages: 1, rows: 7 }));
    const lines = reportLines({ ...report, partitions: { total: 2000, finished: 1203, open } }, now);
    expect(lines.slice(3, 5)).toEqual([
      ['plan', '1,203 of 2,000 partitions finished, 11 open'],
      ['', 'partition 4: 7 rows in 1 page'],
    ]);
    expect(lines[12]).toEqual(['', 'and 3 more']);
  });

  test.each([
    [
      { bytes: 1500, fit: 'longer' },
      'out.csv.part has 500 bytes beyond the 1.0 kB that were committed; a resumed run truncates them',
    ],
    [
      { bytes: 999, fit: 'shorter' },
      'out.csv.part is damaged: it is 1 byte shorter than the 1.0 kB that were committed',
    ],
    [{ fit: 'missing' }, 'out.csv.part is damaged: it no longer exists, though 1.0 kB were committed'],
    [{ fit: 'in-place' }, 'out.csv is in place already, with all of its 1.0 kB'],
  ] as const)('says of a file that is %o what it means', (file, text) => {
    const lines = reportLines({ ...report, file: { path: '/data/out.csv.part', keptBytes: 1000, ...file } }, now);
    expect(new Map(lines).get('file')).toBe(text);
  });

  test.each([
    [{ pid: 7, host: 'here', isRunning: true }, 'by process 7 on here, which is running', /^That process is running/],
    [{ pid: 7, host: 'there' }, 'by process 7 on there, and whether it still runs is unknown', /add --break-lock once/],
    [{}, 'by a process that left no readable name, and whether it still runs is unknown', /add --break-lock once/],
  ] as const)('says of the holder %o who it is', (holder, text, next) => {
    const lines = new Map(reportLines({ ...report, holder }, now));
    expect(lines.get('in use')).toBe(text);
    expect(lines.get('next')).toMatch(next);
  });

  test('of a sealed export says that little is left', () => {
    const lines = new Map(reportLines({ ...report, isSealed: true }, now));
    expect(lines.get('kept')).toBe('12,300 rows in 123 pages: all there are; only moving the file into place is left');
    const { file, ...ofSink } = report;
    const inSink = new Map(reportLines({ ...ofSink, target: 'sqlite:a.db', isSealed: true }, now));
    expect(inSink.get('kept')).toBe('12,300 rows in 123 pages: all there are; only closing the target is left');
    expect(file).toBeDefined();
  });
});
