import { once } from 'node:events';
import { createServer } from 'node:http';
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, onTestFinished, test } from 'vitest';
import { describeRate } from '../src/commands/doctor/rateNote.js';
import { nodeFinding, proxyFinding } from '../src/commands/doctor/settings.js';
import { settingsFor, sluice } from './runSluice.js';

const canary = 'canary-4c1e88';

/** The report's lines as level and rest. */
function linesOf(stdout: string): string[][] {
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/));
}

describe('sluice doctor', () => {
  test('says that all is well, and never shows the key', async () => {
    await using sandbox = await startSandbox({ apiKey: canary });
    const { code, stdout, stderr } = await sluice(['doctor'], { env: settingsFor(sandbox) });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(linesOf(stdout)).toEqual([
      ['ok', 'Node', process.versions.node],
      ['ok', 'proxy', 'none is set'],
      ['ok', 'locks', 'end with their process in this folder: what was killed is resumed by the same command'],
      ['ok', 'config', 'none in use'],
      ['ok', 'API key', '13 characters, from SLUICE_API_KEY'],
      ['ok', 'streams', expect.stringMatching(/^http:\S+ answered in [\d.]+ m?s and accepted the key$/)],
      ['ok', 'aptos', expect.stringMatching(/^http:\S+ answered in [\d.]+ m?s and accepted the key$/)],
    ]);
    expect(stdout).not.toContain(canary);
    expect(sandbox.requests.map(({ query }) => new URLSearchParams(query).get('limit'))).toEqual(['1', '1']);
  });

  test('suggests a rate where the headers of responses tell one', async () => {
    const server = createServer((_, response) => {
      response.setHeader('content-type', 'application/json');
      response.setHeader('ratelimit', '"burst";r=49;t=10, "day";r=900;t=3600');
      response.end('{"result":[],"total":0}');
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const env = { SLUICE_API_KEY: canary, SLUICE_STREAMS_URL: `http://127.0.0.1:${port}/streams` };
    const { stdout } = await sluice(['doctor'], { env });
    expect(stdout).toMatch(
      / accepted the key\. Its headers allow 900 requests in the next 1 h 0 min: --rate 15\/m lasts that long$/m,
    );
  });

  test.each<[string, Readonly<Record<string, string>>, string]>([
    ['nothing', {}, ''],
    ['nothing left', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '30' }, ''],
    ['no reset', { 'x-ratelimit-remaining': '10' }, ''],
    ['many a second', { 'x-ratelimit-remaining': '100', 'x-ratelimit-reset': '4' }, '--rate 25/s'],
    ['few a day', { 'x-ratelimit-remaining': '48', 'x-ratelimit-reset': '86400' }, '--rate 2/h'],
    ['one a week', { 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': '600000' }, ''],
  ])('headers that tell %s', (_, headers, said) => {
    if (said === '') expect(describeRate(headers, 1_800_000_000_000)).toBe('');
    else expect(describeRate(headers, 1_800_000_000_000)).toContain(`: ${said} lasts that long`);
  });

  test('without any settings says what to set, and fails', async () => {
    const { code, stdout } = await sluice(['doctor']);
    expect(code).toBe(1);
    expect(linesOf(stdout).map(([level, subject]) => [level, subject])).toEqual([
      ['ok', 'Node'],
      ['ok', 'proxy'],
      ['ok', 'locks'],
      ['ok', 'config'],
      ['fail', 'API key'],
      ['fail', 'streams'],
      ['fail', 'aptos'],
    ]);
    for (const name of ['SLUICE_API_KEY', 'SLUICE_STREAMS_URL', 'SLUICE_APTOS_URL']) expect(stdout).toContain(name);
  });

  test('one API is enough; the other one is a warning', async () => {
    await using sandbox = await startSandbox();
    const { SLUICE_API_KEY = '', SLUICE_APTOS_URL = '' } = settingsFor(sandbox);
    const env = { SLUICE_API_KEY, SLUICE_APTOS_URL };
    const { code, stdout } = await sluice(['doctor'], { env });
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^warn {2}streams +no address\. For "sluice streams …" set SLUICE_STREAMS_URL, or give --streams-url\.$/m,
    );
  });

  test('a refused key, an address that is none and one where nobody answers fail, each with advice', async () => {
    await using sandbox = await startSandbox();
    const env = { ...settingsFor(sandbox), SLUICE_API_KEY: canary };
    const wrongKey = await sluice(['doctor', '--aptos-url', 'http://127.0.0.1:1'], { env });
    expect(wrongKey.code).toBe(1);
    expect(wrongKey.stdout).toMatch(/^fail {2}streams +the key was refused: .*401.*Check the API key/m);
    expect(wrongKey.stdout).toMatch(/^fail {2}aptos +.*ECONNREFUSED.*Check the network and the base URL/m);
    const wrongAddress = await sluice(['doctor', '--streams-url', 'nowhere', '--aptos-url', 'http://example.com'], {
      env,
    });
    expect(wrongAddress.code).toBe(1);
    expect(wrongAddress.stdout).toMatch(
      /^fail {2}streams +The base URL of the streams API \(--streams-url\) is not a URL/m,
    );
    expect(wrongAddress.stdout).toMatch(
      /^fail {2}aptos +The base URL of the Aptos NFT API \(--aptos-url\) is not encrypted \(http:\/\/example\.com\)/m,
    );
    expect(wrongKey.stdout + wrongAddress.stdout).not.toContain(canary);
  });

  test('without a key checks the addresses all the same, and sends nothing', async () => {
    await using sandbox = await startSandbox();
    const { SLUICE_STREAMS_URL = '' } = settingsFor(sandbox);
    const env = { SLUICE_STREAMS_URL };
    const { code, stdout } = await sluice(['doctor', '--aptos-url', 'nowhere'], { env });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^warn {2}streams +\S+ was not checked, since there is no key$/m);
    expect(stdout).toMatch(/^fail {2}aptos +The base URL of the Aptos NFT API \(--aptos-url\) is not a URL/m);
    expect(sandbox.counts.requests).toBe(0);
  });

  test('a key that can not be sent fails', async () => {
    const { code, stdout } = await sluice(['doctor'], { env: { SLUICE_API_KEY: 'two words' } });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^fail {2}API key +The API key has a space/m);
    expect(stdout).not.toContain('two words');
  });

  test('--quiet shows only what fails', async () => {
    await using sandbox = await startSandbox();
    expect((await sluice(['doctor', '--quiet'], { env: settingsFor(sandbox) })).stdout).toBe('');
    const { stdout } = await sluice(['doctor', '--quiet', '--aptos-url', 'nowhere'], { env: settingsFor(sandbox) });
    expect(linesOf(stdout).map(([level]) => level)).toEqual(['fail']);
  });
});

