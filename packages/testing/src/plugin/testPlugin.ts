import { checkOptions } from '@sluice/core/kit';
import { registerChecks, suiteOptionNames, type Factory, type SuiteOptions } from '../suite.js';
import { pluginChecks } from './pluginChecks.js';
import type { PluginFixture } from './pluginFixture.js';

/** Options of {@link testPlugin}. */
export interface PluginSuiteOptions<Api extends object> extends SuiteOptions {
  /** Creates a plugin, and its API if it has one. */
  readonly factory: () => PluginFixture<Api> | Promise<PluginFixture<Api>>;
}

/**
 * Checks that a plugin makes no requests until it is used, and only through its client; that it is disposed of without
 * errors and can be used again; that its hooks accept every event; that it refuses invalid uses before any request, and
 * names what it requires.
 *
 * @example
 * testPlugin({
 *   test,
 *   factory: () => ({
 *     plugin: () => streams({ baseUrl: sandbox.streamsUrl }),
 *     use: (api) => api.list({ maxRows: 1 }).toArray(),
 *     refused: [(api) => api.list({ pageSize: 0 })],
 *     apiKey: sandbox.apiKey,
 *   }),
 * });
 */
export function testPlugin<Api extends object>(options: PluginSuiteOptions<Api>): void {
  checkOptions('testPlugin()', options, { ...suiteOptionNames, factory: true });
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- a fixture gets the API of its own plugin only
  const factory = options.factory as unknown as Factory<PluginFixture<object>>;
  registerChecks(options, pluginChecks, async (trial) => ({ trial, fixture: await trial.own(factory()) }));
}
