import { PluginError } from '../errors.js';

/**
 * An error thrown by a source's own code: an object as it is; other values are wrapped, since they have no stack.
 *
 * @param what the function that threw, e.g. `fetch`
 */
export function sourceFault(thrown: unknown, name: string, what: 'fetch' | 'decode' | 'filter'): unknown {
  if (typeof thrown === 'object' && thrown !== null) return thrown;
  return new PluginError(`${name} failed: what its ${what} threw is not an Error.`, {
    cause: thrown ?? String(thrown),
    advice: [{ kind: 'see-cause' }],
  });
}
