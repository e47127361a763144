import { createClient, memoryState, type Client, type ClientEvent, type Plugin } from '@sluice/core';
import { check, show } from '../check.js';
import { Skipped, type Trial } from '../suite.js';
import type { PluginFixture } from './pluginFixture.js';

/** What a check of a plugin works with. */
export interface PluginSetting {
  readonly trial: Trial;
  readonly fixture: PluginFixture<object>;
}

/** A plugin on a client of its own, and what it did there. */
export class UsedPlugin {
  readonly client: Client;
  readonly plugin: Plugin;
  readonly events: ClientEvent[] = [];
  /** The names and records that it saved in its state, as text. */
  readonly saved: string[] = [];
  readonly disposed: string[] = [];
  readonly apiKey: string;
  requests = 0;
  #api: object | undefined;
  readonly #setting: PluginSetting;

  /** Does not set up the plugin. */
  constructor(setting: PluginSetting) {
    const { trial, fixture } = setting;
    this.#setting = setting;
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

  /** Uses the plugin on a client that has the plugins that it requires. */
  static on(setting: PluginSetting): UsedPlugin {
    const used = new UsedPlugin(setting);
    for (const need of setting.fixture.needs?.() ?? []) used.client.use(used.#watched(need));
    used.setUp();
    return used;
  }

  setUp(): void {
    const { plugin } = this;
    const setup = (...[context, needs]: Parameters<NonNullable<Plugin['setup']>>): object | undefined =>
      (this.#api = plugin.setup?.(context, needs));
    this.client.use({ ...this.#watched(plugin), ...(plugin.setup && { setup: (...args) => setup(...args) ?? {} }) });
  }

  get api(): object {
    if (!this.#api) throw new Skipped('a plugin with a namespace');
    return this.#api;
  }

  async use(): Promise<void> {
    const { trial, fixture } = this.#setting;
    if (!fixture.use) throw new Skipped('`use` of the fixture');
    await trial.inTime((async () => fixture.use?.(this.api))(), 'The use of a plugin did not settle');
  }

  async close(): Promise<void> {
    await this.#setting.trial.inTime(this.client.close(), 'The client of a plugin did not close');
  }

  /** Checks that nothing failed in the background. */
  checkFaults(): void {
    const fault = this.events.find(({ type }) => type === 'plugin-fault');
    check(fault === undefined, `The plugin failed in the background: ${show(fault)}.`);
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
        this.saved.push(name, JSON.stringify(record));
        return state.save(name, record);
      },
    };
  }
}
