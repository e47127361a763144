import { hintFor, unknownOption } from '../checks.js';
import { PluginError } from '../errors.js';
import { isRecord, kindOf } from '../values.js';
import { hookNames, isHookName } from './clientEvent.js';
import type { WithNamespace, WithNeedsNamed } from './pluginTypes.js';
import type { Plugin } from './plugin.js';

/**
 * Checks a value that was loaded as a plugin, e.g. from a user's file. It calls nothing of it.
 *
 * @param called its name in the message. Default: the plugin's name.
 *
 * @example
 * declare const loaded: unknown;
 * client.use(checkPlugin(loaded, './myPlugin.js'));
 *
 * @throws PluginError saying what is wrong with it.
 */
export function checkPlugin(value: unknown, called?: string): Plugin {
  const name = called ?? shownName(value);
  if (!isPlugin(value)) throw new PluginError(`${name} is not a plugin: ${faultOf(value) ?? 'it cannot be read'}.`);
  // An instance of a class may have fields of its own.
  const isPlain = Object.getPrototypeOf(value) === Object.prototype;
  const unknown = isPlain ? unknownOption(value, pluginParts) : undefined;
  if (unknown !== undefined) throw new PluginError(`${name} ${unknown}`);
  return value;
}

function isPlugin(value: unknown): value is Plugin {
  return faultOf(value) === undefined;
}

/** Valid in properties, file names and commands: a letter, then letters, digits, `-` and `_`. */
export const nameForm = /^[A-Za-z][\w-]{0,63}$/;

function faultOf(value: unknown): string | undefined {
  if (typeof value === 'function') return 'it is a function. Call it: a plugin is what it returns';
  if (!isRecord(value)) return `it is ${kindOf(value)}, and not an object`;
  if (typeof value['then'] === 'function') return 'it is a promise. Await it first';
  const { name, requires = [], setup, dispose, hooks = {}, links = [], sinks = {}, stores = {} } = value;
  if (typeof name !== 'string') return `its name is ${kindOf(name)}, and not text`;
  if (!nameForm.test(name)) return 'its name must be a letter, then at most 63 letters, digits, "-" or "_"';
  for (const [part, method] of Object.entries({ setup, dispose }))
    if (method !== undefined && typeof method !== 'function')
      return `its ${part} is ${kindOf(method)}, and not a function`;
  if (!Array.isArray(requires) || !requires.every((each) => typeof each === 'string'))
    return 'its requires is not a list of names';
  if (!Array.isArray(links) || !links.every((link) => typeof link === 'function'))
    return 'its links are not a list of functions';
  return (
    faultIn('hooks', hooks, hookFault) ?? faultIn('sinks', sinks, nameFault) ?? faultIn('stores', stores, nameFault)
  );
}

const pluginParts: Readonly<Record<keyof Plugin, true>> = {
  name: true,
  requires: true,
  setup: true,
  hooks: true,
  links: true,
  sinks: true,
  stores: true,
  dispose: true,
};

/** What is wrong with a record of functions. */
function faultIn(part: string, value: unknown, faultOfName: (name: string) => string | undefined): string | undefined {
  if (!isRecord(value)) return `its ${part} are ${kindOf(value)}, and not an object of functions`;
  for (const [name, entry] of Object.entries(value)) {
    const fault = faultOfName(name);
    if (fault !== undefined) return `${JSON.stringify(name)} in its ${part} ${fault}`;
    if (typeof entry !== 'function')
      return `${JSON.stringify(name)} in its ${part} is ${kindOf(entry)}, and not a function`;
  }
  return undefined;
}

function hookFault(name: string): string | undefined {
  return isHookName(name) ? undefined : `is not an event (${hintFor(name, hookNames)})`;
}

/** A single letter before a colon is a drive. */
function nameFault(name: string): string | undefined {
  if (nameForm.test(name) && name.length > 1) return undefined;
  return 'is not a valid name: it must be a letter, then 1 to 63 letters, digits, "-" or "_"';
}

function shownName(value: unknown): string {
  const name = isRecord(value) ? value['name'] : undefined;
  return typeof name === 'string' ? `The plugin ${JSON.stringify(name.slice(0, 80))}` : 'What was given as a plugin';
}

/**
 * Defines a plugin and infers its types: its name, its namespace from the result of `setup`, and what it requires from
 * the type of `setup`'s second parameter.
 *
 * The client sends its key to every base URL that its plugins open: use a separate client for an API with another
 * key, and only plugins that you trust.
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
 * @throws PluginError if it is not a plugin, which the compiler can't always see.
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
