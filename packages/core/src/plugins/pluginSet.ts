import { settlesWithin, type Clock } from '../clock.js';
import { PluginError } from '../errors.js';
import type { Sink } from '../rows/sink/sink.js';
import type { StateStore } from '../rows/sink/stateStore.js';
import type { EventHub } from './eventHub.js';
import { reservedNames } from './pluginTypes.js';
import type { Plugin, PluginContext } from './plugin.js';
import { Registry } from './registry.js';

/** Ms that a plugin's disposal may take. */
const longestDisposal = 10_000;

/** The plugins of a client, in the order of their set-up. */
export class PluginSet {
  readonly sinks = new Registry<Sink<object>>('sink', (made) => has(made, ['open']));
  readonly stores = new Registry<StateStore>('store', (made) => has(made, ['lock', 'load', 'save', 'remove', 'log']));
  readonly #apis = new Map<string, object>();
  readonly #plugins: Plugin[] = [];
  readonly #hub: EventHub;
  readonly #clock: Clock;

  constructor(hub: EventHub, clock: Clock) {
    this.#hub = hub;
    this.#clock = clock;
  }

  /** @throws PluginError unless its names are free on this client, and the plugins that it requires are in use. */
  check({ name, requires = [], sinks, stores }: Plugin, client: object): void {
    const reserved: readonly string[] = reservedNames;
    if (name in client || reserved.includes(name))
      throw new PluginError(
        `The name "${name}" is taken or reserved on this client. Use each plugin once, and rename one of two that clash.`,
      );
    const missing = requires.filter((each) => !this.#apis.has(each)).map((each) => `"${each}"`);
    if (missing.length > 0)
      throw new PluginError(
        `The plugin "${name}" requires ${missing.join(' and ')}, which this client does not have. Use ${missing.length === 1 ? 'it' : 'them'} first, then "${name}".`,
      );
    this.sinks.check(name, sinks);
    this.stores.check(name, stores);
  }

  /** Returns the plugin's namespace. @throws what its setup throws; PluginError if the result is not a namespace. */
  setUp(plugin: Plugin, context: PluginContext): object {
    const { name, requires = [], hooks, sinks, stores } = plugin;
    const needs = Object.fromEntries(requires.map((each) => [each, this.#apis.get(each)]));
    const api = plugin.setup ? namespaceOf(name, plugin.setup(context, needs)) : Object.freeze({});
    this.#plugins.push(plugin);
    this.#apis.set(name, api);
    this.sinks.add(name, sinks);
    this.stores.add(name, stores);
    if (hooks) this.#hub.add(name, hooks);
    return api;
  }

  /**
   * Disposes of all plugins, the last one first. Each failure is an event.
   *
   * @throws PluginError of the first failure, after the last disposal.
   */
  async dispose(): Promise<void> {
    let failure: PluginError | undefined;
    for (let plugin = this.#plugins.pop(); plugin; plugin = this.#plugins.pop()) {
      // A disposed plugin receives no more events.
      this.#hub.remove(plugin.name);
      try {
        await this.#disposal(plugin);
      } catch (cause) {
        const error = new PluginError(`The plugin "${plugin.name}" could not be disposed of.`, {
          cause,
          advice: [{ kind: 'see-cause' }],
        });
        this.#hub.fault(plugin.name, 'dispose', error);
        failure ??= error;
      }
    }
    if (failure) throw failure;
  }

  /** Limited in time, so that a plugin that hangs does not keep those before it from being disposed of. */
  async #disposal(plugin: Plugin): Promise<void> {
    if (!plugin.dispose) return;
    const disposal = Promise.resolve(plugin.dispose());
    if (!(await settlesWithin(this.#clock, longestDisposal, disposal)))
      throw new Error(
        `It took longer than ${String(longestDisposal / 1000)} s. Does it wait for the client's close, which waits for it?`,
      );
    await disposal;
  }
}

/** @throws PluginError unless it is an object and not a promise: a plugin in JavaScript may return anything. */
function namespaceOf(name: string, api: unknown): object {
  if ((typeof api !== 'object' && typeof api !== 'function') || api === null)
    throw new PluginError(
      `The plugin "${name}" could not set up: its setup has to return an object, {} if there is nothing in it.`,
    );
  if (!has(api, ['then'])) return api;
  // The client is closed, so nobody can be told how the promise ends.
  Promise.resolve(api).catch(() => undefined);
  throw new PluginError(
    `The plugin "${name}" could not set up: its setup is async, but a namespace has to be there at once. Wait inside of its functions.`,
  );
}

function has(value: unknown, functions: readonly string[]): boolean {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    functions.every((name) => typeof Reflect.get(value, name) === 'function')
  );
}
