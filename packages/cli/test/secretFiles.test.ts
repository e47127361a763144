import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startReceiver, startSandbox, type Sandbox } from '@sluice/sandbox';
import { describe, expect, onTestFinished, test } from 'vitest';
import { main } from '../src/program.js';
import { otherSecret } from './forwarding.js';
import { settingsFor, startSluice } from './runSluice.js';
import { testEnvironment } from './testEnvironment.js';
import { listenTo, watchArgs } from './watching.js';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const keyWarning =
  'Other users of this computer can read the file that --api-key-file names. Make it yours alone: chmod 600 key';
const listStreams = ['streams', 'list', '--format', 'csv', '--api-key-file', 'key'];

describe('a file with the API key', () => {
  test.each([
    ['that everybody can read is warned of', 0o644, 0o755, true],
    ['that a group can read is fine, since services share secrets so', 0o640, 0o755, false],
    ['that its owner alone can read is fine', 0o600, 0o755, false],
    ['in a folder that is closed to others is fine', 0o644, 0o700, false],
  ])('%s', async (_name, mode, folderMode, isWarnedOf) => {
    await using sandbox = await startSandbox({ streams: 3 });
    const folder = await folderWith({ key: sandbox.apiKey }, mode);
    await chmod(folder, folderMode);
    const { code, stderr } = await run([...listStreams, '--progress', 'plain'], folder, sandbox);
    expect(code).toBe(0);
    expect(stderr.includes(`${keyWarning}\n`)).toBe(isWarnedOf);
  });

  test('is warned of as an event of --progress json, not at all with --quiet, and by the doctor', async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    const folder = await folderWith({ key: sandbox.apiKey }, 0o644);
    const json = await run([...listStreams, '--progress', 'json'], folder, sandbox);
    const events = json.stderr.trimEnd().split('\n').map(eventOf);
    expect(events).toContainEqual(expect.objectContaining({ event: 'warning', message: keyWarning }));
    expect(events[0]).toMatchObject({ event: 'start' });
    expect((await run([...listStreams, '--quiet'], folder, sandbox)).stderr).toBe('');
    const doctor = await run(['doctor', '--api-key-file', 'key'], folder, sandbox);
    expect(doctor.stdout).toContain(`from --api-key-file. ${keyWarning}\n`);
    expect(doctor.stdout).toMatch(/^warn {2}API key/m);
  });

  test('that is too large, or holds more than a key, is refused without a request', async () => {
    await using sandbox = await startSandbox();
    const folder = await folderWith({ large: 'x'.repeat(70_000), two: `${sandbox.apiKey}\nanother\n` }, 0o600);
    const refusal = async (file: string) => run(['streams', 'list', '--api-key-file', file], folder, sandbox);
    expect(await refusal('large')).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'sluice: The file that --api-key-file names has more than 64 KiB, too many for the key. Give the path of a file that holds nothing else.\n',
    });
    // It never ends.
    if (process.platform === 'linux') expect(await refusal('/dev/zero')).toEqual(await refusal('large'));
    expect(await refusal('two')).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'sluice: The file that --api-key-file names holds more than one word. Put the key into it, and nothing else.\n',
    });
    expect(sandbox.counts.requests).toBe(0);
  });
});

test('files with the signing secret and with headers are warned of alike, once each', async () => {
  await using sandbox = await startSandbox({ streams: 3 });
  await using receiver = await startReceiver({ secrets: [secret] });
  const folder = await folderWith({ 'my secret': secret, headers: 'X-Team: nfts\n' }, 0o644);
  const files = ['--secret-file', 'my secret', '--header-file', 'headers', '--allow-address', '127.0.0.1'];
  const forward = ['streams', 'export', '--forward', receiver.url, ...files, '--progress', 'plain'];
  const { code, stderr } = await run(forward, folder, sandbox);
  expect(code).toBe(0);
  expect(stderr.match(/Other users [^\n]*/g)).toEqual([
    "Other users of this computer can read the file that --secret-file names. Make it yours alone: chmod 600 'my secret'",
    'Other users of this computer can read the file that --header-file names. Make it yours alone: chmod 600 headers',
  ]);
});

