import { describe, expect, test } from 'vitest';
import {
  createClient,
  definePlugin,
  memoryState,
  PluginError,
  type ClientOptions,
  type Plugin,
  type Sink,
} from '../../src/index.js';
import { checkPlugin } from '../../src/kit.js';
import { canary } from '../http/canary.js';
import { noting } from './noting.js';
import { thrownBy } from '../../../../test/kit/thrownBy.js';

const options: ClientOptions = { apiKey: canary, rateLimit: false };

const nowhere: Sink<object> = {
  name: 'nowhere',
  identity: null,
  delivery: 'at-least-once',
  open: () => Promise.reject(new Error('It is never opened.')),
};

/** Asserts that a client refuses a plugin, and that nothing has come of it. */
function expectRefusal(
  client: object & { use(plugin: Plugin): unknown; sinks: object; stores: object },
  plugin: Plugin,
  message: string,
): void {
  const notes: string[] = [];
  const before = { ...client };
  const setup = (): object => ({ notes: notes.push('set up') });
  const error = thrownBy(() => client.use({ ...plugin, setup, links: [(next) => (notes.push('linked'), next)] }));
  expect(error).toBeInstanceOf(PluginError);
  expect(error).toMatchObject({ code: 'plugin', message: expect.stringContaining(message) });
  expect(notes).toEqual([]);
  expect({ ...client }).toEqual(before);
}

describe('names', () => {
  test('G1 are those under which plugins are found', async () => {
    const client = createClient(options).use(noting('a', [])).use(noting('b-2', []));
    expect([client.a.name, client['b-2'].name]).toEqual(['a', 'b-2']);
    await client.close();
  });

  test('G1 are taken once, and nothing changes where one is taken twice', async () => {
    const client = createClient(options).use(noting('a', []));
    expectRefusal(client, noting('a', []), 'The name "a" is taken or reserved');
    expect(client.use(noting('b', [])).a.name).toBe('a');
    await client.close();
  });

  test.each([
    'use',
    'close',
    'events',
    'limiter',
    'sinks',
    'stores',
    'then',
    'catch',
    'finally',
    'toJSON',
    'toString',
    'valueOf',
    'constructor',
    'prototype',
    'hasOwnProperty',
  ])('G1 can not be %j, which has a meaning already', async (name) => {
    const client = createClient(options);
    expectRefusal(client, { name }, `The name "${name}" is taken or reserved`);
    await client.close();
  });

  test('G1 can not be a word of the client, whatever is added to it', async () => {
    const client = createClient(options);
    for (const name of Object.keys(client)) expectRefusal(client, { name }, `The name "${name}" is taken or reserved`);
    await client.close();
  });

  test.each(['', ' ', 'a b', '1a', 'a.b', 'a/b', '../a', 'a:b', '__proto__', '-a', 'größe', 'a\n', 'a'.repeat(65)])(
    'G1 can not be %j, which is none in a file name or on a command line',
    async (name) => {
      const client = createClient(options);
      expectRefusal(client, { name }, 'its name must be a letter');
      await client.close();
    },
  );
});

describe('what a plugin requires', () => {
  const greeting = definePlugin({ name: 'greeting', setup: () => ({ word: 'Hello' }) });
  const polite = definePlugin({
    name: 'polite',
    requires: ['greeting'],
    setup: (_context, { greeting: { word } }: { greeting: { word: string } }) => ({
      say: (name: string) => `${word}, ${name}`,
    }),
  });

  test('G1 is handed to it', async () => {
    const client = createClient(options).use(greeting).use(polite);
    expect(client.polite.say('you')).toBe('Hello, you');
    await client.close();
  });

  test('G1 is all that it is handed', async () => {
    let needs = {};
    const client = createClient(options)
      .use(greeting)
      .use(noting('other', []))
      .use({
        name: 'polite',
        requires: ['greeting'],
        setup: (_context, handed: object) => (needs = handed),
      });
    expect(Object.keys(needs)).toEqual(['greeting']);
    await client.close();
  });

  test('G1 has to be there before it, and the message says so', async () => {
    const client = createClient(options);
    expectRefusal(
      client,
      polite,
      'The plugin "polite" requires "greeting", which this client does not have. Use it first, then "polite".',
    );
    const both: Plugin = { ...polite, requires: ['greeting', 'manners'] };
    expectRefusal(
      client,
      both,
      'requires "greeting" and "manners", which this client does not have. Use them first, then "polite".',
    );
    await client.close();
  });

  test('G1 is a plugin, and not a part of the client', async () => {
    const client = createClient(options);
    expectRefusal(client, { name: 'greedy', requires: ['limiter'] }, 'requires "limiter"');
    expectRefusal(client, { name: 'greedy', requires: ['__proto__'] }, 'requires "__proto__"');
    await client.close();
  });
});

