import { describe, expect, test } from 'vitest';
import { addressOf, checkBaseUrl, isLoopback } from '../../src/http/origin.js';
import { ConfigError, createClient, type Link } from '../../src/index.js';
import type { TransportRequest } from '../../src/kit.js';
import { isRecord } from '../../src/values.js';
import { canary, expectNoKey } from './canary.js';
import { testApi } from './children/testApi.js';
import { ok, startServer } from './scriptedServer.js';

describe('a base URL', () => {
  test.each([
    ['https://api.example.com', 'https://api.example.com'],
    ['https://API.Example.com:443/v1/', 'https://api.example.com/v1'],
    ['https://api.example.com:8443/a/b//', 'https://api.example.com:8443/a/b'],
    ['http://localhost:3000', 'http://localhost:3000'],
    ['http://127.0.0.1:3000/x', 'http://127.0.0.1:3000/x'],
    ['http://127.1', 'http://127.0.0.1'],
    ['http://[::1]:3000', 'http://[::1]:3000'],
  ])('T1 %s is taken', (given, taken) => {
    expect(checkBaseUrl(given, { plugin: 'test', allowInsecure: false })).toBe(taken);
  });

  test.each([
    ['not a URL', 'api.example.com'],
    ['not a URL', ''],
    ['not a URL', 'https://'],
    ['not a URL', 'https://user:pass@host:99999'],
    ['must begin with https', 'localhost:3000'],
    ['must begin with https', 'ftp://api.example.com'],
    ['must begin with https', 'file:///etc/passwd'],
    ['must begin with https', 'javascript:alert(1)'],
    ['user name or password', 'https://user@api.example.com'],
    ['user name or password', 'https://user:pass@api.example.com'],
    ['user name or password', 'https://:pass@api.example.com'],
    ['query or fragment', 'https://api.example.com/?key=1'],
    ['query or fragment', 'https://api.example.com/#key'],
    ['not encrypted', 'http://api.example.com'],
    ['not encrypted', 'http://localhost.example.com'],
    ['not encrypted', 'http://api.localhost'],
    ['not encrypted', 'http://127.0.0.1.example.com'],
    ['not encrypted', 'http://192.168.0.1'],
    ['not encrypted', 'http://[::2]'],
    ['not encrypted', 'http://0.0.0.0'],
  ])('T1 is refused, since it is/has %s: %s', (why, given) => {
    expect(() => checkBaseUrl(given, { plugin: 'test', allowInsecure: false })).toThrow(ConfigError);
    expect(() => checkBaseUrl(given, { plugin: 'test', allowInsecure: false })).toThrow(why);
    expect(() => checkBaseUrl(given, { plugin: 'test', allowInsecure: false })).not.toThrow(/pass@|user[:@]/);
  });

  test('T1 with http: beyond this machine is taken if allowInsecure says so', () => {
    expect(checkBaseUrl('http://192.168.0.1', { plugin: 'test', allowInsecure: true })).toBe('http://192.168.0.1');
  });

  test('T2 that is the key by mistake, or holds it, is not repeated', () => {
    for (const baseUrl of [canary, `https://${canary}`, `https://api.example.com/${encodeURIComponent(canary)}`]) {
      const error = thrownBy(() => createClient({ apiKey: canary }).use(testApi(baseUrl)));
      expect(error).toBeInstanceOf(ConfigError);
      expectNoKey(error);
    }
  });
});

