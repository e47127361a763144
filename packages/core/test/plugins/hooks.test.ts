import { config, filter, firstValueFrom, type Subscription } from 'rxjs';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  createClient,
  exportTo,
  systemClock,
  type ClientEvent,
  type ClientOptions,
  type Clock,
  type Hooks,
  type Link,
  type Plugin,
} from '../../src/index.js';
import { hookNames } from '../../src/plugins/clientEvent.js';
import { EventHub } from '../../src/plugins/eventHub.js';
import { canary } from '../http/canary.js';
import { testApi } from '../http/children/testApi.js';
import { answer, never, ok, startServer } from '../http/scriptedServer.js';
import { startHoldings, type Row } from '../sandboxSource.js';
import { recordingSink } from '../rows/sink/recordingSink.js';

const options: ClientOptions = { apiKey: canary, rateLimit: false };
const question = { route: 'test.route', path: '/things', query: {} };

/** A clock that stands still: a limiter is reported once. */
const standing: Clock = { ...systemClock, monotonic: () => 0 };

/** A hook for every event that there is. */
function forAll(hook: (event: ClientEvent) => unknown): Hooks {
  return Object.fromEntries(hookNames.map((name) => [name, hook]));
}

function unanswered(): never {
  throw new Error('when it is read');
}

function unreadable(): Error {
  return Object.defineProperty(new Error('of a hook'), 'name', { get: unanswered });
}

/** A plugin of hooks only. */
function hooking<Name extends string>(name: Name, hooks: Hooks): Plugin<Name> {
  return { name, hooks };
}

