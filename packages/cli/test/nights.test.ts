import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeCheckpoint } from '@sluice/core/kit';
import { fileState } from '@sluice/core/node';
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { readTable } from './readTable.js';
import { exportArgs, interrupt } from './interruptedExport.js';
import { settingsFor, sluice } from './runSluice.js';

describe('the same command, night after night', () => {
  test.each([
    ['merge', []],
    ['replace', ['--key-columns', 'id']],
    ['replace', []],
  ])('D2 --mode %s %j exports each night, and says nothing with --quiet', async (mode, more) => {
    await using sandbox = await startSandbox({ streams: 5, nasty: 0 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    for (let night = 0; night < 3; night += 1) {
      sandbox.setStream(0, { tag: `night ${night}` });
      const run = await sluice(
        ['streams', 'export', '--to', 'a.sqlite#s', '--mode', mode, ...more, '--quiet'],
        options,
      );
      expect(run).toEqual({ code: 0, stdout: '', stderr: '' });
      const found = readTable(join(options.cwd, 'a.sqlite'), `SELECT count(*), max(tag = 'night ${night}') FROM s`);
      expect(found).toEqual([[5, 1]]);
    }
    const shown = await sluice(['checkpoint', 'show', 'a.sqlite#s'], options);
    expect(shown.stdout).toMatch(/^next {6}The same command exports it again, from the start\.$/m);
  });

  test.each([['fail'], ['append']])('D2 --mode %s is complete, and says so also with --quiet', async (mode) => {
    await using sandbox = await startSandbox({ streams: 5, nasty: 0 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const args = ['streams', 'export', '--to', 'a.sqlite#s', '--mode', mode, '--quiet'];
    expect(await sluice(args, options)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await sluice(args, options)).toEqual({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(
        mode === 'append'
          ? /^sluice: a\.sqlite#s is complete \(5 rows, .*; use --restart to export it again: its rows are there twice then\n$/
          : /^sluice: a\.sqlite#s is complete \(5 rows, .*; use --restart to export it again\n$/,
      ),
    });
  });

  test(
    'D3 says how many rows replace does not remove after an incomplete walk, as text, as JSON and with --quiet',
    { tags: ['slow'] },
    async () => {
      await using sandbox = await startSandbox({ streams: 5, nasty: 0 });
      const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
      const run = (...more: string[]) =>
        sluice(
          ['streams', 'export', '--to', 'a.sqlite#s', '--mode', 'replace', '--key-columns', 'id', ...more],
          options,
        );
      expect((await run()).code).toBe(0);
      expect((await run('--max-rows', '2', '--progress', 'none')).stderr).toMatch(
        /^2 rows .*, 3 rows not removed\)\n$/,
      );
      expect(await run('--max-rows', '2', '--quiet')).toEqual({
        code: 0,
        stdout: '',
        stderr: 'sluice: a.sqlite#s keeps 3 rows that the walk did not find, since it was incomplete.\n',
      });
      const events = (await run('--max-rows', '2', '--progress', 'json')).stderr.trimEnd().split('\n');
      expect(JSON.parse(events.at(-1) ?? '')).toMatchObject({ event: 'report', rows: 2, rowsNotRemoved: 3 });
      expect(readTable(join(options.cwd, 'a.sqlite'), 'SELECT count(*) FROM s')).toEqual([[5]]);
    },
  );

  test.each([
    ['begins anew', [], 0],
    ['goes on with --resume-within forever, and says how old its rows are', ['--resume-within', 'forever'], 1],
  ])('D2 a file of yesterday that is unfinished %s, also with --quiet', { tags: ['slow'] }, async (_, more, isOld) => {
    await using sandbox = await startSandbox({ holdings: 3_000, latency: 2, nasty: 0 });
    const cwd = temporaryFolder();
    const options = { env: settingsFor(sandbox), cwd };
    const args = exportArgs(sandbox, 'a.csv', '--if-exists', 'overwrite', ...more);
    await interrupt(sandbox, args, { after: 12, cwd });
    const state = fileState(join(cwd, 'a.csv.sluice'));
    const found = decodeCheckpoint(await state.load('checkpoint'));
    const yesterday = new Date(Date.now() - 24 * 3_600_000).toISOString();
    await state.save('checkpoint', { ...found, beganAt: yesterday, savedAt: yesterday });
    const { code, stderr } = await sluice([...args, '--quiet'], options);
    expect(code).toBe(0);
    expect(stderr).toMatch(
      isOld
        ? /^sluice: [\d,]+ rows of a\.csv were read by an interrupted run, from \d{4}-\d\d-\d\d \d\d:\d\d UTC on: .* --restart reads all of them again\.\n$/
        : /^$/,
    );
    expect(readFileSync(join(cwd, 'a.csv'), 'utf8').trimEnd().split('\n')).toHaveLength(3_001);
  });

  test.each([
    [['--forward', 'https://hooks.example.com/'], 2, '--resume-within is for files and tables'],
    [['--to', '-'], 2, '--resume-within needs a file'],
    [['--to', 'a.csv'], 0, ''],
    [['--to', 'a.sqlite', '--mode', 'append'], 0, ''],
    [['--to', 'a.sqlite', '--mode', 'merge'], 0, ''],
  ])('--resume-within with %j exits with %i', async (args, code, sentence) => {
    await using sandbox = await startSandbox({ streams: 1, nasty: 0 });
    const secret = { SLUICE_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32).toString('base64')}` };
    const options = { env: { ...settingsFor(sandbox), ...secret }, cwd: temporaryFolder() };
    const run = await sluice(['streams', 'export', ...args, '--resume-within', '2d', '--quiet'], options);
    expect(run).toMatchObject({ code, stderr: expect.stringContaining(sentence) as string });
    expect(sandbox.counts.requests > 0).toBe(code === 0);
  });
});
