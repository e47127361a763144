import type { Plugin } from '@sluice/core';
import type { Fixture } from '../suite.js';

/** A plugin and its surroundings. */
export interface PluginFixture<Api extends object> extends Fixture {
  /** Creates the plugin with valid options, once per client. */
  plugin(): Plugin<string, Api>;
  /** Creates the plugins that it requires, in order of use. Default: none. */
  needs?(): readonly Plugin[];
  /** Makes at least one successful request through the namespace. Default: checks that need a request are skipped. */
  use?(api: Api): Promise<unknown>;
  /** Invalid uses of the factory or the namespace: each throws or rejects before any request. Default: none. */
  readonly refused?: readonly ((api: Api) => unknown)[];
  /** The key that the API accepts. Default: a key of the suite. */
  readonly apiKey?: string;
}
