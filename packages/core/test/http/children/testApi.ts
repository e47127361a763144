import type { Endpoint, Plugin } from '../../../src/index.js';

/** A plugin that passes its endpoint on. */
export function testApi(baseUrl: string): Plugin<'api', Endpoint> {
  return { name: 'api', setup: ({ endpoint }) => endpoint(baseUrl) };
}