describe('hooks', () => {
  test('G4 get the events that subscribers get, the same objects and before them, in the order of the plugins', async () => {
    const server = await startServer(answer(503), ok());
    const [a, b, events]: ClientEvent[][] = [[], [], []];
    const order: string[] = [];
    const client = createClient({ ...options, retry: { baseDelay: 1 }, clock: standing })
      .use(testApi(server.url))
      .use(
        hooking(
          'a',
          forAll((event) => (order.push('a'), a!.push(event))),
        ),
      )
      .use(
        hooking(
          'b',
          forAll((event) => (order.push('b'), b!.push(event))),
        ),
      );
    client.events.subscribe((event) => (order.push('events'), events!.push(event)));
    await client.api.request(question);
    await client.close();
    const types = ['request', 'limiter', 'attempt', 'response', 'retry', 'attempt', 'response', 'settled', 'close'];
    expect(events!.map(({ type }) => type)).toEqual(types);
    for (const [nth, event] of events!.entries()) {
      expect(a![nth]).toBe(event);
      expect(b![nth]).toBe(event);
    }
    expect(order).toEqual(types.flatMap(() => ['a', 'b', 'events']));
  });

  test('G4 alter nothing: events are frozen, and what hooks return is ignored', async () => {
    const { client, list, sandbox } = await startHoldings({ holdings: 300 });
    const altering = forAll((event) => {
      Reflect.set(event, 'rows', 0);
      Reflect.set(event, 'url', 'https://elsewhere.example');
      Reflect.deleteProperty(event, 'type');
      return false;
    });
    const seen: ClientEvent[] = [];
    client.use(hooking('altering', altering)).use(
      hooking(
        'seeing',
        forAll((event) => seen.push(event)),
      ),
    );
    const sink = recordingSink<Row>();
    await exportTo(list(), sink).run();
    expect(sink.rows).toEqual([...sandbox.holdingsOf(sandbox.owners)]);
    const { origin } = new URL(sandbox.aptosUrl);
    expect(seen.filter(({ type }) => type === 'request')).toEqual(
      [1, 2, 3].map((request) => expect.objectContaining({ request, url: expect.stringContaining(origin) })),
    );
    expect(seen.filter(({ type }) => type === 'page').map((page) => 'rows' in page && page.rows)).toEqual([
      100, 100, 100,
    ]);
    expect(seen.filter(({ type }) => type === 'plugin-fault')).toEqual([]);
  });

  test.each<[string, () => unknown]>([
    [
      'throw',
      () => {
        throw new TypeError('of a hook');
      },
    ],
    ['reject', () => Promise.reject(new TypeError('of a hook'))],
    [
      'throw what throws when it is read',
      () => {
        throw unreadable();
      },
    ],
    ['reject with what throws when it is read', () => Promise.reject(unreadable())],
    [
      'throw a proxy that answers nothing',
      () => {
        throw new Proxy(new Error('of a hook'), { get: unanswered, has: unanswered, getPrototypeOf: unanswered });
      },
    ],

    ['reject with nothing', () => Promise.reject()],
    [
      'throw nothing',
      () => {
        throw undefined;
      },
    ],
    [
      'return what throws when it is awaited',
      () => ({
        get then() {
          throw new TypeError('of a hook');
        },
      }),
    ],
  ])('G4 that %s are reported with their plugin, and lose no rows', async (_what, fail) => {
    const { client, list, sandbox } = await startHoldings(
      { holdings: 500, script: ({ n }) => (n === 2 ? { kind: 'status', status: 503 } : undefined) },
      { retry: { baseDelay: 1 } },
    );
    let called = 0;
    const faults: ClientEvent[] = [];
    const failing = forAll((event) => {
      if (event.type === 'plugin-fault' || event.type === 'close') return undefined;
      called += 1;
      return fail();
    });
    client.use(hooking('failing', failing)).use(hooking('watching', { 'plugin-fault': (event) => faults.push(event) }));
    const sink = recordingSink<Row>();
    await exportTo(list(), sink).run();
    expect(sink.rows).toEqual([...sandbox.holdingsOf(sandbox.owners)]);
    await vi.waitUntil(() => faults.length >= called, { timeout: 60_000 });
    expect(faults).toHaveLength(called);
    expect(called).toBeGreaterThan(20);
    const hooks = new Set(faults.map((fault) => fault.type === 'plugin-fault' && fault.hook));
    expect([...hooks].sort()).toEqual([
      'attempt',
      'commit',
      'limiter',
      'page',
      'request',
      'response',
      'retry',
      'settled',
      'sink',
    ]);
    for (const fault of faults)
      expect(fault).toMatchObject({ plugin: 'failing', error: { message: expect.any(String) } });
  });

  test('G4 that fail when they are told of a failure end there', async () => {
    const { client, list } = await startHoldings({ holdings: 200 });
    let told = 0;
    const throwing = (): never => {
      throw new Error('again');
    };
    const events: ClientEvent[] = [];
    client
      .use(hooking('failing', { page: throwing, 'plugin-fault': () => ((told += 1), throwing()) }))
      .use(hooking('rejecting', { 'plugin-fault': () => Promise.reject(new Error('again')) }));
    client.events.subscribe((event) => events.push(event));
    expect(await list().toArray()).toHaveLength(200);
    expect(told).toBe(2);
    expect(events.filter(({ type }) => type === 'plugin-fault')).toHaveLength(2);
  });

  test('G4 that answer events with events come to an end', async () => {
    const { client, list } = await startHoldings({ holdings: 100 });
    const warnings: string[] = [];
    let say = (message: string): void => void message;
    client.use({
      name: 'echo',
      setup({ logger }) {
        say = logger.warn;
        return {};
      },
      hooks: { page: () => say('a page'), warning: ({ message }) => say(`${message} again`) },
    });
    client.events.subscribe((event) => event.type === 'warning' && warnings.push(event.message));
    expect(await list().toArray()).toHaveLength(100);
    expect(warnings.slice(0, 2)).toEqual(['a page', 'a page again']);
    expect(warnings.length).toBeLessThan(10);
  });

  test('G4 that answer each event with several are dropped at some point, which is told once', async () => {
    const { client, list } = await startHoldings({ holdings: 200 });
    let infos = 0;
    let say = (message: string): void => void message;
    client.use({
      name: 'storm',
      setup({ logger }) {
        say = logger.info;
        return {};
      },
      hooks: {
        page: () => say('a page'),
        info() {
          infos += 1;
          for (let count = 0; count < 6; count += 1) say('more');
        },
        'plugin-fault': () => say('even more'),
      },
    });
    const faults: ClientEvent[] = [];
    client.events.subscribe((event) => event.type === 'plugin-fault' && faults.push(event));
    expect(await list().toArray()).toHaveLength(200);
    // The page is one of the thousand.
    expect(infos).toBe(2 * 999);
    expect(faults).toHaveLength(2);
    expect(faults[0]).toMatchObject({
      plugin: 'storm',
      hook: 'info',
      error: { code: 'plugin', message: expect.stringContaining('more than 1000 events') },
    });
  });

  test('G4 see what others say while they are told of something else, in the same order as these', () => {
    const hub = new EventHub((text) => text);
    const [a, b]: string[][] = [[], []];
    const say = (message: string): void => hub.emit('info', () => ({ type: 'info', plugin: 'a', message }));
    hub.add('a', {
      info({ message }) {
        a!.push(message);
        if (message === 'first') say('second');
      },
    });
    hub.add('b', { info: ({ message }) => b!.push(message) });
    say('first');
    expect([a, b]).toEqual([
      ['first', 'second'],
      ['first', 'second'],
    ]);
  });

  test('G4 may end the request that they are told of, and it settles once', async () => {
    const server = await startServer(never);
    for (const at of ['request', 'attempt'] as const) {
      const stopping = new AbortController();
      const events: ClientEvent[] = [];
      const client = createClient(options)
        .use(testApi(server.url))
        .use(hooking('stopping', { [at]: () => stopping.abort('enough'), settled: () => stopping.abort('again') }));
      client.events.subscribe((event) => events.push(event));
      await expect(client.api.request({ ...question, signal: stopping.signal })).rejects.toBe('enough');
      await client.close();
      const attempts = at === 'attempt' ? 1 : 0;
      expect(events.filter(({ type }) => type === 'settled')).toMatchObject([{ outcome: 'stopped', attempts }]);
      expect(events.filter(({ type }) => type === 'error')).toEqual([]);
    }
  });
});

