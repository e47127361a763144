import { createClient, memoryState, type Client, type ClientEvent, type Plugin } from '@sluice/core';
import { check, shown } from '../check.js';
import { inTime } from '../waiting.js';
import { Skipped, type Trial } from '../suite.js';
import type { PluginFixture } from './pluginFixture.js';

/** A plugin on a client of its own, and what it did there. */
export class UsedPlugin<Api extends object> {
  readonly client: Client;
  readonly plugin: Plugin<string, Api>;
  readonly events: ClientEvent[] = [];
  /** What it kept in its state, as text. */
  readonly kept: string[] = [];
  readonly disposed: string[] = [];
  readonly apiKey: string;
  requests = 0;
  #api: Api | undefined;
  readonly #fixture: PluginFixture<Api>;
  readonly #timeout: number;

  private constructor(trial: Trial<PluginFixture<Api>>, fixture: PluginFixture<Api>) {
    this.#fixture = fixture;
    this.#timeout = trial.timeout;
    this.plugin = fixture.plugin();
    this.apiKey = fixture.apiKey ?? 'key-of-the-suite-5d1f8a07c3';
    this.client = createClient({
      apiKey: this.apiKey,
      rateLimit: false,
      links: [
        (next) => (request) => {
          this.requests += 1;
          return next(request);
        },
      ],
      state: () => this.#state(),
    });
    this.client.events.subscribe((event) => this.events.push(event));
    trial.atEnd(() => this.client.close());
  }

  /** On a client that has all that it requires. */
  static on<Api extends object>(trial: Trial<PluginFixture<Api>>, fixture: PluginFixture<Api>): UsedPlugin<Api> {
    const used = new UsedPlugin(trial, fixture);
    for (const need of fixture.needs?.() ?? []) used.client.use(used.#watched(need));
    used.setUp();
    return used;
  }

  /** On a client that has nothing. */
  static without<Api extends object>(trial: Trial<PluginFixture<Api>>, fixture: PluginFixture<Api>): UsedPlugin<Api> {
    return new UsedPlugin(trial, fixture);
  }

  setUp(): void {
    const { plugin } = this;
    const setup = (...[context, needs]: Parameters<NonNullable<Plugin<string, Api>['setup']>>): Api | undefined =>
      (this.#api = plugin.setup?.(context, needs));
    this.client.use({ ...this.#watched(plugin), ...(plugin.setup && { setup: (...how) => setup(...how) ?? {} }) });
  }

  get api(): Api {
    if (!this.#api) throw new Skipped('a plugin with a namespace');
    return this.#api;
  }

  async use(): Promise<void> {
    if (!this.#fixture.use) throw new Skipped('`use` of the fixture');
    await inTime((async () => this.#fixture.use?.(this.api))(), 'The use of a plugin did not settle', this.#timeout);
  }

  async close(): Promise<void> {
    await inTime(this.client.close(), 'The client of a plugin did not close', this.#timeout);
  }

  /** Checks that nothing has failed where nobody waits for it. */
  checkFaults(): void {
    const fault = this.events.find(({ type }) => type === 'plugin-fault');
    check(fault === undefined, `Something failed in the plugin where nobody waits for it: ${shown(fault)}.`);
  }

  #watched(plugin: Plugin): Plugin {
    const { name, requires, hooks, links, sinks, stores } = plugin;
    return {
      name,
      ...(requires && { requires }),
      ...(hooks && { hooks }),
      ...(links && { links }),
      ...(sinks && { sinks }),
      ...(stores && { stores }),
      setup: (context, needs) => plugin.setup?.(context, needs) ?? {},
      dispose: () => {
        this.disposed.push(name);
        return plugin.dispose?.();
      },
    };
  }

  #state() {
    const state = memoryState();
    return {
      ...state,
      save: (name: string, record: object) => {
        this.kept.push(name, JSON.stringify(record));
        return state.save(name, record);
      },
    };
  }
}
