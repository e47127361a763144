import { checkPlugin } from './checkPlugin.js';
import type { WithNamespace, WithNeedsNamed } from './fit.js';
import type { Plugin } from './plugin.js';

/**
 * Defines a plugin, and works its types out: its name, its namespace from what `setup` returns, and what it requires from the type of
 * `setup`'s second parameter.
 *
 * The client's key goes to every base address that its plugins open: use a client of its own for an API with another key, and only plugins
 * that you trust.
 *
 * @example
 * const prices = (options: { readonly baseUrl: string }) =>
 *   definePlugin({
 *     name: 'prices',
 *     requires: ['aptos'],
 *     setup({ endpoint }, { aptos }: { aptos: AptosApi }) {
 *       const api = endpoint(options.baseUrl);
 *       return { latest: () => api.request({ route: 'prices.latest', path: '/latest', query: {} }) };
 *     },
 *     hooks: { error: ({ name, error }) => console.error(name, error.message) },
 *   });
 * const client = createClient({ apiKey }).use(aptos({ baseUrl })).use(prices({ baseUrl }));
 * console.log(await client.prices.latest());
 *
 * @throws PluginError if it is none, which the compiler can't always see.
 */
export function definePlugin<
  const Name extends string,
  Api extends object = object,
  Needs extends object = object,
  const Named extends readonly string[] = readonly [],
>(
  plugin: Plugin<Name, Api, Needs> & { readonly requires?: Named } & WithNeedsNamed<Needs, Named> & WithNamespace<Api>,
): Plugin<Name, Api, Needs> {
  checkPlugin(plugin);
  return plugin;
}
