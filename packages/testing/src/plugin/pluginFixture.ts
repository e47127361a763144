import type { Plugin } from '@sluice/core';
import type { Fixture } from '../suite.js';

/** A plugin, and what belongs to it. */
export interface PluginFixture<Api extends object> extends Fixture {
  /** The plugin, made anew with options that are right. Each client gets one of its own. */
  plugin(): Plugin<string, Api>;
  /** What it requires, made anew, in the order of use. Default: nothing. */
  needs?(): readonly Plugin[];
  /** Lets the namespace make at least one request that is answered. Without it only what needs no request is checked. */
  use?(api: Api): Promise<unknown>;
  /** Uses that make no sense, of the plugin's maker or its namespace: each throws, or rejects, before any request. Default: none. */
  readonly refused?: readonly ((api: Api) => unknown)[];
  /** The key that the API takes. Default: one of the suite's own. */
  readonly apiKey?: string;
}
