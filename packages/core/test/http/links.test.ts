import { describe, expect, onTestFinished, test } from 'vitest';
import { createClient, type Endpoint, type Link } from '../../src/index.js';
import { checkPlugin, type Limiter } from '../../src/kit.js';
import { unlimited } from '../../src/http/limit/localLimiter.js';
import { FakeClock } from '../fakeClock.js';
import { canary } from './canary.js';
import { testApi } from './children/testApi.js';
import { caught } from './openClient.js';
import { ok, startServer } from './scriptedServer.js';

const request = { route: 'test.route', path: '/things', query: {} };
const never: Link = () => () => new Promise(() => undefined);

interface Opened {
  readonly api: Endpoint;
  readonly clock: FakeClock;
  readonly limiter: Limiter;
  close(): Promise<void>;
}

function open(url: string, link: Link): Opened {
  const clock = new FakeClock();
  const limiter = unlimited(clock);
  const client = createClient({ apiKey: canary, limiter, clock, links: [link], timeouts: { total: 60_000 } });
  onTestFinished(() => client.close());
  return { api: client.use(testApi(url)).api, clock, limiter, close: () => client.close() };
}

describe('T3 a link that waits for what never comes', () => {
  test('is ended by the total deadline, which says so', async () => {
    const server = await startServer(ok());
    const { api, clock } = open(server.url, never);
    const outcome = caught(api.request(request));
    await clock.asked(60_000);
    await clock.advance(60_000);
    expect(await outcome).toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('test.route: not completed by its links within 60000 ms'),
      details: { deadline: 'total', ms: 60_000 },
    });
    expect(clock.pending).toEqual([]);
  });

  test('after its answer is ended likewise, with what was left of the time', async () => {
    const server = await startServer(ok());
    let tellAnswered = (): void => undefined;
    const answered = new Promise<void>((resolve) => (tellAnswered = resolve));
    const { api, clock } = open(server.url, (next) => async (asked) => {
      await new Promise<void>((resolve) => clock.after(20_000, resolve));
      await next(asked);
      tellAnswered();
      return new Promise(() => undefined);
    });
    const outcome = caught(api.request(request));
    await clock.asked(20_000);
    await clock.advance(20_000);
    await answered;
    await clock.advance(40_000);
    expect(await outcome).toMatchObject({ code: 'timeout', details: { deadline: 'total' } });
  });

  test('sends nothing once its time is over', async () => {
    const server = await startServer(ok());
    const { api, clock } = open(server.url, (next) => async (asked) => {
      await new Promise<void>((resolve) => clock.after(70_000, resolve));
      return next(asked);
    });
    const outcome = caught(api.request(request));
    await clock.asked(70_000);
    await clock.advance(70_000);
    expect(await outcome).toMatchObject({ code: 'timeout' });
    expect(server.requests).toHaveLength(0);
  });

  test('does not count the time that the request below it waits for the limiter', async () => {
    const server = await startServer(ok());
    const { api, clock, limiter } = open(server.url, (next) => (asked) => next({ ...asked }));
    limiter.pause(3_600_000);
    const outcome = api.request(request);
    await clock.asked(3_600_000);
    await clock.advance(3_600_000);
    expect(await outcome).toEqual({ fine: true });
  });

  test('T4 ends at once with its caller, and with its client', async () => {
    const server = await startServer(ok());
    const { api, close } = open(server.url, never);
    const controller = new AbortController();
    const stopped = caught(api.request({ ...request, signal: controller.signal }));
    const closed = caught(api.request(request));
    controller.abort('enough');
    expect(await stopped).toBe('enough');
    await close();
    expect(await closed).toMatchObject({ code: 'network' });
  });
});

/** A plugin that no compiler has seen. */
function broken(link: unknown): ReturnType<typeof checkPlugin> {
  return checkPlugin({ name: 'broken', links: [link] });
}

describe('G1 a link of a plugin is named where it', () => {
  const text = 'a text';
  const thrower = (): never => {
    throw text;
  };

  const rejecter = (): Promise<never> => Promise.reject(text);
  test.each<[string, unknown, RegExp]>([
    ['throws a text', () => rejecter, /^A link of the plugin "broken" failed at test\.route\./],
    ['throws a text at once', () => thrower, /^A link of the plugin "broken" failed at test\.route\./],
    [
      'answers nothing',
      () => () => undefined,
      /^A link of the plugin "broken" responded to test\.route with nothing: it/,
    ],
    ['answers a text', () => () => text, /^A link of the plugin "broken" responded to test\.route with text: it/],
    [
      'answers half',
      () => () => ({ status: 200 }),
      /^A link of the plugin "broken" responded to test\.route with an obj/,
    ],
  ])('%s', async (_what, link, message) => {
    const server = await startServer(ok());
    const client = createClient({ apiKey: canary, rateLimit: false });
    onTestFinished(() => client.close());
    client.use(broken(link));
    const error = await caught(client.use(testApi(server.url)).api.request(request));
    expect(error).toMatchObject({ code: 'plugin', message: expect.stringMatching(message) });
  });

  test.each<[string, unknown, RegExp]>([
    ['makes nothing', () => undefined, /^A link of the plugin "broken" returned nothing: it has to return a function/],
    ['throws a text when it is made', thrower, /^The plugin "broken" could not set up\. See its cause\.$/],
  ])('%s', (_what, link, message) => {
    const client = createClient({ apiKey: canary });
    expect(() => client.use(broken(link))).toThrow(message);
  });

  test('drops what next returns, and whose request is cancelled later, ends no process', async () => {
    const server = await startServer(() => undefined);
    const unhandled: unknown[] = [];
    const onUnhandled = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', onUnhandled);
    onTestFinished(() => void process.off('unhandledRejection', onUnhandled));
    const { api, close } = open(server.url, (next) => async (asked) => {
      void next(asked);
      await server.until(() => server.requests.length === 1);
      throw new Error('mine');
    });
    expect(await caught(api.request(request))).toMatchObject({ message: 'mine' });
    await close();
    await new Promise(setImmediate);
    expect(unhandled).toEqual([]);
  });

  test('passes on what Sluice raised below it, and what its caller stopped with', async () => {
    const server = await startServer();
    const { api } = open(server.url, (next) => (asked) => next(asked));
    const stop = new AbortController();
    const outcome = caught(api.request({ ...request, signal: stop.signal }));
    stop.abort('enough');
    expect(await outcome).toBe('enough');
  });
});
