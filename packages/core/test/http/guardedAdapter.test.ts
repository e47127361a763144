import { getEventListeners, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, setDefaultAutoSelectFamily, Socket, type Server } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi, type MockInstance } from 'vitest';
import { AdapterFault, type AddressGuard, type ResolvedAddress } from '../../src/http/adapter/adapter.js';
import { createAdapter as createFetchAdapter } from '../../src/http/adapter/fetchAdapter.js';
import { createAdapter } from '../../src/http/adapter/nodeAdapter.js';
import { ConfigError, ForbiddenAddressError } from '../../src/index.js';
import { addressGuard } from '../../src/node/index.js';
import { startProxy } from './connectProxy.js';
import { runChild } from './runChild.js';
import { answer, ok, portOf, startServer } from './scriptedServer.js';

/** Every connection of this process, plain or encrypted, begins here. */
let connects: MockInstance<Socket['connect']>;

beforeEach(() => {
  connects = vi.spyOn(Socket.prototype, 'connect');
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** What a name leads to, the nth time it is asked for; the last answer stays. */
type Answers = Readonly<Record<string, readonly (readonly string[])[]>>;

interface OpenGuarded {
  readonly get: (url: string, signal?: AbortSignal) => Promise<number>;
  /** The names that were looked up. */
  readonly looked: readonly string[];
}

function openGuarded(answers: Answers, allow: readonly string[] = [], connectTimeout = 10_000): OpenGuarded {
  const looked: string[] = [];
  const guard = addressGuard({
    allow,
    resolve: async (hostname) => {
      looked.push(hostname);
      const times = looked.filter((name) => name === hostname).length;
      const found = answers[hostname]?.[times - 1] ?? answers[hostname]?.at(-1) ?? [];
      return found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    },
  });
  return { ...openWith(guard, connectTimeout), looked };
}

function openWith(guard: AddressGuard, connectTimeout = 10_000): Omit<OpenGuarded, 'looked'> {
  const adapter = createAdapter({ connectTimeout, maxBodyBytes: 1_000, guard });
  onTestFinished(() => adapter.close());
  return {
    get: async (url, signal) => {
      const { status } = await adapter.send({ url, method: 'GET', headers: {}, ...(signal && { signal }) });
      return status;
    },
  };
}

function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error('It succeeded.');
    },
    (error: unknown) => error,
  );
}

/** The addresses that were connected to. */
const hosts = (): readonly unknown[] => connects.mock.calls.map(([options]) => Object([options].flat()[0]).host);

/** Once round. */
const eventLoop = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve));

const local = '127.0.0.0/8';
const loopback: ResolvedAddress = { address: '127.0.0.1', family: 4 };

describe('W8 refused without a single connection', () => {
  beforeEach(() => {
    // Should one be made after all, it gets nowhere.
    connects.mockImplementation(function connect(this: Socket) {
      return this;
    });
  });

  const literals = [
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '0x7f000001',
    '0177.0.0.1',
    '127.1',
    '127.0.0.1.',
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '0.0.0.0',
    '0.1.2.3',
    '0',
    '[::]',
    '[2002:7f00:1::]',
    '[2002:a9fe:a9fe::1]',
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b::a9fe:a9fe]',
    '[64:ff9b:1::7f00:1]',
    '[2001:0:4136:e378:8000:63bf:3fff:fdd2]',
    '169.254.169.254',
    '168.63.129.16',
    '100.100.100.200',
    '10.0.0.8',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '[fe80::1]',
    '[fc00::1]',
    '[fd00:ec2::254]',
    '[ff02::1]',
  ];

  test.each(literals.flatMap((host) => [`http://${host}/`, `https://${host}:8443/`]))('%s', async (url) => {
    const { get, looked } = openGuarded({});
    expect(await failureOf(get(url))).toBeInstanceOf(ForbiddenAddressError);
    expect(looked).toEqual([]);
    expect(connects).not.toHaveBeenCalled();
  });

  const good = '93.184.216.34';
  test.each([
    ['localhost', ['127.0.0.1']],
    ['localhost.', ['::1', '127.0.0.1']],
    ['metadata.google.internal', ['169.254.169.254']],
    ['metadata.google.internal.', ['169.254.169.254']],
    ['hooks.example.com', ['10.0.0.8']],
    ['hooks.example.com', ['10.0.0.8', good]],
    ['hooks.example.com', [good, '10.0.0.8']],
    ['hooks.example.com', [good, '2606:4700::1111', good, '::1', '2606:4700::1112']],
    ['hooks.example.com', [good, '::ffff:10.0.0.8']],
    ['hooks.example.com', ['fe80::1%lo']],
    ['hooks.example.com', ['127.1']],
    ['hooks.example.com', ['hooks.internal']],
  ])('%s, which leads to %j', async (host, addresses) => {
    const { get, looked } = openGuarded({ [host]: [addresses] });
    expect(await failureOf(get(`https://${host}/`))).toBeInstanceOf(ForbiddenAddressError);
    expect(looked).toEqual([host]);
    expect(connects).not.toHaveBeenCalled();
  });

  test('a public address without https, also beside one that is allowed', async () => {
    const { get } = openGuarded({ 'hooks.example.com': [['10.0.0.8', good]] }, ['10.0.0.0/8']);
    expect(await failureOf(get('http://hooks.example.com/'))).toMatchObject({
      code: 'forbidden-address',
      message: expect.stringContaining(`resolves to a public address (${good})`),
    });
    expect(connects).not.toHaveBeenCalled();
  });

  test('but what is not refused would connect', { tags: ['slow'] }, async () => {
    const { get } = openGuarded({ 'hooks.example.com': [[good]] }, [], 50);
    await failureOf(get('https://hooks.example.com/'));
    await failureOf(get(`https://${good}/`));
    expect(connects).toHaveBeenCalledTimes(2);
  });
});