test('a replay warns of its secret too', async () => {
  await using sandbox = await startSandbox();
  const folder = await folderWith({ secret }, 0o644);
  const replay = ['dlq', 'replay', 'gone.jsonl', '--to', 'https://hooks.example.com/', '--secret-file', 'secret'];
  expect((await run(replay, folder, sandbox)).stderr).toMatch(/^sluice: Other users [^\n]* chmod 600 secret\n/);
  expect((await run([...replay, '--quiet'], folder, sandbox)).stderr).not.toContain('Other users');
});

test(
  'SIGHUP reads the files of a watch again, and uses what can be sent from the next request on',
  { timeout: 60_000 },
  async () => {
    await using sandbox = await startSandbox({ streams: 3, nasty: 0 });
    await using receiver = await startReceiver({ secrets: [secret] });
    const folder = await folderWith({ secret, headers: 'X-Team: nfts\n', key: sandbox.apiKey }, 0o600);
    const files = ['--secret-file', 'secret', '--header-file', 'headers', '--api-key-file', 'key'];
    const args = watchArgs('--forward', receiver.url, '--allow-address', '127.0.0.1', ...files);
    const { SLUICE_STREAMS_URL = '' } = settingsFor(sandbox);
    const { process, ended } = startSluice(args, { cwd: folder, env: { SLUICE_STREAMS_URL } });
    const stderr = listenTo(process.stderr);
    const change = async (tag: string) => {
      const before = receiver.requests.length;
      sandbox.setStream(0, { tag });
      await receiver.until(() => receiver.requests.length > before);
      return receiver.requests.at(-1)?.headers;
    };
    await stderr.until(/Watching/);
    await writeFile(join(folder, 'secret'), 'whsec_short');
    await writeFile(join(folder, 'key'), 'tiny');
    process.kill('SIGHUP');
    await stderr.until(/SIGHUP: A secret is not a signing secret: .* What was read before stays in use\./);
    await stderr.until(/SIGHUP: The API key has fewer than 8 characters.* What was read before stays in use\./);
    await writeFile(join(folder, 'secret'), `${otherSecret}\n${secret}`);
    await writeFile(join(folder, 'headers'), 'X-Team: coins');
    await writeFile(join(folder, 'key'), sandbox.apiKey);
    expect(await change('the old ones')).toMatchObject({ 'x-team': 'nfts' });
    process.kill('SIGHUP');
    await stderr.until(/SIGHUP: read --secret-file, --header-file, --api-key-file again\./);
    const sent = await change('the new ones');
    expect(sent?.['x-team']).toBe('coins');
    expect(sent?.['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
    await writeFile(join(folder, 'key'), 'another-key-0000');
    process.kill('SIGHUP');
    await stderr.until(/A poll failed.* responded with 401/);
    await writeFile(join(folder, 'key'), sandbox.apiKey);
    process.kill('SIGHUP');
    await stderr.until(/Polls succeed again/);
    process.kill('SIGTERM');
    expect((await ended).code).toBe(0);
  },
);

/** A folder with files of a mode. Not where temporary files usually are: a user's own folder for them may be closed to others. */
async function folderWith(files: Readonly<Record<string, string>>, mode: number): Promise<string> {
  const folder = await mkdtemp('/tmp/sluice-secrets-');
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o755);
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(folder, name), text);
    await chmod(join(folder, name), mode);
  }
  return folder;
}

async function run(args: readonly string[], folder: string, sandbox: Sandbox) {
  const environment = testEnvironment({ folder, variables: settingsFor(sandbox) });
  const code = await main(args, environment);
  return { code, stdout: environment.written.stdout(), stderr: environment.written.stderr() };
}

function eventOf(line: string): unknown {
  return JSON.parse(line);
}