describe('subscribers of events', () => {
  test('G4 that throw lose no rows: RxJS reports it apart', async () => {
    const { client, list, sandbox } = await startHoldings({ holdings: 300 });
    const reported: unknown[] = [];
    config.onUnhandledError = (error) => reported.push(error);
    onTestFinished(() => {
      config.onUnhandledError = null;
    });
    const throwing = client.events.subscribe(() => {
      throw new Error('of a subscriber');
    });
    const seen: ClientEvent[] = [];
    const watching = client.events.subscribe((event) => seen.push(event));
    const sink = recordingSink<Row>();
    await exportTo(list(), sink).run();
    // Both: the limiter may be reported later.
    throwing.unsubscribe();
    watching.unsubscribe();
    expect(sink.rows).toEqual([...sandbox.holdingsOf(sandbox.owners)]);
    await vi.waitUntil(() => reported.length >= seen.length, { timeout: 60_000 });
    expect(reported).toHaveLength(seen.length);
    expect(new Set(reported.map(String))).toEqual(new Set(['Error: of a subscriber']));
  });

  test('G4 that throw lose no rows where RxJS is told to throw back, either', async () => {
    const { client, list } = await startHoldings({ holdings: 300 });
    const { warn } = console;
    console.warn = () => undefined;
    Reflect.set(config, 'useDeprecatedSynchronousErrorHandling', true);
    onTestFinished(() => {
      Reflect.set(config, 'useDeprecatedSynchronousErrorHandling', false);
      console.warn = warn;
    });
    const throwing = client.events.subscribe(() => {
      throw new Error('of a subscriber');
    });
    const rows: Row[] = [];
    for await (const row of list()) rows.push(row);
    throwing.unsubscribe();
    expect(rows).toHaveLength(300);
  });

  test('may leave at any time', async () => {
    const { client, list } = await startHoldings({ holdings: 300 });
    const page = firstValueFrom(client.events.pipe(filter(({ type }) => type === 'page')));
    expect(await list().toArray()).toHaveLength(300);
    expect(await page).toMatchObject({ page: 1 });
  });
});

describe('events of some types', () => {
  test('G4 reach only who asked for them, each once, in the order of all events', () => {
    const hub = new EventHub((text) => text);
    const [some, all]: string[][] = [[], []];
    hub.eventsOf(['info', 'close', 'info']).subscribe(({ type }) => some!.push(type));
    hub.eventsOf(hookNames).subscribe(({ type }) => all!.push(type));
    hub.emit('info', () => ({ type: 'info', plugin: 'a', message: 'one' }));
    hub.emit('warning', () => ({ type: 'warning', plugin: 'a', message: 'two' }));
    hub.emit('close', () => ({ type: 'close' }));
    expect(some).toEqual(['info', 'close']);
    expect(all).toEqual(['info', 'warning', 'close']);
  });

  test('G4 are not made for who asked for others', async () => {
    const { client, list } = await startHoldings({ holdings: 300 });
    const seen: ClientEvent[] = [];
    client.eventsOf('settled', 'page').subscribe((event) => seen.push(event));
    expect(await list().toArray()).toHaveLength(300);
    expect(new Set(seen.map(({ type }) => type))).toEqual(new Set(['settled', 'page']));

    const hub = new EventHub(() => expect.unreachable());
    hub.eventsOf(['info']).subscribe();
    hub.add('a', { warning: () => undefined });
    hub.emit('retry', () => expect.unreachable());
    expect([hub.isObserved('info'), hub.isObserved('warning'), hub.isObserved('retry')]).toEqual([true, true, false]);
  });

  test('G4 reach the others, in their order, when one unsubscribes or subscribes during an event', () => {
    const hub = new EventHub((text) => text);
    const seen: string[] = [];
    const subscribeLate = (): Subscription => hub.eventsOf(['info']).subscribe(() => seen.push('late'));
    const first = hub.eventsOf(['info']).subscribe(() => {
      seen.push('first');
      first.unsubscribe();
      subscribeLate();
    });
    hub.eventsOf(['info']).subscribe(() => seen.push('second'));
    const say = (message: string): void => hub.emit('info', () => ({ type: 'info', plugin: 'a', message }));
    say('one');
    say('two');
    expect(seen).toEqual(['first', 'second', 'second', 'late']);
  });

  test('G4 need a type, and one that there is', async () => {
    const { client } = await startHoldings({ holdings: 1 });
    expect(() => client.eventsOf()).toThrow(/^eventsOf needs types of events\. Available: request, /);
    expect(() => Reflect.apply(client.eventsOf, client, ['retry', 'retyr'])).toThrow(
      /^eventsOf needs types of events, and "retyr" is none\. Did you mean retry\?/,
    );
  });

  test('G4 of a malformed kind are a warning, also where nobody receives that kind', async () => {
    const server = await startServer(() => ok());
    const warnings: string[] = [];
    const client = createClient(options).use(testApi(server.url));
    client.eventsOf('warning').subscribe(({ message }) => warnings.push(message));
    Reflect.apply(client.api.observe, client.api, [{ type: 'page', source: 's', rows: 'many' }]);
    expect(warnings).toEqual([expect.stringContaining('not an event of a source')]);
    await client.close();
  });

  test('G4 complete when the client closes, also for who subscribes later', async () => {
    const { client } = await startHoldings({ holdings: 1 });
    const ends: string[] = [];
    const events = client.eventsOf('retry', 'paused');
    events.subscribe({ complete: () => ends.push('before') });
    await client.close();
    events.subscribe({ complete: () => ends.push('after') });
    expect(ends).toEqual(['before', 'after']);
  });
});

