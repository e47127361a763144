import { ConfigError, type Endpoint, type Plugin } from '@sluice/core';
import type { PluginFixture } from '../../src/index.js';
import { ok, startServer } from '../../../core/test/http/scriptedServer.js';
import type { Mutants } from './mutant.js';

/** The namespace of the plugins here. */
export interface PricesApi {
  latest(currency?: string): Promise<unknown>;
  readonly [more: string]: unknown;
}

type Prices = Plugin<'prices', PricesApi>;

const apiKey = 'key-of-prices-a71c';

/** A plugin that does all that a plugin may do. */
function prices(baseUrl: string): Prices & Required<Pick<Prices, 'setup'>> {
  return {
    name: 'prices',
    requires: ['rates'],
    setup({ endpoint, state }) {
      const api = endpoint(baseUrl);
      return {
        async latest(currency = 'usd') {
          if (currency === '') throw new ConfigError('currency is empty.');
          await state.save('latest', { currency });
          return api.request({ route: 'prices.latest', path: '/latest', query: { currency } });
        },
      };
    },
    hooks: { error: ({ error }) => error.message.length },
    dispose: () => Promise.resolve(),
  };
}

/** An API of its own, and a plugin for it. */
export async function pricesFixture(
  spoil: (plugin: ReturnType<typeof prices>, baseUrl: string) => Partial<Prices> = () => ({}),
): Promise<PluginFixture<PricesApi>> {
  const server = await startServer(ok());
  return {
    plugin: () => {
      const plugin = prices(server.url);
      return { ...plugin, ...spoil(plugin, server.url) };
    },
    needs: () => [{ name: 'rates', setup: () => ({}) }],
    use: (api) => api.latest(),
    refused: [(api) => api.latest('')],
    apiKey,
  };
}

function mutant(caughtBy: string, spoil: Parameters<typeof pricesFixture>[0]) {
  return { caughtBy, factory: () => pricesFixture(spoil) };
}

const reached = (endpoint: Endpoint): Promise<unknown> =>
  endpoint.request({ route: 'prices.latest', path: '/latest', query: {} });

export const pluginMutants: Mutants<PluginFixture<PricesApi>> = {
  'has another name each time': mutant('is a plugin that always has the same name, and can be used', () => ({
    name: `p${crypto.randomUUID()}` as 'prices',
  })),

  'makes no namespace': mutant('is a plugin that always has the same name, and can be used', () => ({
    setup: () => 7 as unknown as PricesApi,
  })),

  'asks as soon as it is set up': mutant('requests nothing during its setup', (plugin, baseUrl) => ({
    setup: (context, needs) => {
      void reached(context.endpoint(baseUrl)).catch(() => undefined);
      return plugin.setup(context, needs);
    },
  })),

  'can be disposed of only when it was used': mutant(
    'is disposed of without an error, and can be used again on another client',
    () => ({ dispose: () => Promise.reject(new Error('Nothing was begun.')) }),
  ),

  'can be set up only once': (() => {
    const factory = (): Promise<PluginFixture<PricesApi>> => {
      let isSetUp = false;
      return pricesFixture((plugin) => ({
        setup: (context, needs) => {
          if (isSetUp) throw new Error('It is set up already.');
          isSetUp = true;
          return plugin.setup(context, needs);
        },
      }));
    };
    return { caughtBy: 'is disposed of without an error, and can be used again on another client', factory };
  })(),

  'keeps its client for all': (() => {
    const factory = (): Promise<PluginFixture<PricesApi>> => {
      let last: PricesApi;
      return pricesFixture((plugin) => ({
        setup: (context, needs) => {
          last = plugin.setup(context, needs);
          return { latest: () => last.latest() };
        },
      }));
    };
    return { caughtBy: 'makes its requests through its own client', factory };
  })(),

  'goes past its client': mutant('makes its requests through its own client', (_plugin, baseUrl) => ({
    setup: () => ({ latest: async () => (await fetch(`${baseUrl}/latest`)).status }),
  })),

  'waits for ever when its client is closed': mutant('ends with its client', (plugin) => ({
    setup: (context, needs) => {
      const { latest } = plugin.setup(context, needs);
      return { latest: () => latest().catch(() => new Promise(() => undefined)) };
    },
  })),

  'has a hook that expects more than there is': mutant('has hooks that accept every event and throw nothing', () => ({
    hooks: { page: ({ total }) => total!.toFixed() },
  })),

  'has a hook that alters what it is told': mutant('has hooks that accept every event and throw nothing', () => ({
    hooks: { request: (event) => Object.assign(event, { url: '' }) },
  })),

  'keeps the key': mutant('reveals no API key', (plugin) => ({
    setup: (context, needs) => {
      const api = plugin.setup(context, needs);
      return {
        latest: async () => {
          await context.state.save('login', { apiKey });
          return api.latest();
        },
      };
    },
  })),

  'shows the key': mutant('reveals no API key', (plugin) => ({
    setup: (context, needs) => ({ ...plugin.setup(context, needs), apiKey }),
  })),

  'asks before it looks': mutant('refuses invalid options before it requests anything', (plugin, baseUrl) => ({
    setup: (context, needs) => {
      const { latest } = plugin.setup(context, needs);
      return {
        latest: async (currency) => {
          await reached(context.endpoint(baseUrl));
          return latest(currency);
        },
      };
    },
  })),

  'takes what makes no sense': mutant('refuses invalid options before it requests anything', (plugin) => ({
    setup: (context, needs) => {
      const { latest } = plugin.setup(context, needs);
      return { latest: () => latest() };
    },
  })),

  'does not say what it requires': mutant('names its requirements, and is disposed of before them', () => ({
    requires: [],
  })),
};
