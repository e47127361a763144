import { readFileSync } from 'node:fs';
import { createServer as createPlainServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, createServer as createTcpServer, type Socket } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { createAdapter as createFetchAdapter } from '../../src/http/adapter/fetchAdapter.js';
import type { Limiter } from '../../src/http/limit/limiterTypes.js';
import { unlimited } from '../../src/http/limit/localLimiter.js';
import { openTransport } from './openTransport.js';
import { runChild } from './runChild.js';
import { begun, hangUp, never, ok, portOf, startServer } from './scriptedServer.js';

const certificate = (name: string): string => fileURLToPath(new URL(`certificates/${name}`, import.meta.url));

/** The limit of the child that makes the bursts. */
const limit = { requests: 5, per: 400 };
const burst = 6;

interface StampingServer {
  readonly url: string;
  /** When each request arrived, in ms. */
  readonly arrivals: readonly number[];
  /** The longest time in ms for which this process may have noticed an arrival late. */
  readonly longestStall: () => number;
}

/** A server that stamps arrivals. Its connections take `handshake` ms to open, and are closed after each burst. */
async function startStamping({
  isEncrypted,
  handshake,
}: {
  isEncrypted: boolean;
  handshake: number;
}): Promise<StampingServer> {
  const arrivals: number[] = [];
  const onRequest: RequestListener = (_request, response) => {
    arrivals.push(performance.now());
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}', () => {
      if (arrivals.length % burst === 0) server.closeAllConnections();
    });
  };
  const server: Server = isEncrypted
    ? createTlsServer(
        { key: readFileSync(certificate('server.key')), cert: readFileSync(certificate('server.pem')) },
        onRequest,
      )
    : createPlainServer(onRequest);
  const inner = await listen(server);
  const sockets = new Set<Socket>();
  const outer = createTcpServer((socket) => {
    const behind = connect(inner, '127.0.0.1');
    for (const each of [socket, behind]) sockets.add(each.on('error', () => undefined));
    setTimeout(() => socket.pipe(behind).pipe(socket), handshake);
  });
  const port = await listen(outer);
  const stalls = monitorEventLoopDelay({ resolution: 1 });
  stalls.enable();
  onTestEnd(() => {
    stalls.disable();
    for (const socket of sockets) socket.destroy();
    server.close();
    outer.close();
  });
  const url = `${isEncrypted ? 'https' : 'http'}://127.0.0.1:${port}`;
  return { url, arrivals, longestStall: () => stalls.max / 1e6 };
}

async function listen(server: Server | ReturnType<typeof createTcpServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return portOf(server.address());
}

describe('L1 a strict server', () => {
  test.each([
    ['TLS takes 150 ms', { isEncrypted: true, handshake: 150 }, 0],
    ['a process is busy for 150 ms', { isEncrypted: false, handshake: 0 }, 150],
    ['a process is busy while TLS takes 100 ms', { isEncrypted: true, handshake: 100 }, 80],
  ])(
    'never gets more than the limit of a window, although %s before a write',
    { tags: ['slow'] },
    async (_what, how, stall) => {
      const server = await startStamping(how);
      const outcome = await runChild(new URL('./children/bursts.js', import.meta.url), {
        args: [server.url, String(stall)],
        env: { NODE_EXTRA_CA_CERTS: certificate('authority.pem') },
      });
      expect(outcome).toMatchObject({ code: 0, stderr: '' });
      const { arrivals } = server;
      expect(arrivals).toHaveLength(3 * burst);
      const closest = Math.min(...arrivals.slice(limit.requests).map((at, nth) => at - (arrivals[nth] ?? 0)));
      // An arrival that was noticed late seems closer to the next ones.
      expect(closest).toBeGreaterThanOrEqual(limit.per - server.longestStall());
    },
  );
});

/** A limiter that notes what is said of its permits. */
function noting(
  said: string[],
  started: () => boolean = () => true,
): (clock: Parameters<typeof unlimited>[0]) => Limiter {
  return (clock) => {
    const inner = unlimited(clock);
    const acquire: Limiter['acquire'] = async (request) => {
      const permit = await inner.acquire(request);
      return {
        started: () => {
          const mayStart = started();
          said.push(mayStart ? 'started' : 'too old');
          return mayStart;
        },
        release: (use) => {
          permit.release();
          said.push(use ?? 'released');
        },
      };
    };
    return Object.defineProperty({ ...inner, acquire }, 'state', { get: () => inner.state });
  };
}