test.each([
  ['20.19.0', 'ok'],
  ['22.0.0', 'ok'],
  ['20.18.3', 'fail'],
  ['18.20.0', 'fail'],
])('Node %s is %s', (version, level) => {
  expect(nodeFinding(version)).toMatchObject({ level });
});

test.each([
  [{}, 'ok', 'none is set'],
  [{ HTTPS_PROXY: 'http://me:secret@proxy.example.com:3128/x' }, 'ok', 'HTTPS_PROXY is http://proxy.example.com:3128'],
  [
    { https_proxy: 'http://a.example.com', HTTP_PROXY: 'http://b.example.com', NO_PROXY: '.internal' },
    'ok',
    'HTTPS_PROXY is http://a.example.com, HTTP_PROXY is http://b.example.com, but not for .internal',
  ],
  [{ NO_PROXY: '*' }, 'ok', 'none is set'],
  [
    { HTTP_PROXY: 'socks5://me:secret@proxy.example.com:1080' },
    'fail',
    'HTTP_PROXY is not the address of an HTTP proxy. Give one like http://proxy.example.com:3128, or unset it.',
  ],
  [
    { HTTPS_PROXY: 'proxy:me@secret' },
    'fail',
    'HTTPS_PROXY is not the address of an HTTP proxy. Give one like http://proxy.example.com:3128, or unset it.',
  ],
  [{ NODE_EXTRA_CA_CERTS: '/etc/ca.pem' }, 'ok', 'none is set, certificates from /etc/ca.pem'],
])('the proxy of %j', (variables, level, text) => {
  expect(proxyFinding(variables)).toEqual({ level, subject: 'proxy', text });
});
