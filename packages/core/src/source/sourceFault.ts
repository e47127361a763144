import { PluginError } from '../errors.js';

/**
 * What a source's own code threw, as it is if it is an object. A text has no stack, so without the source's name nobody would know whose it is.
 *
 * @param what the function of the source that threw it, e.g. `fetch`.
 */
export function sourceFault(thrown: unknown, name: string, what: 'fetch' | 'decode'): unknown {
  if (typeof thrown === 'object' && thrown !== null) return thrown;
  return new PluginError(`${name} failed: what its ${what} threw is not an Error.`, {
    cause: thrown ?? String(thrown),
    advice: [{ kind: 'see-cause' }],
  });
}