describe('the address of a request', () => {
  test.each([
    ['https://api.example.com', '/things', 'https://api.example.com/things'],
    ['https://api.example.com/v1', '/things', 'https://api.example.com/v1/things'],
    ['https://api.example.com/v1', '/things/0x%2Fa;b=c', 'https://api.example.com/v1/things/0x%2Fa;b=c'],
    ['https://api.example.com/v1', '/', 'https://api.example.com/v1/'],
    ['https://api.example.com/v1', '/a//b', 'https://api.example.com/v1/a//b'],
    ['https://api.example.com/v1', '/..a/b../...', 'https://api.example.com/v1/..a/b../...'],
    ['https://api.example.com/v1', '/a%20b/c%3fd/%2520', 'https://api.example.com/v1/a%20b/c%3fd/%2520'],
    ['https://api.example.com/v1', '/..%26a/..%c3%a9', 'https://api.example.com/v1/..%26a/..%c3%a9'],
  ])('T1 lies below %s: %s', (baseUrl, path, address) => {
    expect(addressOf(baseUrl, path).href).toBe(address);
  });

  test.each([
    'https://evil.example/',
    'http://evil.example/',
    '//evil.example/',
    '///evil.example/',
    '/\\evil.example/',
    '\\\\evil.example/',
    '\\evil.example',
    '@evil.example/',
    ':pass@evil.example/',
    '.evil.example/',
    ':8443/',
    'things',
    '',
    '?a=1',
    '#a',
    '/..',
    '/../admin',
    '/a/../../admin',
    '/a/..',
    '/./a',
    '/%2e%2e/admin',
    '/.%2E/admin',
    '/a/%2e%2e%2fadmin',
    '/..%2fadmin',
    '/..%5cadmin',
    '/a/..%252f..%252fadmin',
    '/a/%25252e%25252e/admin',
    '/a/..;/admin',
    '/a/%2e%2e%3bx=1/admin',
    '/..%23/admin',
    '/a/.%2e%23x/admin',
    '/..%3f/admin',
    '/..%253fx=1/admin',
    '/..%00/admin',
    '/..%00.json',
    '/..%2500/admin',
    '/..%20/admin',
    '/..%09/admin',
    '/%20..%0a/admin',
    '/..%0d%0a',
    '/%c0%ae%c0%ae/admin',
    '/%C0%AE./admin',
    '/%c0%2e%c0%2e/admin',
    '/%25c0%25ae%25c0%25ae/admin',
    '/%e0%80%ae%e0%80%ae/admin',
    '/%f0%80%80%ae%f0%80%80%ae/admin',
    '/%fc%80%80%80%80%ae./admin',
    '/..%c0%afadmin',
    '/..%c1%9cadmin',
    '/a%e0%80%af..%e0%81%9cadmin',
    '/%u002e%u002e/admin',
    '/%uff0e%uff0e/admin',
    '/..%u2216/..%u005cadmin',
    '/%ef%bc%8e%ef%bc%8e/admin',
    '/..%ef%bc%8fadmin',
    '/%e2%80%a5/admin',
    '/a\\..\\admin',
    '/a\\b',
    '/things?key=1',
    '/things#a',
    '/a b',
    '/\t/evil.example',
    '\n//evil.example',
    '/ä',
  ])('T1 is refused for the path %j', (path) => {
    for (const baseUrl of ['https://api.example.com', 'https://api.example.com/v1']) {
      expect(() => addressOf(baseUrl, path)).toThrow(ConfigError);
    }
  });
});

test.each([
  ['localhost', true],
  ['127.0.0.1', true],
  ['127.255.255.254', true],
  ['[::1]', true],
  ['localhost.', false],
  ['a.localhost', false],
  ['128.0.0.1', false],
  ['127.0.0.1.example', false],
])('T1 the host %s is this machine: %s', (hostname, expected) => {
  expect(isLoopback(hostname)).toBe(expected);
});

