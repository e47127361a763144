import { readdir } from 'node:fs/promises';
import { startReceiver, startSandbox, type Sandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { Interruption } from '../src/errors/errors.js';
import { main } from '../src/program.js';
import { displayWidth } from '../src/terminal/width.js';
import { folderWithSecret, forwardArgs, here, rowsAt, rowsOf, secret } from './forwarding.js';
import { exportArgs } from './interruptedExport.js';
import { settingsFor, sluice } from './runSluice.js';
import { screenOf } from './terminal/screen.js';
import { testEnvironment } from './testEnvironment.js';

/** A command on a terminal. */
function onTerminal(sandbox: Sandbox, args: readonly string[], columns: number, folder = temporaryFolder()) {
  const environment = testEnvironment({ folder, columns, variables: { ...settingsFor(sandbox), NO_COLOR: '1' } });
  const { stderr } = environment.written;
  return {
    ended: main(args, environment),
    text: stderr,
    /** Ctrl+C, which the terminal shows where the cursor is. */
    interrupt: () => {
      environment.stderr.stream.write('^C');
      environment.interrupt(new Interruption('SIGINT'));
    },
    screen: () => screenOf(stderr(), columns),
  };
}

const toFile = (sandbox: Sandbox, ...more: readonly string[]): string[] => [
  'nfts',
  'export',
  '--owner',
  ...sandbox.owners,
  '--to',
  'out.csv',
  ...more,
];

test('an export that waited for its rate says so at its end, in wall time', { tags: ['slow'] }, async () => {
  await using sandbox = await startSandbox({ streams: 55 });
  const args = ['streams', 'export', '--to', 'out.csv', '--page-size', '5'];
  const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
  const { stderr } = await sluice([...args, '--progress', 'json'], options);
  const events = stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const { message, waitedMs, elapsedMs } = Object.assign({}, ...events.slice(-2)) as Record<string, unknown>;
  expect(message).toMatch(
    /^Waited [\d.]+ s of [\d.]+ s for --rate \(5\/s, the default\); raise it if your plan allows more\.$/,
  );
  expect(Number(waitedMs)).toBeLessThanOrEqual(Number(elapsedMs));
  const quick = await sluice([...args, '--if-exists', 'overwrite', '--rate', 'unlimited'], options);
  expect(quick.stderr).not.toContain('Waited');
});

describe('what an export on a terminal says while it waits', () => {
  test.each([60, 80, 120])('a pause, with its cause (%i columns)', async (columns) => {
    await using sandbox = await startSandbox({
      holdings: 5000,
      script: ({ n }) => (n > 3 ? { kind: 'status', status: 429, headers: { 'retry-after': '50' } } : undefined),
    });
    const run = onTerminal(sandbox, toFile(sandbox, '--rate', 'unlimited'), columns);
    await expect.poll(run.text).toMatch(/ 300 rows .* {2}paused for (50|49) s \(HTTP 429\)/);
    run.interrupt();
    expect(await run.ended).toBe(130);
    // The bar, and the "^C" over it, are gone.
    expect(run.screen().join('\n')).not.toMatch(/[⠋-⣿]|\^C|pages/);
    expect(run.screen()[0]).toMatch(/^sluice: Stopped by SIGINT\. 300 rows committed\. Resume with/);
    const drawn = run.text().replaceAll('\u001b[K', '').split('\r');
    expect(Math.max(...drawn.slice(0, -1).map(displayWidth))).toBeLessThan(columns);
  });

  test('a response that does not come', async () => {
    await using sandbox = await startSandbox({ holdings: 5000, latency: 60_000 });
    const run = onTerminal(sandbox, toFile(sandbox), 60);
    await expect.poll(run.text, { timeout: 20_000 }).toMatch(/no response for 1\.\d s/);
    run.interrupt();
    expect(await run.ended).toBe(130);
  });

  test('the limit', async () => {
    await using sandbox = await startSandbox({ holdings: 5000 });
    const run = onTerminal(sandbox, toFile(sandbox, '--rate', '1/h'), 60);
    await expect.poll(run.text, { timeout: 20_000 }).toMatch(/100 rows .*waiting 1\.\d s for the limit/);
    run.interrupt();
    expect(await run.ended).toBe(130);
  });

  test('a webhook that fails, and the reason', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 5000 });
    await using receiver = await startReceiver({
      secrets: [secret],
      seed: 1,
      failures: { share: 1, max: 1000, kinds: ['error'] },
    });
    const run = onTerminal(sandbox, forwardArgs(sandbox, receiver), 80, folderWithSecret());
    await expect.poll(run.text, { timeout: 20_000 }).toMatch(/waiting [12]\.\d s for the webhook \(HTTP 50\d\)/);
    run.interrupt();
    expect(await run.ended).toBe(130);
    expect(run.text()).toContain('Stopping: the rows that are fetched are committed first.');
    expect(run.screen().join('\n')).not.toMatch(/[⠋-⣿]|\^C/);
  });

  test('--progress json has the same as data', async () => {
    await using sandbox = await startSandbox({
      holdings: 5000,
      script: ({ n }) => (n > 1 ? { kind: 'status', status: 429, headers: { 'retry-after': '50' } } : undefined),
    });
    const run = onTerminal(sandbox, toFile(sandbox, '--progress', 'json'), 80);
    await expect
      .poll(run.text, { timeout: 20_000 })
      .toMatch(/"waiting":\{"for":"pause","leftMs":\d+,"cause":"HTTP 429"\}/);
    expect(run.text()).toContain('"lastRetry":"HTTP 429"');
    run.interrupt();
    expect(await run.ended).toBe(130);
  });
});

