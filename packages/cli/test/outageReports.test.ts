// @module-tag slow
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, test, vi } from 'vitest';
import { onTestEnd } from '../../../scripts/testScope.js';
import { holdLock } from '../../tables/test/heldLock.js';
import { switchedProxy, type ServerMode } from '../../tables/test/switchedProxy.js';
import { dashboardAddress } from '../../../test/kit/dashboardAddress.js';
import { openDatabase, postgresPrograms } from '../../../test/kit/postgresServer.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { Interruption } from '../src/errors/errors.js';
import { main } from '../src/program.js';
import { folderWithSecret, forwardTo } from './forwarding.js';
import { testEnvironment } from './testEnvironment.js';

/** How a server answers: `refused` is closed. */
type Answer = 'good' | 'refused' | 'silent' | { readonly status: number; readonly retryAfter?: number };

/** A server on this machine whose answers change. */
async function switchedServer(good: (request: IncomingMessage, response: ServerResponse) => void) {
  let answer: Answer = 'good';
  const server: Server = createServer((request, response) => {
    request.resume();
    if (answer === 'silent') return;
    if (typeof answer !== 'object') {
      good(request, response);
      return;
    }
    const { status, retryAfter } = answer;
    response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) });
    response.end();
  });
  const listen = async (port: number): Promise<void> =>
    void (await once(server.listen(port, '127.0.0.1'), 'listening'));
  await listen(0);
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  onTestEnd(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${port}`,
    async become(next: Answer): Promise<void> {
      const before = answer;
      answer = next;
      if (before === 'refused' && next !== 'refused') await listen(port);
      if (next === 'refused') server.close();
      if (next === 'refused' || before === 'silent') server.closeAllConnections();
    },
  };
}

/** A listing whose row changes with each poll, so that there is always something to write. */
async function startApi() {
  let polls = 0;
  const server = await switchedServer((_, response) => {
    polls += 1;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ result: [{ id: 'a', status: 'active', tag: `poll ${polls}` }], total: 1 }));
  });
  return { ...server, polls: () => polls };
}

interface View {
  readonly status: number;
  readonly health: string;
  readonly level: string;
  readonly page: string;
}

/** A watch with health checks, a page and events. It is stopped with the test. */
async function startWatch(api: { readonly url: string }, folder: string, ...target: readonly string[]) {
  const environment = testEnvironment({
    folder,
    variables: { SLUICE_API_KEY: 'canary-5f1d77a1e0', XDG_STATE_HOME: temporaryFolder() },
  });
  const args = ['streams', 'watch', '--no-config', '--every', '500ms', '--rate', 'unlimited', '--streams-url', api.url];
  const ended = main([...args, '--dashboard', '--health', '0', '--progress', 'json', ...target], environment);
  onTestEnd(async () => {
    environment.interrupt(new Interruption('SIGTERM'));
    await ended;
  });
  const said = (): string => environment.written.stderr();
  const isOver = { code: undefined as number | undefined };
  void ended.then((code) => (isOver.code = code));
  const until = async <T>(read: () => Promise<T | undefined> | T | undefined): Promise<T> => {
    for (;;) {
      const found = await read();
      if (found !== undefined) return found;
      if (isOver.code !== undefined) throw new Error(`The watch ended with ${isOver.code}:\n${said()}`);
      await delay(100);
    }
  };
  const healthUrl = await until(() => /http:\/\/127\.0\.0\.1:\d+\/(?=")/.exec(said())?.[0]);
  const [pageUrl = '', token = ''] = (await until(() => dashboardAddress(said()))).split('#');
  /** Connections may be refused on a busy machine. */
  const look = (): Promise<View | undefined> => see().catch(() => undefined);
  const see = async (): Promise<View> => {
    const response = await fetch(healthUrl);
    const stop = new AbortController();
    const headers = { authorization: `Bearer ${token}` };
    const snapshots = await fetch(new URL('snapshots', pageUrl), { headers, signal: stop.signal });
    let line = '';
    const decoder = new TextDecoder();
    for await (const chunk of snapshots.body ?? []) {
      line += decoder.decode(chunk, { stream: true });
      if (line.includes('\n')) break;
    }
    stop.abort();
    const { health } = JSON.parse(line.slice(0, line.indexOf('\n'))) as { health: { level: string; text: string } };
    return { status: response.status, health: await response.text(), level: health.level, page: health.text };
  };
  return { until, look, said, ended };
}

type Watch = Awaited<ReturnType<typeof startWatch>>;

/** Begins an outage and mends it: health and page turn red with the cause, stderr names it, and all is green again. */
async function goThrough(watch: Watch, cause: RegExp, begin: () => Promise<unknown>, mend: () => Promise<unknown>) {
  const isGreen = async () => {
    const view = await watch.look();
    return view?.status === 200 && view.level !== 'failing' ? view : undefined;
  };
  await watch.until(isGreen);
  const before = watch.said().length;
  await begin();
  const red = await watch.until(async () => {
    const view = await watch.look();
    return view?.status === 503 && view.level === 'failing' ? view : undefined;
  });
  expect(red.health).toMatch(cause);
  expect(red.page).toMatch(cause);
  await watch.until(() => cause.exec(watch.said().slice(before)) ?? undefined);
  await mend();
  await watch.until(isGreen);
  await watch.until(() => /"event":"poll","outcome":"polled"/.exec(watch.said().slice(-300)) ?? undefined);
}

describe.concurrent(
  'C12 a watch is red with the cause on health check, page and stderr, and green again, where',
  () => {
    test.for<[what: string, answer: Answer, cause: RegExp]>([
      ['responds with 500', { status: 500 }, /HTTP 500/],
      ['is closed', 'refused', /connection refused/],
      ['does not respond', 'silent', /no response|has not responded/],
      ['refuses the key', { status: 401 }, /HTTP 401/],
      ['asks for a pause of more than a minute', { status: 429, retryAfter: 62 }, /HTTP 429/],
    ])('the API %s', { timeout: 180_000 }, async ([, answer, cause]) => {
      const api = await startApi();
      const watch = await startWatch(api, temporaryFolder(), '--to', 'changes.jsonl');
      await goThrough(
        watch,
        cause,
        () => api.become(answer),
        () => api.become('good'),
      );
    });

    test.for<[what: string, answer: Answer, cause: RegExp]>([
      ['responds with 500', { status: 500 }, /HTTP 500/],
      ['is closed', 'refused', /connection refused/],
      ['does not respond', 'silent', /no response/],
      ['asks for a pause', { status: 429, retryAfter: 2 }, /HTTP 429/],
    ])('the webhook %s', { timeout: 180_000 }, async ([, answer, cause]) => {
      const api = await startApi();
      const receiver = await switchedServer((_, response) => response.end());
      const watch = await startWatch(api, folderWithSecret(), ...forwardTo(receiver));
      await goThrough(
        watch,
        cause,
        () => receiver.become(answer),
        () => receiver.become('good'),
      );
    });

    test.runIf(postgresPrograms !== undefined).for<[what: string, mode: ServerMode, cause: RegExp]>([
      ['is closed', 'refused', /connection refused/],
      ['starts', { code: '57P03' }, /server not ready/],
      ['has too many connections', { code: '53300' }, /too many connections/],
      ['has a full disk', { code: '53100' }, /disk of the server full/],
      ['refuses the password', { code: '28P01' }, /user or password refused/],
      ['does not respond', 'silent', /has not ended/],
    ])('the database %s', { timeout: 180_000 }, async ([, mode, cause]) => {
      const api = await startApi();
      const { url, port } = await openDatabase();
      const proxy = await switchedProxy(port);
      const to = `${url.replace(String(port), String(proxy.port))}?table=streams`;
      const watch = await startWatch(api, temporaryFolder(), '--to', to, '--key-columns', 'id');
      await goThrough(
        watch,
        cause,
        () => proxy.become(mode),
        () => proxy.become('there'),
      );
      expect(watch.said()).not.toContain('"event":"failed"');
    });

    test.runIf(postgresPrograms !== undefined).for<[what: string, mode: 'mirror' | 'history']>([
      ['a table that mirrors the rows', 'mirror'],
      ['a history', 'history'],
    ])('somebody locks %s', { timeout: 180_000 }, async ([, mode]) => {
      const api = await startApi();
      const { url } = await openDatabase();
      const watch = await startWatch(
        api,
        temporaryFolder(),
        '--to',
        `${url}?table=streams`,
        '--key-columns',
        'id',
        '--mode',
        mode,
      );
      await watch.until(() => /"generation":2/.exec(watch.said()) ?? undefined);
      let unlock = (): Promise<unknown> => Promise.resolve();
      await goThrough(
        watch,
        /locked by another transaction/,
        async () => (unlock = await holdLock(url, 'streams')),
        () => unlock(),
      );
    });

    test('another program keeps a file of SQLite for itself', { timeout: 180_000 }, async () => {
      const api = await startApi();
      const folder = temporaryFolder();
      const watch = await startWatch(api, folder, '--to', 'streams.sqlite', '--key-columns', 'id');
      await watch.until(() => /"event":"poll"/.exec(watch.said()) ?? undefined);
      const other = new DatabaseSync(join(folder, 'streams.sqlite'));
      onTestEnd(() => other.close());
      await goThrough(
        watch,
        /locked by another program/,
        async () => {
          for (let isBegun = false; !isBegun; await delay(5))
            try {
              other.exec('BEGIN IMMEDIATE');
              isBegun = true;
            } catch {
              // A transaction of the watch is not over.
            }
        },
        () => Promise.resolve(other.exec('ROLLBACK')),
      );
    });
  },
);

describe.concurrent(
  'C12 a watch in a terminal says in one line that it waits, and in one that it goes on, where',
  () => {
    /** Goes through an outage of some seconds, and returns what stderr has. */
    async function hear(
      api: { readonly url: string; readonly polls: () => number },
      target: readonly string[],
      { begin, mend }: { readonly begin: () => Promise<unknown>; readonly mend: () => Promise<unknown> },
    ): Promise<string> {
      const environment = testEnvironment({
        folder: temporaryFolder(),
        variables: { SLUICE_API_KEY: 'canary-5f1d77a1e0', XDG_STATE_HOME: temporaryFolder() },
      });
      const args = [
        'streams',
        'watch',
        '--no-config',
        '--every',
        '500ms',
        '--rate',
        'unlimited',
        '--streams-url',
        api.url,
      ];
      const ended = main([...args, '--health', '0', '--progress', 'plain', ...target], environment);
      const said = (): string => environment.written.stderr();
      const options = { timeout: 60_000, interval: 50 };
      const health = await vi.waitFor(() => {
        const url = /Health checks are answered at (http:\S+)/.exec(said())?.[1];
        if (url === undefined) throw new Error(said());
        return async () => (await fetch(url)).text();
      }, options);
      await vi.waitFor(async () => expect(await health()).toContain('The last poll succeeded'), options);
      await begin();
      await vi.waitFor(async () => expect(await health()).toMatch(/ (for|since) [7-9] s/), options);
      await mend();
      await vi.waitFor(() => expect(said()).toContain('The outage is over'), options);
      const before = api.polls();
      await vi.waitFor(() => expect(api.polls()).toBeGreaterThan(before + 4), options);
      environment.interrupt(new Interruption('SIGTERM'));
      await ended;
      return said();
    }
    const linesOf = (said: string) =>
      said.split('\n').filter((line) => /Waiting|waits|outage is over|goes on/.test(line));

    test('the API is closed', { timeout: 180_000 }, async () => {
      const api = await startApi();
      const begin = () => api.become('refused');
      const said = await hear(api, ['--to', 'changes.jsonl'], { begin, mend: () => api.become('good') });
      expect(linesOf(said)).toEqual([
        expect.stringContaining('ECONNREFUSED'),
        expect.stringContaining('The outage is over'),
      ]);
    });

    test.runIf(postgresPrograms !== undefined)('the database is closed', { timeout: 180_000 }, async () => {
      const api = await startApi();
      const { url, port } = await openDatabase();
      const proxy = await switchedProxy(port);
      const to = `${url.replace(String(port), String(proxy.port))}?table=streams`;
      const begin = () => proxy.become('refused');
      const said = await hear(api, ['--to', to, '--key-columns', 'id'], { begin, mend: () => proxy.become('there') });
      expect(linesOf(said)).toEqual([
        expect.stringContaining('ECONNREFUSED'),
        expect.stringContaining('The outage is over'),
      ]);
    });
  },
);

test.each(['changes.jsonl', 'webhook'])(
  'C12 a watch whose state is removed ends with an error that names it: %s',
  { timeout: 120_000 },
  async (target) => {
    const api = await startApi();
    const receiver = await switchedServer((_, response) => response.end());
    const folder = folderWithSecret();
    const to = target === 'webhook' ? [...forwardTo(receiver), '--state', 'hooks'] : ['--to', target];
    const watch = await startWatch(api, folder, ...to);
    await watch.until(() => /"generation":2/.exec(watch.said()) ?? undefined);
    const state = target === 'webhook' ? 'hooks' : `${target}.sluice`;
    rmSync(join(folder, state), { recursive: true });
    expect(await watch.ended).toBe(1);
    expect(watch.said().split('\n').at(-2)).toContain(state);
  },
);