describe('W8 what is allowed is connected to', () => {
  test('by an address in the URL, which is not looked up', async () => {
    const server = await startServer(ok());
    const { get, looked } = openGuarded({}, ['127.0.0.1']);
    expect(await get(server.url)).toBe(200);
    expect(looked).toEqual([]);
    expect(hosts()).toEqual(['127.0.0.1']);
  });

  test('by a name, which is looked up once for all requests of a connection', async () => {
    const server = await startServer(ok());
    const url = server.url.replace('127.0.0.1', 'hooks.sluice.test');
    const { get, looked } = openGuarded({ 'hooks.sluice.test': [['127.0.0.1']] }, ['hooks.sluice.test']);
    for (let request = 0; request < 5; request++) expect(await get(url)).toBe(200);
    expect(looked).toEqual(['hooks.sluice.test']);
    expect(connects).toHaveBeenCalledTimes(1);
    expect(server.requests.map(({ headers }) => headers.host)).toEqual(Array(5).fill(new URL(url).host));
  });

  test('at the address that was checked, even if its answer says something else when it is read again', async () => {
    const server = await startServer(ok());
    let reads = 0;
    const shifty = {
      family: 4 as const,
      get address() {
        reads += 1;
        return reads === 1 ? '127.0.0.1' : '127.0.0.2';
      },
    };
    const guard = addressGuard({ allow: ['127.0.0.1'], resolve: async () => [shifty] });
    expect(await openWith(guard).get(server.url.replace('127.0.0.1', 'hooks.sluice.test'))).toBe(200);
    expect(reads).toBe(1);
  });

  test('at the next of its addresses, if one does not answer', async () => {
    const server = await startServer(ok());
    const { get } = openGuarded({ 'hooks.sluice.test': [['127.0.0.2', '127.0.0.1']] }, [local]);
    expect(await get(server.url.replace('127.0.0.1', 'hooks.sluice.test'))).toBe(200);
  });

  test('without a choice of families too', async () => {
    const server = await startServer(ok());
    const { get } = openGuarded({ 'hooks.sluice.test': [['127.0.0.1']] }, [local]);
    setDefaultAutoSelectFamily(false);
    onTestFinished(() => setDefaultAutoSelectFamily(true));
    expect(await get(server.url.replace('127.0.0.1', 'hooks.sluice.test'))).toBe(200);
  });
});

describe('W8 a name that leads elsewhere the second time', () => {
  const answers = { 'hooks.sluice.test': [['127.0.0.1'], ['10.0.0.8']] };

  test('is refused at the second connection', async () => {
    const server = await startServer(answer(200, '{}', { connection: 'close' }));
    const url = server.url.replace('127.0.0.1', 'hooks.sluice.test');
    const { get } = openGuarded(answers, ['127.0.0.1/32']);
    expect(await get(url)).toBe(200);
    await server.until(() => server.connections === 0);
    expect(await failureOf(get(url))).toBeInstanceOf(ForbiddenAddressError);
    expect(connects).toHaveBeenCalledTimes(1);
    expect(server.requests).toHaveLength(1);
  });

  test('is reached over the connection that there is', async () => {
    const server = await startServer(ok());
    const url = server.url.replace('127.0.0.1', 'hooks.sluice.test');
    const { get, looked } = openGuarded(answers, ['127.0.0.1/32']);
    expect(await get(url)).toBe(200);
    expect(await get(url)).toBe(200);
    expect(looked).toHaveLength(1);
    expect(connects).toHaveBeenCalledTimes(1);
  });
});