test('R12 an export ends at --max-retry-after, says so, and resumes', async () => {
  let isLimited = true;
  await using sandbox = await startSandbox({
    holdings: 500,
    script: ({ n }) =>
      isLimited && n > 3 ? { kind: 'status', status: 429, headers: { 'retry-after': '90' } } : undefined,
  });
  const at = { env: settingsFor(sandbox), cwd: temporaryFolder() };
  const args = toFile(sandbox, '--rate', 'unlimited');
  const ended = await sluice(args, at);
  expect(ended.stderr).toMatch(/asked to wait 90 s.*, but the limit is 60 s\..*--max-retry-after/s);
  expect([ended.code, sandbox.counts.requests]).toEqual([1, 4]);
  isLimited = false;
  expect(await sluice(args, at)).toMatchObject({ code: 0, stderr: expect.stringContaining('500') });
});

describe('E9 Ctrl+C commits what is fetched', () => {
  test('E9 into a table', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 100_000, latency: 5 });
    const folder = temporaryFolder();
    const args = exportArgs(sandbox, 'out.sqlite#nfts', '--commit-every', '1000', '--progress', 'bar');
    const run = onTerminal(sandbox, args, 80, folder);
    await sandbox.until(() => sandbox.counts.requests >= 20);
    run.interrupt();
    expect(await run.ended).toBe(130);
    const [, kept = ''] = /SIGINT\. ([\d,]+) rows committed\./.exec(run.text()) ?? [];
    expect(Number(kept.replace(',', '')) / 100).toBeGreaterThanOrEqual(sandbox.counts.requests - 2);
    expect(await readdir(folder)).toContain('out.sqlite');
  });

  test(
    'E9 to a webhook: all that was fetched is delivered, and no page of it is fetched again',
    { tags: ['slow'] },
    async () => {
      await using sandbox = await startSandbox({ holdings: 3000, latency: 5 });
      await using receiver = await startReceiver({ secrets: [secret] });
      const folder = folderWithSecret();
      const args = forwardArgs(sandbox, receiver, '--commit-every', '1000', '--batch', '100');
      const run = onTerminal(sandbox, args, 80, folder);
      await sandbox.until(() => sandbox.counts.requests >= 12);
      run.interrupt();
      expect(await run.ended).toBe(130);
      const [, kept = ''] = /At least ([\d,]+) rows are delivered/.exec(run.text()) ?? [];
      const pages = Number(kept.replace(',', '')) / 100;
      expect(pages).toBeGreaterThanOrEqual(sandbox.counts.requests - 2);
      expect(receiver.accepted.size).toBe(pages * 100);
      const before = sandbox.counts.requests;
      expect(await here(sandbox, folder, args)).toMatchObject({ code: 0 });
      expect(sandbox.counts.requests - before).toBe(30 - pages);
      expect(rowsAt(receiver)).toEqual(rowsOf(sandbox));
    },
  );
});
