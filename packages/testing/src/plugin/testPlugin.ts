import { registerChecks, type Check, type SuiteOptions } from '../suite.js';
import { pluginChecks } from './pluginChecks.js';
import type { PluginFixture } from './pluginFixture.js';

/** Options of {@link testPlugin}. */
export interface PluginSuiteOptions<Api extends object> extends SuiteOptions {
  /** Makes a plugin, and the API that it asks, if there is one. */
  readonly factory: () => PluginFixture<Api> | Promise<PluginFixture<Api>>;
}

/**
 * Checks that a plugin is a good neighbour on a client: that it asks for nothing until it is used, and only through its own client; that
 * it is disposed of without a fault and can be used again; that its hooks take every event; that it refuses what makes no sense before any
 * request, and names what it requires.
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
  const checks = Object.entries(pluginChecks).map(([title, run]): [string, Check<PluginFixture<Api>>] => [
    title,
    (trial) => run(trial),
  ]);
  registerChecks(options, options.factory, Object.fromEntries(checks));
}