test('W8 a redirect to a forbidden address is an answer, and is not followed', async () => {
  const server = await startServer(answer(302, '', { location: 'http://169.254.169.254/latest/meta-data/' }));
  const { get } = openGuarded({}, [local]);
  expect(await get(server.url)).toBe(302);
  expect(hosts()).toEqual(['127.0.0.1']);
});

describe('a name that can not be looked up', () => {
  const url = 'https://hooks.sluice.test/';
  const failing = (error: unknown): OpenGuarded['get'] =>
    openWith({ ...addressGuard(), resolve: () => Promise.reject(error) }).get;

  test('is a network fault with the word of the platform', async () => {
    const fault = await failureOf(failing(Object.assign(new Error('no'), { code: 'EAI_AGAIN' }))(url));
    expect(fault).toBeInstanceOf(AdapterFault);
    expect(fault).toMatchObject({ kind: 'network', platformCode: 'EAI_AGAIN' });
  });

  test.each([
    new Error('no'),
    'a text',
    null,
    Object.assign(new Error('no'), { code: 'UND_ERR_INFO' }),
    Object.assign(new Error('no'), { code: 'UND_ERR_SOCKET' }),
    Object.assign(new Error('no'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }),
  ])('is a network fault whatever its error is: %s', async (error) => {
    expect(await failureOf(failing(error)(url))).toMatchObject({ kind: 'network' });
  });

  test('is a network fault if its guard is broken', async () => {
    const check = (): never => {
      throw Object.assign(new Error('no'), { code: 'UND_ERR_INFO' });
    };
    const { get } = openWith({ check, resolve: async () => [loopback] });
    expect(await failureOf(get(url))).toMatchObject({ kind: 'network' });
  });

  test('is a network fault if it leads nowhere', async () => {
    const { get } = openGuarded({ 'hooks.sluice.test': [[]] });
    expect(await failureOf(get(url))).toMatchObject({ kind: 'network', platformCode: 'ENODATA' });
  });

  test('gives out an error of ours as it is', async () => {
    const error = new ForbiddenAddressError('Not this one.');
    expect(await failureOf(failing(error)(url))).toBe(error);
  });
});

describe('a lookup that takes long', () => {
  const late = (): { guard: AddressGuard; reply: () => void } => {
    const replies: (() => void)[] = [];
    const resolve = (): Promise<readonly ResolvedAddress[]> =>
      new Promise((done) => replies.push(() => done([loopback])));
    return { guard: addressGuard({ allow: [local], resolve }), reply: () => replies.forEach((reply) => reply()) };
  };
  test('is ended by the deadline for connecting', async () => {
    const { get } = openWith(late().guard, 50);
    expect(await failureOf(get('https://hooks.sluice.test/'))).toMatchObject({ kind: 'connect-timeout' });
  });

  test('leaves the connection what is left of its deadline', async () => {
    // It takes connections and is silent ever after.
    const server = await listening(createServer());
    const connected = once(server, 'connection');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { guard, reply } = late();
    const { get } = openWith(guard, 3_600_000);
    const outcome = failureOf(get(`https://hooks.sluice.test:${String(portOf(server.address()))}/`));
    await eventLoop();
    vi.advanceTimersByTime(3_599_990);
    reply();
    await connected;
    vi.advanceTimersByTime(10);
    expect(await outcome).toMatchObject({ kind: 'connect-timeout' });
  });

  test.each([Infinity, 3_000_000_000])('has no deadline of its own (for connecting: %d ms)', async (connectTimeout) => {
    const server = await startServer(ok());
    const { guard, reply } = late();
    const { get } = openWith(guard, connectTimeout);
    const status = get(server.url.replace('127.0.0.1', 'hooks.sluice.test'));
    await setTimeout(20);
    reply();
    expect(await status).toBe(200);
  });

  test('leaves the connection no deadline if there was none', { tags: ['slow'] }, async () => {
    const server = await listening(createServer());
    const { get } = openWith(addressGuard({ allow: [local], resolve: async () => [loopback] }), Infinity);
    const outcome = failureOf(get(`https://hooks.sluice.test:${String(portOf(server.address()))}/`));
    expect(await Promise.race([outcome, setTimeout(1_500, 'still connecting')])).toBe('still connecting');
  });

  test('is dropped when its request is aborted, at once and without a connection afterwards', async () => {
    const server = await startServer(ok());
    const { guard, reply } = late();
    const { get } = openWith(guard);
    const controller = new AbortController();
    const outcome = failureOf(get(server.url.replace('127.0.0.1', 'hooks.sluice.test'), controller.signal));
    await eventLoop();
    controller.abort('enough');
    expect(await Promise.race([outcome, eventLoop()])).toBe('enough');
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    reply();
    for (let round = 0; round < 5; round++) await eventLoop();
    expect(connects).not.toHaveBeenCalled();
    const again = get(server.url.replace('127.0.0.1', 'hooks.sluice.test'));
    await eventLoop();
    reply();
    expect(await again).toBe(200);
  });

  test('goes on for the others when one of its requests is aborted', async () => {
    const server = await startServer(ok());
    const { guard, reply } = late();
    const { get } = openWith(guard);
    const controller = new AbortController();
    const url = server.url.replace('127.0.0.1', 'hooks.sluice.test');
    const outcome = failureOf(get(url, controller.signal));
    const other = get(url);
    await eventLoop();
    controller.abort();
    await outcome;
    reply();
    expect(await other).toBe(200);
  });

  test('is dropped when the adapter closes', async () => {
    const { guard, reply } = late();
    const adapter = createAdapter({ connectTimeout: 3_600_000, maxBodyBytes: 1_000, guard });
    const outcome = failureOf(adapter.send({ url: 'https://hooks.sluice.test/', method: 'GET', headers: {} }));
    await eventLoop();
    await adapter.close();
    expect(await outcome).toBeInstanceOf(AdapterFault);
    reply();
    for (let round = 0; round < 5; round++) await eventLoop();
    expect(connects).not.toHaveBeenCalled();
  });

  test('keeps no process alive whose request is aborted', { tags: ['slow'] }, async () => {
    expect(await ask('hanging', 'https://hooks.sluice.test/')).toBe('enough');
  });
});