/** A port at which nobody listens. */
async function closedPort(): Promise<string> {
  const server = createTcpServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

describe('L1 a permit', () => {
  test.each<[string, () => Promise<string>, readonly string[]]>([
    [
      'of an answered request counts when that is written',
      async () => (await startServer(ok())).url,
      ['started', 'released'],
    ],
    ['of a refused connection is given back', closedPort, ['unwritten']],
    [
      'counts if the server hangs up after the request',
      async () => (await startServer(hangUp)).url,
      ['started', 'released'],
    ],
    [
      'counts if the response breaks off',
      async () => (await startServer(begun('{"a":', { 'content-length': 9 }, hangUp))).url,
      ['started', 'released'],
    ],
  ])('%s', async (_what, open, expected) => {
    const said: string[] = [];
    const transport = openTransport(await open(), { limiter: noting(said), retry: { retries: 0 } });
    await transport.get().catch(() => undefined);
    expect(said).toEqual(expected);
  });

  test('is given back by a request that is aborted before its connection is open, and counts after it', async () => {
    const silent = createTcpServer(() => undefined);
    const server = await startServer(never);
    const port = await listen(silent);
    onTestEnd(() => void silent.close());
    const said: string[] = [];
    for (const url of [`https://127.0.0.1:${port}`, server.url]) {
      const stop = new AbortController();
      const transport = openTransport(url, { limiter: noting(said) });
      const request = transport.get({ signal: stop.signal });
      if (url === server.url) await server.until(() => server.requests.length === 1);
      else await new Promise((resolve) => silent.once('connection', resolve));
      stop.abort(new Error('not wanted'));
      await expect(request).rejects.toThrow('not wanted');
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(said).toEqual(['unwritten', 'started', 'released']);
  });

  test('counts again for a request that is sent again, since the server had closed the idle connection', async () => {
    const server = await startServer(ok(), hangUp, ok());
    const said: string[] = [];
    const transport = openTransport(server.url, { limiter: noting(said) });
    await transport.get();
    await transport.get();
    expect(said).toEqual(['started', 'released', 'started', 'released', 'started', 'released']);
  });

  test('that is too old when its request could be written is replaced, and the open connection is kept', async () => {
    const server = await startServer(ok());
    const said: string[] = [];
    let old = 3;
    const transport = openTransport(server.url, { limiter: noting(said, () => (old -= 1) < 0) });
    expect(await transport.get()).toMatchObject({ attempts: 1 });
    expect(said).toEqual([...Array.from({ length: 3 }, () => ['too old', 'unwritten']).flat(), 'started', 'released']);
    expect(server.requests).toHaveLength(1);
    expect(server.connections).toBe(1);
  });

  test('that is too old is replaced on a connection that was open already, too', async () => {
    const server = await startServer(ok());
    const said: string[] = [];
    let permits = 0;
    const transport = openTransport(server.url, { limiter: noting(said, () => (permits += 1) !== 2) });
    await transport.get();
    await transport.get();
    expect(said).toEqual(['started', 'released', 'too old', 'unwritten', 'started', 'released']);
    expect(server.requests).toHaveLength(2);
  });

  test('that a pause outdates is replaced however often', async () => {
    const server = await startServer(ok());
    let pauses = 12;
    const limiter = (clock: Parameters<typeof unlimited>[0]): Limiter => {
      const inner = unlimited(clock);
      const started = (): boolean => (pauses -= 1) < 0;
      return {
        get state() {
          return { ...inner.state, pausedFor: pauses >= 0 ? 1 : 0 };
        },
        pause: (ms) => inner.pause(ms),
        acquire: async (request) => ({ ...(await inner.acquire(request)), started }),
      };
    };
    expect(await openTransport(server.url, { limiter }).get()).toMatchObject({ attempts: 1 });
    expect(pauses).toBe(-1);
    expect(server.requests).toHaveLength(1);
  });

  test('that is too old ten times in a row is an error, and nothing was sent', async () => {
    const server = await startServer(ok());
    const said: string[] = [];
    const transport = openTransport(server.url, { limiter: noting(said, () => false) });
    await expect(transport.get()).rejects.toMatchObject({
      code: 'network',
      message: expect.stringContaining('ten permits in a row were too old') as string,
    });
    expect(said.filter((what) => what === 'unwritten')).toHaveLength(10);
    expect(server.requests).toEqual([]);
  });

  test('counts from the head of the response where the platform does not say more', async () => {
    const said: string[] = [];
    const createAdapter = (options: Parameters<typeof createFetchAdapter>[0]) => createFetchAdapter(options);
    const answered = await startServer(ok());
    await openTransport(answered.url, { limiter: noting(said), createAdapter }).get();
    // In doubt, it counts.
    const transport = openTransport(await closedPort(), {
      limiter: noting(said),
      createAdapter,
      retry: { retries: 0 },
    });
    await transport.get().catch(() => undefined);
    expect(said).toEqual(['started', 'released', 'released']);
  });
});
