import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer as createPlainServer } from 'node:http';
import { createServer } from 'node:https';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { canary, expectNoKey } from './canary.js';
import { startProxy } from './connectProxy.js';
import { runChild, type ChildOutcome } from './runChild.js';
import { portOf } from './scriptedServer.js';
import { createAdapter } from '../../src/http/adapter/nodeAdapter.js';
import { proxyFor } from '../../src/http/adapter/proxy.js';

const certificate = (name: string): string => fileURLToPath(new URL(`certificates/${name}`, import.meta.url));
const trusted = { NODE_EXTRA_CA_CERTS: certificate('authority.pem') };
// No name server knows it: whoever gets there has gone through the proxy.
const unknown = 'https://api.sluice.test';

let port: number;
let requests: IncomingHttpHeaders[];
/** Whether the server sends interim answers that nobody has asked for. */
let isEarly: boolean;

beforeEach(async () => {
  requests = [];
  isEarly = false;
  const server = createServer({
    key: readFileSync(certificate('server.key')),
    cert: readFileSync(certificate('server.pem')),
  });
  server.on('request', ({ headers }, response) => {
    requests.push(headers);
    if (isEarly) {
      response.writeContinue();
      response.writeProcessing();
    }
    response.end('{"fine":true}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = portOf(server.address());
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
});

/** One request of a process with this environment. */
async function ask(
  url: string,
  env: NodeJS.ProcessEnv,
  connectTimeout = 10_000,
): Promise<{ outcome: ChildOutcome; printed: unknown }> {
  const outcome = await runChild(new URL('./children/request.js', import.meta.url), {
    args: [url, String(connectTimeout)],
    env: { SLUICE_API_KEY: canary, ...env },
  });
  expect(outcome).toMatchObject({ code: 0, stderr: '' });
  expectNoKey(outcome.stdout);
  return { outcome, printed: JSON.parse(outcome.stdout) };
}

describe('in a company network', () => {
  test('T8 HTTPS_PROXY takes requests through a tunnel, in which nobody sees the key', async () => {
    const proxy = await startProxy(port);
    const { printed } = await ask(unknown, { HTTPS_PROXY: proxy.url, ...trusted });
    expect(printed).toEqual({ fine: true });
    expect(proxy.asked).toEqual([{ target: 'api.sluice.test:443', authorization: undefined }]);
    expect(requests).toMatchObject([{ host: 'api.sluice.test', 'x-api-key': canary }]);
    expect(proxy.bytes().includes('CONNECT api.sluice.test:443')).toBe(true);
    expectNoKey(proxy.bytes().toString('latin1'));
  });

  test('T8 the proxy gets the password of its address, and nobody else does', { tags: ['slow'] }, async () => {
    const proxy = await startProxy(port);
    const url = proxy.url.replace('//', '//me:pass%2Fword@');
    const { outcome } = await ask(unknown, { https_proxy: url, ...trusted });
    const authorization = `Basic ${Buffer.from('me:pass/word').toString('base64')}`;
    expect(proxy.asked).toEqual([{ target: 'api.sluice.test:443', authorization }]);
    expect(requests).toHaveLength(1);
    expect(JSON.stringify([requests, outcome])).not.toMatch(/pass|proxy-auth/i);
  });

  test('T8 NO_PROXY is respected', async () => {
    const proxy = await startProxy(port);
    const { printed } = await ask(unknown, { HTTPS_PROXY: proxy.url, NO_PROXY: 'localhost,.sluice.test', ...trusted });
    expect(printed).toMatchObject({
      code: 'network',
      details: { platformCode: expect.stringMatching(/ENOTFOUND|EAI_AGAIN/) },
    });
    expect(proxy.asked).toEqual([]);
  });

  test.each(['localhost', '127.0.0.1'])('T8 %s is never reached through a proxy', { tags: ['slow'] }, async (host) => {
    const proxy = await startProxy(port);
    const env = { HTTPS_PROXY: proxy.url, HTTP_PROXY: proxy.url, ...trusted };
    expect((await ask(`https://${host}:${String(port)}`, env)).printed).toEqual({ fine: true });
    expect(requests).toHaveLength(1);
    expect(proxy.asked).toEqual([]);
  });

  test(
    'T6 an interim answer that nobody asked for is passed over inside of TLS, and inside of a tunnel',
    { tags: ['slow'] },
    async () => {
      isEarly = true;
      const proxy = await startProxy(port);
      const env = { HTTPS_PROXY: proxy.url, ...trusted };
      expect((await ask(`https://localhost:${String(port)}`, env)).printed).toEqual({ fine: true });
      expect(proxy.asked).toEqual([]);
      expect((await ask(unknown, env)).printed).toEqual({ fine: true });
      expect(proxy.asked).toHaveLength(1);
    },
  );

  test(
    'T8 without NODE_EXTRA_CA_CERTS its certificate is not trusted, and the error says what to do',
    { tags: ['slow'] },
    async () => {
      const proxy = await startProxy(port);
      const { printed } = await ask(unknown, { HTTPS_PROXY: proxy.url });
      expect(printed).toMatchObject({ code: 'network', message: expect.stringContaining('NODE_EXTRA_CA_CERTS') });
      expect(proxy.asked).toHaveLength(1);
      expect(requests).toEqual([]);
    },
  );

  test('T8 a certificate for another name is refused', { tags: ['slow'] }, async () => {
    const proxy = await startProxy(port);
    const { printed } = await ask('https://other.sluice.test', { HTTPS_PROXY: proxy.url, ...trusted });
    expect(printed).toMatchObject({
      code: 'network',
      details: { platformCode: expect.stringMatching(/ALTNAME|SECURE/) },
    });
    expect(requests).toEqual([]);
  });

  test('T8 a proxy that refuses is named with its status', { tags: ['slow'] }, async () => {
    const proxy = await startProxy(port, 407);
    const { printed } = await ask(unknown, { HTTPS_PROXY: proxy.url, ...trusted });
    expect(printed).toMatchObject({
      code: 'network',
      message: expect.stringContaining('(the proxy responded with 407)'),
    });
  });

  test(
    'T8 a proxy that never opens its tunnel is found by the deadline for connecting',
    { tags: ['slow'] },
    async () => {
      const proxy = await startProxy(port, 0);
      const { printed } = await ask(unknown, { HTTPS_PROXY: proxy.url, ...trusted }, 500);
      expect(printed).toMatchObject({ code: 'timeout', details: { deadline: 'connect' } });
      expect(proxy.asked).toHaveLength(1);
    },
  );

  test('T8 a proxy that closes the connection is asked once an attempt, and named', { tags: ['slow'] }, async () => {
    const proxy = await startProxy(port, 'end');
    const { printed } = await ask(unknown, { HTTPS_PROXY: proxy.url, ...trusted });
    expect(printed).toMatchObject({
      code: 'network',
      message: expect.stringContaining('(the proxy closed the connection)'),
    });
    expect(proxy.asked).toHaveLength(1);
  });

  test.each(['not a proxy', 'http://me:pass@host:99999'])(
    'T8 a proxy address that is none (%s) is an error that does not repeat it',
    { tags: ['slow'] },
    async (url) => {
      const { outcome, printed } = await ask(unknown, { HTTPS_PROXY: url });
      expect(printed).toMatchObject({ code: 'config', message: expect.stringContaining('HTTPS_PROXY') });
      expect(outcome.stdout).not.toMatch(/pass|not a proxy/);
    },
  );
});

test('T1 requests with the same headers have each the host that they go to, through a proxy, too', async () => {
  const hosts: (string | undefined)[] = [];
  const server = createPlainServer(({ headers }, response) => {
    hosts.push(headers.host);
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy = await startProxy(portOf(server.address()));
  vi.stubEnv('HTTP_PROXY', proxy.url);
  const adapter = createAdapter({ connectTimeout: 5_000, maxBodyBytes: 1_000 });
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await adapter.close();
    server.closeAllConnections();
    server.close();
  });
  const headers = Object.freeze({ accept: 'application/json' });
  for (const host of ['first.example', 'second.example', 'first.example'])
    await adapter.send({ url: `http://${host}/items`, method: 'GET', headers });
  expect(hosts).toEqual(['first.example', 'second.example', 'first.example']);
});

describe('T8 NO_PROXY', () => {
  test.each([
    ['api.sluice.test', true],
    ['sluice.test', true],
    ['.sluice.test', true],
    ['*.sluice.test', true],
    ['API.Sluice.test', true],
    ['other.example  api.sluice.test', true],
    ['other.example,sluice.test:8443', true],
    ['*', true],
    ['', false],
    ['sluice.test:443', false],
    ['ice.test', false],
    ['other.sluice.test', false],
    [' , ', false],
  ])('with "%s" sends a request to api.sluice.test:8443 directly: %s', (list, isDirect) => {
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv('HTTPS_PROXY', 'http://proxy.example:3128');
    vi.stubEnv('NO_PROXY', list);
    expect(proxyFor(new URL('https://api.sluice.test:8443/'))?.host).toBe(isDirect ? undefined : 'proxy.example:3128');
  });

  test.each([
    ['2001:db8::1', true],
    ['[2001:db8::1]', true],
    ['[2001:db8::1]:8443', true],
    ['[2001:db8::1]:443', false],
    ['2001:db8::2', false],
  ])('with "%s" sends a request to [2001:db8::1]:8443 directly: %s', (list, isDirect) => {
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv('HTTPS_PROXY', 'http://proxy.example:3128');
    vi.stubEnv('NO_PROXY', list);
    expect(proxyFor(new URL('https://[2001:db8::1]:8443/'))?.host).toBe(isDirect ? undefined : 'proxy.example:3128');
  });

  test.each(['http://localhost:80/', 'http://127.0.0.1/', 'https://[::1]:8443/'])('need not have %s', (address) => {
    onTestFinished(() => void vi.unstubAllEnvs());
    for (const name of ['HTTP_PROXY', 'HTTPS_PROXY']) vi.stubEnv(name, 'http://proxy.example:3128');
    expect(proxyFor(new URL(address))).toBeUndefined();
  });

  test('is read where the variable in lower case is empty, and so is HTTPS_PROXY', () => {
    onTestFinished(() => void vi.unstubAllEnvs());
    for (const name of ['https_proxy', 'no_proxy']) vi.stubEnv(name, '');
    vi.stubEnv('HTTPS_PROXY', 'http://proxy.example:3128');
    vi.stubEnv('NO_PROXY', 'direct.example');
    expect(proxyFor(new URL('https://api.example/'))?.host).toBe('proxy.example:3128');
    expect(proxyFor(new URL('https://direct.example/'))).toBeUndefined();
  });

  test('and each scheme has its own proxy', () => {
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv('HTTPS_PROXY', 'http://proxy.example:3128');
    vi.stubEnv('http_proxy', 'https://plain.example');
    expect(proxyFor(new URL('https://api.sluice.test/'))?.host).toBe('proxy.example:3128');
    expect(proxyFor(new URL('http://api.sluice.test/'))?.host).toBe('plain.example');
  });
});