describe('the key', () => {
  test('T1 travels in X-API-Key, and is attached below links and events', async () => {
    const server = await startServer(ok());
    const seen: unknown[] = [];
    const watching: Link = (next) => async (request) => {
      seen.push(request);
      const response = await next(request);
      seen.push(response);
      return response;
    };
    const client = createClient({ apiKey: canary, rateLimit: false, links: [watching] }).use(testApi(server.url));
    client.events.subscribe((event) => seen.push(event));
    await client.api.request({ route: 'test.route', path: '/things', query: { a: 1 } });
    await client.close();

    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]?.headers['x-api-key']).toBe(canary);
    expectNoKey(server.requests[0]?.url, { ...server.requests[0]?.headers, 'x-api-key': 'as it should be' });
    // Limiters are reported as often as the clock allows.
    expect(seen.filter((each) => !(isRecord(each) && each['type'] === 'limiter'))).toHaveLength(7);
    expectNoKey(...seen, client, client.api, client.events);
  });

  test('T1 can not be replaced or dropped by a link', async () => {
    const server = await startServer(ok());
    const meddling: Link = (next) => (request) =>
      next({ ...request, headers: { 'X-API-Key': 'other', 'x-api-key': 'another', 'X-Trace': '1' } });
    const client = createClient({ apiKey: canary, rateLimit: false, links: [meddling] }).use(testApi(server.url));
    await client.api.request({ route: 'test.route', path: '/things', query: {} });
    await client.close();
    expect(server.requests[0]?.headers).toMatchObject({ 'x-api-key': canary, 'x-trace': '1' });
  });

  test.each<[string, Partial<TransportRequest> | ((url: string) => Partial<TransportRequest>)]>([
    ['another origin', { baseUrl: 'https://evil.example' }],
    ['another port', { baseUrl: 'http://127.0.0.1:1' }],
    ['a path that leaves the base URL', { path: '/../admin' }],
    ['an absolute path', { path: 'https://evil.example/' }],
    ['a path of a host', { path: '//evil.example/' }],
    ['a base URL that climbs with %2f', (url) => ({ baseUrl: `${url}/v1/..%2fadmin` })],
    ['a base URL that climbs with %5c', (url) => ({ baseUrl: `${url}/v1/a/..%5c..%5c..%5cadmin` })],
    ['a base URL that climbs with %2e%2e%2f', (url) => ({ baseUrl: `${url}/v1/%2e%2e%2f%2e%2e%2fadmin` })],
    ['a base URL that climbs with a backslash', (url) => ({ baseUrl: `${url}/v1\\..\\admin` })],
    ['another Host', { headers: { host: 'evil.example' } }],
    ['another Host, in upper case', { headers: { HOST: 'evil.example' } }],
    ['a body of another length', { headers: { 'Transfer-Encoding': 'chunked' } }],
  ])('T1 goes nowhere if a link turns its request to %s', async (_where, change) => {
    const server = await startServer(ok());
    const turned = typeof change === 'function' ? change(server.url) : change;
    const client = createClient({
      apiKey: canary,
      rateLimit: false,
      links: [(next) => (request) => next({ ...request, ...turned })],
    }).use(testApi(`${server.url}/v1`));
    const error: unknown = await client.api
      .request({ route: 'test.route', path: '/things', query: {} })
      .catch((reason: unknown) => reason);
    await client.close();
    expect(error).toBeInstanceOf(ConfigError);
    expect(server.connections).toBe(0);
  });

  test.each<[string, Partial<TransportRequest>]>([
    ['another origin', { baseUrl: 'https://evil.example' }],
    ['an absolute path', { path: 'https://evil.example/' }],
  ])('T1 goes nowhere if a link turns its second request to %s', async (_where, change) => {
    const server = await startServer(ok('first'));
    let isTurned = false;
    const link: Link = (next) => (request) => next({ ...request, ...(isTurned && change) });
    const client = createClient({ apiKey: canary, rateLimit: false, links: [link] }).use(testApi(server.url));
    const ask = (): Promise<unknown> => client.api.request({ route: 'test.route', path: '/things', query: {} });
    expect(await ask()).toBe('first');
    isTurned = true;
    await expect(ask()).rejects.toBeInstanceOf(ConfigError);
    isTurned = false;
    expect(await ask()).toBe('first');
    await client.close();
    expect(server.requests).toHaveLength(2);
  });

  test('T1 may follow a link to and fro between base URLs of the same client', async () => {
    const first = await startServer(ok('first'));
    const second = await startServer(ok('second'));
    let isTurned = false;
    const client = createClient({
      apiKey: canary,
      rateLimit: false,
      links: [(next) => (request) => next({ ...request, ...(isTurned && { baseUrl: second.url }) })],
    })
      .use(testApi(first.url))
      .use({ name: 'other', setup: ({ endpoint }) => endpoint(second.url) });
    const answers: unknown[] = [];
    for (const turned of [false, true, true, false]) {
      isTurned = turned;
      answers.push(await client.api.request({ route: 'test.route', path: '/things', query: {} }));
    }
    await client.close();
    expect(answers).toEqual(['first', 'second', 'second', 'first']);
  });

  test('T1 may follow a link to another base URL of the same client', async () => {
    const first = await startServer(ok('first'));
    const second = await startServer(ok('second'));
    const client = createClient({
      apiKey: canary,
      rateLimit: false,
      links: [(next) => (request) => next({ ...request, baseUrl: second.url })],
    })
      .use(testApi(first.url))
      .use({ name: 'other', setup: ({ endpoint }) => endpoint(second.url) });
    expect(await client.api.request({ route: 'test.route', path: '/things', query: {} })).toBe('second');
    await client.close();
    expect(first.connections).toBe(0);
  });
});

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return undefined;
}
