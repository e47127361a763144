import { describe, expect, test } from 'vitest';
import {
  ConfigError,
  createClient,
  type Client,
  type ClientEvent,
  type ClientOptions,
  type Plugin,
} from '../../src/index.js';
import { FakeClock } from '../fakeClock.js';
import { canary } from '../http/canary.js';
import { testApi } from '../http/children/testApi.js';
import { never, startServer } from '../http/scriptedServer.js';
import { noting } from './noting.js';
import { thrownBy } from '../../../../test/kit/thrownBy.js';

const options: ClientOptions = { apiKey: canary, rateLimit: false };
const question = { route: 'test.route', path: '/things', query: {} };

/** A plugin that can't be disposed of. */
function stuck<Name extends string>(name: Name, dispose: () => void | Promise<void>): Plugin<Name> {
  return { name, dispose };
}

function throwing(error: unknown): () => never {
  return () => {
    throw error;
  };
}

function completed(client: Client): Promise<void> {
  return new Promise((resolve) => client.events.subscribe({ complete: resolve }));
}

function eventsOf(client: Client): ClientEvent[] {
  const events: ClientEvent[] = [];
  client.events.subscribe((event) => events.push(event));
  return events;
}

describe('plugins', () => {
  test('G2 are set up in order and disposed of in reverse, once', async () => {
    const notes: string[] = [];
    const client = createClient(options).use(noting('a', notes)).use(noting('b', notes)).use(noting('c', notes));
    await Promise.all([client.close(), client.close()]);
    await client.close();
    const setUp = ['set up a', 'set up b', 'set up c'];
    expect(notes).toEqual([...setUp, 'disposed of c', 'disposed of b', 'disposed of a']);
  });

  test('G2 are all disposed of, also if some fail, and each failure is told', async () => {
    const notes: string[] = [];
    const cause = new Error('no');
    const client = createClient(options)
      .use(noting('a', notes))
      .use(stuck('throws', throwing(cause)))
      .use(stuck('rejects', () => Promise.reject(new Error('never'))))
      .use(noting('c', notes));
    const events = eventsOf(client);
    const ended = completed(client);
    await expect(client.close()).rejects.toMatchObject({
      name: 'PluginError',
      message: 'The plugin "rejects" could not be disposed of. See its cause.',
    });
    await ended;
    expect(notes.slice(2)).toEqual(['disposed of c', 'disposed of a']);
    expect(events.filter(({ type }) => type === 'plugin-fault')).toMatchObject([
      { plugin: 'rejects', hook: 'dispose', error: { code: 'plugin', cause: { message: 'never' } } },
      { plugin: 'throws', hook: 'dispose', error: { code: 'plugin', cause: { message: 'no' } } },
    ]);
  });

  test('G2 that hang are waited for 10 seconds, and those before them are disposed of all the same', async () => {
    const clock = new FakeClock();
    const notes: string[] = [];
    const client = createClient({ ...options, clock })
      .use(noting('a', notes))
      .use(stuck('hangs', () => new Promise(() => undefined)));
    const closing = client.close().catch((error: unknown) => error);
    await clock.asked(10_000);
    expect(notes).toEqual(['set up a']);
    await clock.advance(10_000);
    expect(await closing).toMatchObject({
      message: 'The plugin "hangs" could not be disposed of. See its cause.',
      cause: { message: expect.stringMatching(/^It took longer than 10 s\./) },
    });
    expect(notes).toEqual(['set up a', 'disposed of a']);
    expect(clock.pending).toEqual([]);
  });

  test('G2 that wait for the close which waits for them are told so, and those before them are disposed of', async () => {
    const clock = new FakeClock();
    const notes: string[] = [];
    const client = createClient({ ...options, clock }).use(noting('a', notes));
    client.use(stuck('circular', () => client.close()));
    const closing = client.close().catch((error: unknown) => error);
    await clock.asked(10_000);
    await clock.advance(10_000);
    expect(await closing).toMatchObject({
      message: 'The plugin "circular" could not be disposed of. See its cause.',
      cause: { message: "It took longer than 10 s. Does it wait for the client's close, which waits for it?" },
    });
    expect(notes).toEqual(['set up a', 'disposed of a']);
  });

  test('G2 are disposed of after the last request has ended, and hear nothing more then', async () => {
    const server = await startServer(never);
    const heard: string[] = [];
    const client = createClient(options)
      .use(testApi(server.url))
      .use({
        name: 'first',
        hooks: { 'plugin-fault': ({ plugin }) => heard.push(`the fault of ${plugin}`) },
        dispose: () => void heard.push('disposal of first'),
      } satisfies Plugin<'first'>)
      .use({
        name: 'last',
        hooks: {
          settled: ({ outcome }) => heard.push(outcome),
          close: () => heard.push('close'),
          'plugin-fault': ({ plugin }) => heard.push(`last hears of ${plugin}`),
        },
        dispose() {
          heard.push('disposal of last');
          throw new Error('no');
        },
      } satisfies Plugin<'last'>);
    const request = client.api.request(question).catch((error: unknown) => error);
    await server.until(() => server.requests.length === 1);
    await client.close().catch(() => undefined);
    await request;
    expect(heard).toEqual(['failed', 'close', 'disposal of last', 'the fault of last', 'disposal of first']);
  });

  test('G2 of one client know nothing of another, even if they are the same object', async () => {
    const notes: string[] = [];
    const heard: string[] = [];
    const plugin = {
      ...noting('a', notes),
      setup: ({ logger }) => ({ say: (word: string) => logger.info(word) }),
      hooks: { info: ({ message }) => heard.push(message) },
    } satisfies Plugin<'a'>;
    const one = createClient(options).use(plugin);
    const other = createClient(options).use(plugin);
    one.a.say('one');
    await one.close();
    other.a.say('other');
    expect(heard).toEqual(['one', 'other']);
    expect(notes).toEqual(['disposed of a']);
    await other.close();
  });
});

