import { createInterface } from 'node:readline';
import { describe, expect, test } from 'vitest';
import { Interruption } from '../src/errors/errors.js';
import { main } from '../src/program.js';
import { settingsFor, sluice, startSluice } from './runSluice.js';
import { testEnvironment } from './testEnvironment.js';

/** Starts a sandbox, and reads the line that it says. */
async function startedSandbox(args: readonly string[]) {
  const running = startSluice(['sandbox', ...args]);
  for await (const line of createInterface(running.process.stdout)) {
    const { streamsUrl, aptosUrl, apiKey, owners }: Record<string, unknown> = JSON.parse(line);
    const reached = { streamsUrl: String(streamsUrl), aptosUrl: String(aptosUrl), apiKey: String(apiKey) };
    return { ...running, ...reached, owners: Array.isArray(owners) ? owners.map(String) : [] };
  }
  throw new Error('The sandbox said nothing.');
}

describe('sluice sandbox', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    'prints one line of JSON, serves until %s, and exits 0',
    { tags: ['slow'] },
    async (signal) => {
      const sandbox = await startedSandbox(['--holdings', '50', '--streams', '7', '--owners', '2', '--nasty', '0']);
      expect(sandbox.owners).toHaveLength(2);
      const env = settingsFor(sandbox);
      const streams = await sluice(['streams', 'list', '--columns', 'id'], { env });
      expect(streams.stdout.trimEnd().split('\r\n')).toHaveLength(8);
      const nfts = await sluice(['nfts', 'export', '--owner', ...sandbox.owners, '--to', '-', '--columns', 'amount'], {
        env,
      });
      expect(nfts.stdout.trimEnd().split('\r\n')).toHaveLength(51);
      sandbox.process.kill(signal);
      const { code, stdout, stderr } = await sandbox.ended;
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout.split('\n')).toEqual([JSON.stringify({ ...pickedFrom(sandbox), owners: sandbox.owners }), '']);
    },
  );

  test('misbehaves as it is told', { tags: ['slow'] }, async () => {
    const sandbox = await startedSandbox([
      '--seed',
      '-3',
      '--latency',
      '1ms..5ms',
      '--rate-limit',
      '100/s',
      '--cursor-ttl',
      '5m',
      '--fail',
      'serverError=0.2,reset=0.1',
      '--status-every',
      '1s',
      '--holdings',
      '1500',
    ]);
    const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', '-', '--rate', 'unlimited'];
    // 60 requests: that none of them fails happens once in a million runs.
    const many = ['--page-size', '25', '--progress', 'json'];
    const { code, stderr } = await sluice([...args, ...many], { env: settingsFor(sandbox) });
    expect(code).toBe(0);
    expect(stderr).toMatch(/"event":"report".*"rows":1500.*"retries":[1-9]/);
  });

  test('on a port that is taken says so', async () => {
    const first = await startedSandbox([]);
    const { code, stdout, stderr } = await sluice(['sandbox', '--port', new URL(first.aptosUrl).port]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^sluice: The sandbox can't listen on 127\.0\.0\.1:\d+: the port is in use by another process\. Choose another port[^\n]*\n$/,
    );
  });

  test('on a terminal also says how to use it', async () => {
    const environment = testEnvironment({ columns: 100, variables: { NO_COLOR: '1' } });
    const ended = main(['sandbox'], environment);
    await expect.poll(environment.written.stderr).toContain('Ctrl+C ends the sandbox.');
    expect(environment.written.stderr()).toContain('export SLUICE_APTOS_URL=http://127.0.0.1:');
    environment.interrupt(new Interruption('SIGINT'));
    expect(await ended).toBe(0);
    expect(environment.written.stdout().split('\n')).toHaveLength(2);
  });

  test('answers pages of any origin with --cors', { tags: ['slow'] }, async () => {
    const environment = testEnvironment();
    const ended = main(['sandbox', '--cors'], environment);
    await expect.poll(environment.written.stdout).toContain('\n');
    const { streamsUrl } = JSON.parse(environment.written.stdout());
    const answer = await fetch(`${streamsUrl}/streams/evm?limit=1`);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    environment.interrupt(new Interruption('SIGINT'));
    expect(await ended).toBe(0);
  });
});

function pickedFrom({ streamsUrl, aptosUrl, apiKey }: Record<'streamsUrl' | 'aptosUrl' | 'apiKey', string>) {
  return { streamsUrl, aptosUrl, apiKey };
}