describe('sinks and stores by name', () => {
  const sinks = { nowhere: () => nowhere };
  const folder = '/somewhere';

  test('G1 are found on the client, with their plugin', async () => {
    const state = memoryState();
    const asked: unknown[] = [];
    const client = createClient(options).use({
      name: 'a',
      sinks: { nowhere: (...args) => (asked.push(args), nowhere) },
      stores: { memory: async () => Promise.resolve(state) },
    } satisfies Plugin<'a'>);
    expect([...client.sinks.keys(), ...client.stores.keys()]).toEqual(['nowhere', 'memory']);
    expect(await client.sinks.get('nowhere')?.('there', { folder })).toBe(nowhere);
    expect(await client.stores.get('memory')?.('', { folder })).toBe(state);
    expect(asked).toEqual([['there', { folder }]]);
    expect(client.a).toEqual({});
    await client.close();
  });

  test('G1 are taken once over all plugins, and nothing changes where one is taken twice', async () => {
    const stores = { memory: memoryState };
    const client = createClient(options).use({ name: 'a', sinks, stores } satisfies Plugin<'a'>);
    expectRefusal(
      client,
      { name: 'b', sinks: { other: () => nowhere, ...sinks } },
      'The plugins "a" and "b" both provide a sink named "nowhere"',
    );
    expectRefusal(
      client,
      { name: 'b', sinks: { other: () => nowhere }, stores },
      'The plugins "a" and "b" both provide a store named "memory"',
    );
    expect([...client.sinks.keys()]).toEqual(['nowhere']);
    // A sink and a store are different things.
    client.use({ name: 'b', sinks: { memory: () => nowhere } });
    await client.close();
  });

  test.each<[string, Plugin]>([
    ['a sink of the same name', { name: 'inner', sinks: { foo: () => nowhere } }],
    ['the same name', { name: 'outer' }],
    ['names of its own', { name: 'inner' }],
  ])('G1 are not taken by a plugin that another one uses while it sets up, with %s', async (_what, inner) => {
    const client = createClient(options);
    const setup = (): object => client.use(inner);
    const error = thrownBy(() => client.use({ name: 'outer', sinks: { foo: () => nowhere }, setup }));
    expect(error).toBeInstanceOf(PluginError);
    expect(error).toHaveProperty(
      'message',
      `"${inner.name}" can't be added while "outer" sets up. Use one after the other.`,
    );
    expect(client.sinks.size).toBe(0);
    await client.close();
  });

  test('G1 can not be registered past a plugin', async () => {
    const client = createClient(options).use({ name: 'a', sinks } satisfies Plugin<'a'>);
    (client.sinks as Map<string, unknown>).set('csv', () => nowhere);
    (client.sinks as Map<string, unknown>).delete('nowhere');
    expect([...client.sinks.keys()]).toEqual(['nowhere']);
    await client.close();
  });

  test.each([
    ['a', 'its sinks is not a valid name'],
    ['a:b', 'its sinks is not a valid name'],
    ['', 'its sinks is not a valid name'],
  ])('G1 can not be named %j', async (name, message) => {
    const client = createClient(options);
    expectRefusal(client, { name: 'bad', sinks: { [name]: () => nowhere } }, message);
    await client.close();
  });

  test('that can not be made say whose they are', async () => {
    const cause = new Error('no such table');
    const client = createClient(options).use({
      name: 'a',
      sinks: {
        throwing: () => {
          throw cause;
        },
        rejecting: () => Promise.reject(cause),
        wrong: () => checkPlugin(5) as never,
        empty: () => ({}) as never,
        none: () => undefined as never,
      },
    } satisfies Plugin<'a'>);
    const made = (name: string): Promise<unknown> => client.sinks.get(name)!('there', { folder });
    const message = (name: string, what: string): object => ({
      message: `The sink "${name}" of the plugin "a" ${what}`,
    });
    for (const name of ['throwing', 'rejecting'])
      await expect(made(name)).rejects.toMatchObject({
        ...message(name, 'could not be created. See its cause.'),
        cause,
      });
    await expect(made('wrong')).rejects.toMatchObject({
      message: 'What was given as a plugin is not a plugin: it is a number, and not an object.',
    });
    for (const name of ['empty', 'none'])
      await expect(made(name)).rejects.toMatchObject(
        message(name, `is invalid: its function has to return a sink. Tell the plugin's author.`),
      );
    await client.close();
  });
});