describe('over https', () => {
  const certificate = (name: string): string => fileURLToPath(new URL(`certificates/${name}`, import.meta.url));
  const trusted = { NODE_EXTRA_CA_CERTS: certificate('authority.pem') };
  let port: number;
  let seen: { readonly host: string | undefined; readonly servername: unknown }[];

  beforeEach(async () => {
    seen = [];
    const server = createHttpsServer({
      key: readFileSync(certificate('server.key')),
      cert: readFileSync(certificate('server.pem')),
    });
    server.on('request', ({ headers, socket }, response) => {
      seen.push({ host: headers.host, servername: 'servername' in socket ? socket.servername : undefined });
      response.end('{}');
    });
    port = portOf((await listening(server)).address());
  });

  test('W8 the certificate is asked for and checked by the name, not by the address', { tags: ['slow'] }, async () => {
    const url = `https://api.sluice.test:${String(port)}/`;
    expect(await ask('guarded', url, trusted)).toEqual({ status: 200, looked: ['api.sluice.test'] });
    expect(seen).toEqual([{ host: new URL(url).host, servername: 'api.sluice.test' }]);
    expect(await ask('guarded', url.replace('api', 'other'), trusted)).toEqual({
      kind: 'network',
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
  });

  test('W8 a guard uses no proxy, whatever the environment says', async () => {
    const proxy = await startProxy(port);
    const env = { HTTPS_PROXY: proxy.url, https_proxy: proxy.url, ALL_PROXY: proxy.url, ...trusted };
    const url = `https://api.sluice.test:${String(port)}/`;
    expect(await ask('guarded', url, env)).toMatchObject({ status: 200 });
    expect(proxy.asked).toEqual([]);
  });

  test('W8 without proxies the environment is not asked, guard or not', async () => {
    const proxy = await startProxy(port);
    const env = { HTTPS_PROXY: proxy.url, HTTP_PROXY: proxy.url, ...trusted };
    const url = `https://api.sluice.test:${String(port)}/`;
    expect(await ask('direct', url, env)).toMatchObject({ code: expect.stringMatching(/ENOTFOUND|EAI_AGAIN/) });
    expect(proxy.asked).toEqual([]);
    // It is there, and used by default.
    expect(await ask('proxied', url, env)).toMatchObject({ status: 200 });
    expect(proxy.asked).toHaveLength(1);
  });
});

test('W8 where addresses can not be seen, a guard is refused rather than ignored', () => {
  const guard = addressGuard();
  expect(() => createFetchAdapter({ connectTimeout: 1_000, maxBodyBytes: 1_000, guard })).toThrow(ConfigError);
  expect(() => createFetchAdapter({ connectTimeout: 1_000, maxBodyBytes: 1_000, guard })).toThrow(/Run it in Node\.js/);
});

/** One request of a process of its own; its names lead to 127.0.0.1. */
async function ask(mode: string, url: string, env: NodeJS.ProcessEnv = {}): Promise<unknown> {
  const outcome = await runChild(new URL('./children/guardedRequest.js', import.meta.url), { args: [mode, url], env });
  expect(outcome).toMatchObject({ code: 0, stderr: '' });
  return JSON.parse(outcome.stdout);
}

async function listening<S extends Server>(server: S): Promise<S> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return server;
}