describe('a plugin that can not set up', () => {
  const cases: readonly [string, Partial<Plugin>, object][] = [
    [
      'since it throws',
      { setup: throwing(new Error('no')) },
      { message: 'The plugin "bad" could not set up. See its cause.', cause: new Error('no') },
    ],
    [
      'since one of its links throws',
      { links: [throwing(new Error('no'))] },
      { message: 'The plugin "bad" could not set up. See its cause.', cause: new Error('no') },
    ],
    [
      'since it returns a number',
      { setup: () => 5 as never },
      { message: expect.stringContaining('has to return an object') },
    ],
    [
      'since it returns null',
      { setup: () => null as never },
      { message: expect.stringContaining('has to return an object') },
    ],
    [
      'since it returns nothing',
      { setup: () => undefined as never },
      { message: expect.stringContaining('has to return an object') },
    ],
    [
      'since it is async',
      { setup: async () => Promise.resolve({}) },
      { message: expect.stringContaining('its setup is async, but a namespace has to be there at once') },
    ],
    [
      'since it is async and fails',
      { setup: async () => Promise.reject(new Error('told to nobody')) },
      { message: expect.stringContaining('its setup is async') },
    ],
    [
      'since the client has no state for it',
      { setup: ({ state }) => state },
      { message: 'The plugin "bad" could not set up. See its cause.', cause: new Error('no state') },
    ],
  ];

  test.each(cases)('G2 %s closes the client, and those before it are disposed of', async (_why, bad, expected) => {
    const notes: string[] = [];
    const client = createClient({ ...options, state: throwing(new Error('no state')) })
      .use(noting('a', notes))
      .use(noting('b', notes));
    const ended = completed(client);
    const failing: Plugin = { name: 'bad', ...bad, dispose: () => void notes.push('disposed of bad') };
    expect(thrownBy(() => client.use(failing))).toMatchObject({ name: 'PluginError', code: 'plugin', ...expected });
    await ended;
    expect(notes).toEqual(['set up a', 'set up b', 'disposed of b', 'disposed of a']);
    expect(client).not.toHaveProperty('bad');
    expect(() => client.use(noting('c', notes))).toThrow('The client is closed');
  });

  test('says so in its own words, where those are errors of ours', () => {
    expect(() => createClient(options).use(testApi('ftp://example.com'))).toThrow(ConfigError);
  });

  test('is not set up at all on a client that is closed', async () => {
    const notes: string[] = [];
    const client = createClient(options);
    await client.close();
    expect(() => client.use(noting('a', notes))).toThrow('The client is closed, so "a" can\'t be added.');
    expect(notes).toEqual([]);
  });
});

describe('a namespace', () => {
  test('may be a function, and stays as it is', async () => {
    const client = createClient(options).use({
      name: 'double',
      setup: () => (x: number) => 2 * x,
    } satisfies Plugin<'double'>);
    expect(client.double(21)).toBe(42);
    expect(() => Object.assign(client, { double: 5 })).toThrow(TypeError);
    expect(() => Reflect.deleteProperty(client, 'double')).not.toThrow();
    expect(client.double(1)).toBe(2);
    await client.close();
  });

  test('is empty where nothing sets it up', async () => {
    const client = createClient(options).use({ name: 'quiet' } satisfies Plugin<'quiet'>);
    expect(client.quiet).toEqual({});
    await client.close();
  });
});