describe('what was loaded by name', () => {
  const named = (partitions: object): unknown => ({ name: 'loaded', ...partitions });

  test.each<[unknown, string]>([
    [undefined, 'What was given as a plugin is not a plugin: it is missing, and not an object'],
    [null, 'it is null, and not an object'],
    ['streams', 'it is text, and not an object'],
    [42, 'it is a number, and not an object'],
    [[], 'it is a list, and not an object'],
    [() => ({ name: 'a' }), 'it is a function. Call it: a plugin is what it returns'],
    [Promise.resolve({ name: 'a' }), 'it is a promise. Await it first'],
    [{}, 'its name is missing, and not text'],
    [{ name: 5 }, 'its name is a number, and not text'],
    [{ name: Symbol('a') }, 'its name is a symbol, and not text'],
    [named({ setup: 'now' }), 'The plugin "loaded" is not a plugin: its setup is text, and not a function'],
    [named({ setup: null }), 'its setup is null, and not a function'],
    [named({ dispose: {} }), 'its dispose is an object, and not a function'],
    [named({ requires: 'streams' }), 'its requires is not a list of names'],
    [named({ requires: [5] }), 'its requires is not a list of names'],
    [named({ links: (next: unknown) => next }), 'its links are not a list of functions'],
    [named({ links: [5] }), 'its links are not a list of functions'],
    [named({ hooks: [] }), 'its hooks are a list, and not an object of functions'],
    [named({ hooks: { retry: 5 } }), '"retry" in its hooks is a number, and not a function'],
    [named({ hooks: { onError: () => 0 } }), '"onError" in its hooks is not an event (Did you mean error?).'],
    [
      named({ hooks: { heartbeat: () => 0 } }),
      '"heartbeat" in its hooks is not an event (Available: request, attempt,',
    ],
    [named({ hooks: { toString: () => 0 } }), '"toString" in its hooks is not an event'],
    [named({ sinks: 'csv' }), 'its sinks are text, and not an object of functions'],
    [named({ sinks: { csv: nowhere } }), '"csv" in its sinks is an object, and not a function'],
    [named({ sinks: { C: () => nowhere } }), '"C" in its sinks is not a valid name'],
    [named({ stores: { redis: undefined } }), '"redis" in its stores is missing, and not a function'],
  ])('G1 is refused with what is wrong: %#', async (value, message) => {
    const error = thrownBy(() => checkPlugin(value));
    expect(error).toBeInstanceOf(PluginError);
    expect(error).toMatchObject({ message: expect.stringContaining(message) });
    const client = createClient(options);
    expect(thrownBy(() => client.use(value as Plugin))).toMatchObject({ message: (error as PluginError).message });
    expect(thrownBy(() => definePlugin(value as Plugin))).toMatchObject({ message: (error as PluginError).message });
    await client.close();
  });

  test('G1 is called as its user called it', () => {
    expect(() => checkPlugin({}, './mine.js')).toThrow('./mine.js is not a plugin: its name is missing, and not text.');
  });

  test('G1 may be an object of a class', async () => {
    class Loaded {
      readonly name = 'loaded';
      readonly #word = 'mine';
      readonly hooks = new (class {
        readonly #notes: string[] = [];
        info({ message }: { message: string }): readonly string[] {
          this.#notes.push(message);
          return this.#notes;
        }
      })();
      setup({ logger }: { logger: { info(message: string): void } }): object {
        return { word: () => (logger.info('asked'), this.#word) };
      }
    }
    const plugin = new Loaded();
    const client = createClient(options).use(plugin as Plugin<'loaded', { word(): string }>);
    expect(client.loaded.word()).toBe('mine');
    expect(plugin.hooks.info({ message: 'again' })).toEqual(['asked', 'again']);
    await client.close();
  });
});