describe('the error of a request that failed', () => {
  test('G4 is redacted in its last event, too', () => {
    const hub = new EventHub((text) => text.replaceAll('secret', '[hidden]'));
    const seen: ClientEvent[] = [];
    hub.eventsOf(['settled']).subscribe((event) => seen.push(event));
    const error = { name: 'Error', message: 'It is secret.' };
    const about = { route: 'secret.things', request: 1, type: 'settled', attempts: 1, took: 5 } as const;
    hub.emit('settled', () => ({ ...about, outcome: 'failed', error }));
    hub.emit('settled', () => ({ ...about, outcome: 'answered', status: 200 }));
    expect(seen).toEqual([
      { ...about, route: '[hidden].things', outcome: 'failed', error: { ...error, message: 'It is [hidden].' } },
      { ...about, route: '[hidden].things', outcome: 'answered', status: 200 },
    ]);
    expect(seen.every((event) => Object.isFrozen(event))).toBe(true);
  });
});

describe('where nobody watches', () => {
  test('events are not even made', () => {
    const hub = new EventHub(() => expect.unreachable());
    const make = (): never => expect.unreachable();
    hub.emit('retry', make);
    const watching = hub.eventsOf(['retry']).subscribe();
    watching.unsubscribe();
    hub.emit('retry', make);
    hub.add('a', { retry: () => undefined });
    hub.remove('a');
    hub.emit('retry', make);
    hub.add('a', {});
    hub.emit('retry', make);
    hub.complete();
    hub.emit('retry', make);
  });
});

describe('links of plugins', () => {
  const noting =
    (name: string, notes: string[]): Link =>
    (next) => {
      notes.push(`made ${name}`);
      return (request) => (notes.push(name), next(request));
    };

  test("G4 are what alters requests: inside the client's own and those of earlier plugins, from use on", async () => {
    const server = await startServer(ok());
    const notes: string[] = [];
    const client = createClient({ ...options, links: [noting('own', notes)] }).use(testApi(server.url));
    await client.api.request(question);
    client.use({ name: 'a', links: [noting('a1', notes), noting('a2', notes)] });
    await client.api.request(question);
    client.use({ name: 'none', links: [] }).use({ name: 'b', links: [noting('b', notes)] });
    await client.api.request(question);
    await client.close();
    expect(notes).toEqual([
      'made own',
      'own',
      'made a2',
      'made a1',
      'own',
      'a1',
      'a2',
      'made b',
      'own',
      'a1',
      'a2',
      'b',
    ]);
  });

  test('G4 are not told of what happens, and see no key', async () => {
    const server = await startServer(ok());
    const seen: unknown[] = [];
    const tracing: Link = (next) => async (request) => {
      const traced = { ...request, headers: { ...request.headers, traceparent: '00-1-2-01' } };
      seen.push(traced);
      return next(traced);
    };
    const client = createClient(options)
      .use(testApi(server.url))
      .use({ name: 'tracing', links: [tracing] });
    await client.api.request(question);
    await client.close();
    expect(server.requests[0]?.headers).toMatchObject({ traceparent: '00-1-2-01', 'x-api-key': canary });
    expect(JSON.stringify(seen)).not.toContain('x-api-key');
  });
});
