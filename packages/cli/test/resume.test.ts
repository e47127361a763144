// @module-tag slow
import { once } from 'node:events';
import { watch } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { someOf } from '../../../scripts/testEffort.js';
import { main } from '../src/program.js';
import { commitEvery, exportArgs, exportedIn, interrupt } from './interruptedExport.js';
import { settingsFor, sluice, startSluice } from './runSluice.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { testEnvironment } from './testEnvironment.js';

describe('the same command after an interruption', () => {
  const exports = ['out.csv', 'out.jsonl', 'out.csv.gz'].flatMap((to) =>
    [1, 4].map((concurrency) => [to, concurrency] as const),
  );
  // By default the first one, and one with concurrency.
  test.each(someOf(exports))(
    'E1 kill -9 in the middle of %s, with --concurrency %i: it ends with the same bytes',
    async (to, concurrency) => {
      await using sandbox = await startSandbox({ holdings: 6000, owners: 6, latency: 2 });
      const env = settingsFor(sandbox);
      const wholeCwd = temporaryFolder();
      const args = exportArgs(sandbox, to, '--owners-per-request', '1');
      expect((await sluice(args, { env, cwd: wholeCwd })).code).toBe(0);
      const pages = sandbox.counts.requests;
      const whole = exportedIn(wholeCwd);
      const cwd = temporaryFolder();
      const withConcurrency = [...args, '--concurrency', String(concurrency)];
      const killed = await interrupt(sandbox, withConcurrency, { cwd, after: 40, signal: 'SIGKILL' });
      expect(killed).toMatchObject({ code: null, stderr: '' });
      const before = sandbox.counts.requests;
      const { code, stderr } = await sluice(withConcurrency, { env, cwd });
      expect(code).toBe(0);
      expect(stderr).toMatch(
        /^Resuming after [\d,]+ rows \(\d+ pages\), at page \d+ of partition \d of 6[^\n]*\n(?:[\d,]+ of [^\n]*\n)*6,000 rows/,
      );
      expect(exportedIn(cwd)).toEqual(whole);
      // What was under way, and what was written since the last commit, comes again; nothing else does.
      expect(sandbox.counts.requests - before).toBeLessThanOrEqual(pages - 40 + commitEvery + 2 * concurrency);
    },
  );

  test('E4 kill -9 where an API takes its time: what is kept on the way, without any option, is not fetched again', async () => {
    let isSilent = true;
    await using sandbox = await startSandbox({
      holdings: 1200,
      latency: 400,
      // However slow this machine is, the walk does not come to its end before it is killed.
      script: ({ nth }) => (isSilent && nth > 10 ? { kind: 'never' } : undefined),
    });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', 'out.csv', '--progress', 'none'];
    const { process, ended } = startSluice(args, options);
    await sandbox.until(() => sandbox.counts.requests === 2);
    const kept = await pagesKept(join(options.cwd, 'out.csv.sluice'), 1);
    process.kill('SIGKILL');
    await ended;
    isSilent = false;
    const before = sandbox.counts.requests;
    const { code, stderr } = await sluice(args, options);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/^Resuming after [\d,]+ rows [^\n]*\n(?:[\d,]+ of [^\n]*\n)*1,200 rows/),
    });
    expect(sandbox.counts.requests - before).toBeLessThanOrEqual(12 - kept);
  });

  test('E4 kill -9 while an API is silent: nothing that came before is fetched again', async () => {
    let isSilent = true;
    await using sandbox = await startSandbox({
      holdings: 1000,
      script: ({ nth }) => (isSilent && nth > 6 ? { kind: 'never' } : undefined),
    });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', 'out.csv', '--rate', 'unlimited'];
    args.push('--progress', 'none');
    const { process, ended } = startSluice(args, options);
    await sandbox.until(() => sandbox.counts.requests === 7);
    await pagesKept(join(options.cwd, 'out.csv.sluice'), 6);
    process.kill('SIGKILL');
    await ended;
    isSilent = false;
    const { code, stderr } = await sluice(args, options);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        /^Resuming after 600 rows \(6 pages\), at page 7\.\n(?:[\d,]+ of [^\n]*\n)*1,000 rows/,
      ),
    });
    expect(sandbox.counts.requests).toBe(7 + 4);
  });

  test('E1 streams go on as well', async () => {
    await using sandbox = await startSandbox({ streams: 3000, latency: 5 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const args = ['streams', 'export', '--to', 'out.jsonl', '--rate', 'unlimited', '--commit-every', '2'];
    expect((await interrupt(sandbox, args, { ...options, after: 15 })).code).toBe(130);
    const before = sandbox.counts.requests;
    const { code, stderr } = await sluice(args, options);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        /^Resuming after 1,[2-5]00 rows \(1[2-5] pages\), at page 1[3-6]\.\n(?:[\d,]+ of [^\n]*\n)*3,000 rows/,
      ),
    });
    expect(sandbox.counts.requests - before).toBeLessThanOrEqual(18);
    const lines = (await readFile(join(options.cwd, 'out.jsonl'), 'utf8')).trimEnd().split('\n');
    expect(lines.map((line): unknown => JSON.parse(line))).toEqual([...sandbox.streamRows()]);
  });

  test('E1 the last line tells the rows that were kept, and the pace leaves them out', async () => {
    await using sandbox = await startSandbox({ holdings: 5000, latency: 5 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const args = exportArgs(sandbox, 'out.csv');
    await interrupt(sandbox, args, { ...options, after: 30 });
    const { stderr } = await sluice([...args, '--progress', 'json'], options);
    const events = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, number>);
    const kept = {
      rows: expect.any(Number),
      pages: expect.any(Number),
      partitions: 1,
      partition: 1,
      otherPartitions: 0,
    };
    expect(events[1]).toEqual({ event: 'resumed', ...kept, isSealed: false, page: events[1]!['pages']! + 1 });
    const { rows, pages, rowsPerSecond, elapsedMs, requests } = events.at(-1)!;
    expect({ rows, pages, requests }).toEqual({ rows: 5000, pages: 50, requests: 50 - events[1]!['pages']! });
    const fresh = rows! - events[1]!['rows']!;
    expect(rowsPerSecond).toBeCloseTo((fresh / elapsedMs!) * 1000, -2);
  });

  test('E1 --quiet says nothing of it, --progress none and a terminal do', async () => {
    await using sandbox = await startSandbox({ holdings: 3000, latency: 5 });
    const folder = temporaryFolder();
    const options = { env: settingsFor(sandbox), cwd: folder };
    const args = exportArgs(sandbox, 'out.csv', '--if-exists', 'overwrite');
    const going = /Resuming after [\d,]+ rows \(\d+ pages\), at page \d+\.\n/;
    const resume = async (...more: string[]) => {
      expect((await interrupt(sandbox, args, { ...options, after: 15 })).code).toBe(130);
      return sluice([...args, ...more], options);
    };
    expect(await resume('--quiet')).toEqual({ code: 0, stdout: '', stderr: '' });
    expect((await resume('--progress', 'none')).stderr).toMatch(
      new RegExp(`^${going.source}3,000 rows in 30 pages -> out\\.csv \\([^)]*, [\\d,]+ rows resumed\\)\\n$`),
    );
    await interrupt(sandbox, args, { ...options, after: 15 });
    const environment = testEnvironment({ folder, columns: 80, variables: { ...options.env, NO_COLOR: '1' } });
    expect(await main([...args, '--progress', 'bar'], environment)).toBe(0);
    expect(environment.written.stderr()).toMatch(new RegExp(`\\r\u001b\\[K${going.source}`));
  });

  test('E1 --restart starts over', async () => {
    await using sandbox = await startSandbox({ holdings: 3000, latency: 5 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const args = exportArgs(sandbox, 'out.csv');
    await interrupt(sandbox, args, { ...options, after: 15 });
    const before = sandbox.counts.requests;
    const { code, stderr } = await sluice([...args, '--restart'], options);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^3,000 rows in 30 pages -> out\.csv/) });
    expect(sandbox.counts.requests - before).toBe(30);
    expect((await readdir(options.cwd)).toSorted()).toEqual(['out.csv', 'out.csv.sluice']);
  });
});

/** Resolves when the checkpoint in a folder says that so many pages are kept. */
async function pagesKept(folder: string, atLeast: number): Promise<number> {
  const watcher = watch(folder);
  try {
    for (;;) {
      const changed = once(watcher, 'change');
      const record = await readFile(join(folder, 'checkpoint'), 'utf8').catch(() => '');
      const [, pages = '0'] = /"pages":(\d+)/.exec(record) ?? [];
      if (Number(pages) >= atLeast) return Number(pages);
      await changed;
    }
  } finally {
    watcher.close();
  }
}
