import type { Clock } from '../clock.js';
import { PluginError } from '../errors.js';
import type { Sink } from '../sink/sink.js';
import type { StateStore } from '../sink/stateStore.js';
import type { EventHub } from './eventHub.js';
import { reservedNames } from './fit.js';
import type { Plugin, PluginContext } from './plugin.js';
import { Registry } from './registry.js';

/** Ms that a plugin may take to be disposed of. */
const longestDisposal = 10_000;

/** The plugins of a client, in the order in which they were set up. */
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

  /** @throws PluginError unless all its names are free on this client, and what it requires is in use. */
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

  /**
   * Sets a plugin up, and answers its namespace.
   *
   * @throws whatever its setup throws; PluginError if that makes no namespace.
   */
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
   * Disposes of all of them, the last one first.
   *
   * @throws PluginError if one of them failed, once all are through. Events tell of each.
   */
  async dispose(): Promise<void> {
    let failure: PluginError | undefined;
    for (let plugin = this.#plugins.pop(); plugin; plugin = this.#plugins.pop()) {
      // What happens from here on finds it half gone.
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

  /** A plugin that hangs must not keep those before it from being disposed of. */
  async #disposal(plugin: Plugin): Promise<void> {
    if (!plugin.dispose) return;
    let cancel: () => void = () => undefined;
    const late = new Promise<never>((_resolve, reject) => {
      cancel = this.#clock.after(longestDisposal, () => {
        reject(
          new Error(
            `It took longer than ${String(longestDisposal / 1000)} s. Does it wait for the client's close, which waits for it?`,
          ),
        );
      });
    });
    try {
      await Promise.race([plugin.dispose(), late]);
    } finally {
      cancel();
    }
  }
}

/** @throws PluginError unless it is an object, and there already: what no compiler has seen may return anything. */
function namespaceOf(name: string, api: unknown): object {
  if ((typeof api !== 'object' && typeof api !== 'function') || api === null)
    throw new PluginError(
      `The plugin "${name}" could not set up: its setup has to return an object, {} if there is nothing in it.`,
    );
  if (!has(api, ['then'])) return api;
  // What becomes of the promise is told to nobody: there is no client any more.
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
