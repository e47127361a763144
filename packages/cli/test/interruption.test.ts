// @module-tag slow
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { someOf } from '../../../scripts/testEffort.js';
import { exportArgs, exportedIn, interrupt, signalled } from './interruptedExport.js';
import { settingsFor, sluice, startShell, startSluice, type Outcome, type Running } from './runSluice.js';
import { Random } from '../../../test/kit/random.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';

const fast = ['--rate', 'unlimited'];

describe('E9 a signal in the middle of an export', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('E9 %s: exit code %i, what is kept, and the command that goes on', async (signal, exitCode) => {
    await using sandbox = await startSandbox({ holdings: 5000, latency: 5 });
    const cwd = temporaryFolder();
    const to = "Zoë's rows.csv";
    const stopped = await interrupt(sandbox, exportArgs(sandbox, to, '--restart'), { cwd, after: 20, signal });
    expect(stopped).toMatchObject({ code: exitCode, stdout: '' });
    const [sentence, command = '', end] = stopped.stderr.split('\n');
    const told = new RegExp(`^sluice: Stopped by ${signal}\\. ([\\d,]+) rows committed\\. Resume with:$`);
    const [, kept = ''] = told.exec(sentence ?? '') ?? [];
    // All that arrived is kept: only the requests that were open may be lost, two at a concurrency of one.
    const pages = Number(kept.replace(',', '')) / 100;
    expect(pages).toBeGreaterThanOrEqual(sandbox.counts.requests - 2);
    expect(pages).toBeLessThanOrEqual(sandbox.counts.requests);
    expect(command).toMatch(/^ {2}node \S+bin\.js nfts export --owner 0x/);
    expect(command).toContain(String.raw`--to 'Zoë'\''s rows.csv'`);
    expect(command).not.toContain('--restart');
    expect(end).toBe('');
    expect((await readdir(cwd)).toSorted()).toEqual([`${to}.part`, `${to}.sluice`]);

    const resumed = await startShell(command, { env: settingsFor(sandbox), cwd }).ended;
    expect(resumed).toMatchObject({ code: 0, stderr: expect.stringMatching(`^Resuming after ${kept} rows`) });
    expect((await readdir(cwd)).toSorted()).toEqual([to, `${to}.sluice`]);
  });

  test('E9 before any commit was due: what is fetched is kept', async () => {
    await using sandbox = await startSandbox({ holdings: 100_000, latency: 5 });
    const cwd = temporaryFolder();
    const args = exportArgs(sandbox, 'out.csv', '--commit-every', '1000');
    const { code, stderr } = await interrupt(sandbox, args, { cwd, after: 10 });
    const [, kept = ''] = /^sluice: Stopped by SIGINT\. ([\d,]+) rows committed\. Resume with:\n/.exec(stderr) ?? [];
    expect(code).toBe(130);
    expect(Number(kept.replace(',', '')) / 100).toBeGreaterThanOrEqual(8);
  });

  test('E9 before the first response: nothing is kept, nothing is left, and the same command starts over', async () => {
    await using sandbox = await startSandbox({ holdings: 100_000, latency: 60_000 });
    const cwd = temporaryFolder();
    const args = exportArgs(sandbox, 'out.csv');
    const { code, stderr } = await interrupt(sandbox, args, { cwd, after: 1 });
    expect({ code, stderr }).toEqual({
      code: 130,
      stderr: expect.stringMatching(
        /^sluice: Stopped by SIGINT\. No row was committed yet\. The same command starts over:\n {2}node [^\n]*\n$/,
      ),
    });
    expect(await readdir(cwd)).toEqual([]);
  });

  test('E9 owners that came from stdin have to come again', async () => {
    await using sandbox = await startSandbox({ holdings: 3000, latency: 5 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder(), input: sandbox.owners.join('\n') };
    const [nfts = '', verb = '', , ...others] = exportArgs({ owners: [] }, 'out.csv');
    const args = [nfts, verb, '--owners-file', '-', ...others];
    const { stderr } = await interrupt(sandbox, args, { ...options, after: 15 });
    expect(stderr).toMatch(/ rows committed\. Provide the owners on stdin again\. Resume with:\n {2}node /);
    expect(await startShell(commandIn(stderr), options).ended).toMatchObject({ code: 0 });
  });

  test('an existing file that was to be overwritten stays as it was', async () => {
    await using sandbox = await startSandbox({ holdings: 100_000, latency: 5 });
    const cwd = temporaryFolder();
    await writeFile(join(cwd, 'out.csv'), 'mine');
    const args = exportArgs(sandbox, 'out.csv', '--if-exists', 'overwrite');
    expect((await interrupt(sandbox, args, { cwd, after: 20 })).code).toBe(130);
    expect((await readdir(cwd)).toSorted()).toEqual(['out.csv', 'out.csv.part', 'out.csv.sluice']);
    expect(await readFile(join(cwd, 'out.csv'), 'utf8')).toBe('mine');
  });

  const jobs = [
    { seed: 1, to: 'out.csv', concurrency: 1 },
    { seed: 2, to: 'out.csv.gz', concurrency: 1 },
    { seed: 3, to: 'out.csv.gz', concurrency: 4 },
    { seed: 4, to: 'out.jsonl.gz', concurrency: 3 },
    { seed: 5, to: 'out.jsonl', concurrency: 2 },
  ];
  test.each(someOf(jobs, 2))(
    'E9 signals at random moments (seed $seed) leave the bytes of $to as they are',
    async ({ seed, to, concurrency }) => {
      await using sandbox = await startSandbox({ seed, holdings: 6000, owners: 6, latency: [0, 4] });
      const env = settingsFor(sandbox);
      const args = exportArgs(sandbox, to, '--owners-per-request', '1', '--concurrency', String(concurrency));
      const undisturbed = temporaryFolder();
      expect((await sluice(args, { env, cwd: undisturbed })).code).toBe(0);

      const cwd = temporaryFolder();
      const random = new Random(seed);
      const signals = [
        ['SIGINT', 130],
        ['SIGTERM', 143],
      ] as const;
      let running = startSluice(args, { env, cwd });
      for (let interruptions = 0; interruptions < 4; interruptions += 1) {
        const [signal, exitCode] = random.pick<(typeof signals)[number]>(signals);
        const outcome: Outcome = await signalled(sandbox, running, { after: random.int(1, 25), signal });
        if (outcome.code === 0) break;
        expect(outcome).toMatchObject({ code: exitCode, stdout: '' });
        // In the shell's place, so that it gets the signals.
        running = startShell(`exec ${commandIn(outcome.stderr)}`, { env, cwd });
      }
      expect((await running.ended).code).toBe(0);
      expect(exportedIn(cwd)).toEqual(exportedIn(undisturbed));
    },
  );

  test.each([
    ['an answer that does not come', { latency: 60_000 }, []],
    ['the limiter', {}, ['--rate', '1/h']],
    [
      'a pause that the API asked for',
      { script: () => ({ kind: 'status', status: 429, headers: { 'retry-after': '50' } }) as const },
      [],
    ],
  ])('takes effect at once while it waits for %s', async (_, options, more) => {
    await using sandbox = await startSandbox({ holdings: 100_000, ...options });
    const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', '-', ...more];
    const { process, ended } = startSluice(args, { env: settingsFor(sandbox) });
    await sandbox.until(() => sandbox.counts.requests > 0);
    await wait(200);
    process.kill('SIGINT');
    const { code, stderr } = await ended;
    expect({ code, stderr }).toEqual({
      code: 130,
      stderr: expect.stringMatching(/^sluice: Stopped by SIGINT\. The output ends early, after [^\n]+\n$/),
    });
  });

  test('--progress json tells it as the last event', async () => {
    await using sandbox = await startSandbox({ holdings: 100_000, latency: 5 });
    const cwd = temporaryFolder();
    const args = exportArgs(sandbox, 'out.csv', '--progress', 'json');
    const { code, stderr } = await interrupt(sandbox, args, { cwd, after: 20, signal: 'SIGTERM' });
    const last = JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '') as Record<string, unknown>;
    expect({ code, last }).toMatchObject({
      code: 143,
      last: {
        event: 'stopped',
        exitCode: 143,
        message: expect.stringContaining('SIGTERM'),
        keptRows: expect.any(Number),
      },
    });
    expect(last['resume']).toMatch(/^node \S+bin\.js nfts export .* --progress json$/);
  });

  test('ends a watch whose output nobody reads any more, though nobody closes it either', async () => {
    await using sandbox = await startSandbox({ streams: 3000 });
    const args = ['streams', 'watch', '--format', 'jsonl', ...fast];
    const { process, ended } = startSluice(args, { env: settingsFor(sandbox) });
    // All that a poll has shown is written in one go.
    const readOn = await stuck(process);
    const exited = once(process, 'exit');
    process.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
    readOn();
    const { stderr } = await ended;
    expect(stderr).toMatch(/\nsluice: Stopped by SIGTERM\. [^\n]+ the same command starts over\.\n$/);
  });

  test('a second one ends the process at once, whatever it is busy with', async () => {
    await using sandbox = await startSandbox({ streams: 4000 });
    const args = ['streams', 'list', '--format', 'table', ...fast];
    const { process, ended } = startSluice(args, { env: settingsFor(sandbox) });
    // A table is written in one go, which the first signal does not stop.
    const readOn = await stuck(process);
    const exited = once(process, 'exit');
    process.kill('SIGINT');
    process.kill('SIGTERM');
    // Of two that wait for a busy process the system hands over whichever it likes first; the first alone would not end it.
    expect([
      [143, null],
      [130, null],
    ]).toContainEqual(await exited);
    readOn();
    await ended;
  });
});

/**
 * Resolves when a command has begun to write, and nobody reads on: what is more than a pipe has room for is never through. The answer
 * makes somebody read again.
 */
function stuck({ stdout }: Running['process']): Promise<() => void> {
  return new Promise((resolve) => {
    // As long as somebody waits for this, nothing flows.
    const onReadable = (): void => {
      resolve(() => stdout.off('readable', onReadable));
    };
    stdout.on('readable', onReadable);
  });
}

/** The command that a stopped export prints, just as it stands there. */
function commandIn(stderr: string): string {
  const [, command] = /:\n( {2}[^\n]+)\n$/.exec(stderr) ?? [];
  expect(command, stderr).toBeDefined();
  return command ?? '';
}
