import { SluiceError } from '../../errors.js';
import { isPlain } from '../../json.js';
import { isList } from '../../values.js';
import { needed } from './template.js';

interface Making {
  /** The source's name, for errors. */
  readonly name: string;
  readonly what: 'query' | 'headers' | 'body';
}

/**
 * Calls a function of a definition with the parameters.
 *
 * An optional parameter may be missing, as long as nothing is made of it: `id:undefined` may even be found. So the names that the function reads without finding a value are recorded, nested ones as well. If
 * the result has such a flaw, and has fewer with a value in place of one of them, that is the parameter it needs.
 *
 * @param make called again if its result has flaws, so it must not have effects
 *
 * @throws ConfigError that names the missing parameter, before any request.
 */
export function withParams<Params, Made>(make: (params: Params) => Made, params: Params, making: Making): Made {
  const missing = new Set<string>();
  const flawsWith = (param: string): number => {
    try {
      return countFlaws(make(recordMissing(params, (read) => (read === param ? probe : undefined))), making);
    } catch {
      return Infinity;
    }
  };
  const refuse = (flaws: number): void => {
    const param = flaws > 0 ? [...missing].find((read) => flawsWith(read) < flaws) : undefined;
    if (param !== undefined) throw needed(making.name, param, making.what);
  };
  let made: Made;
  try {
    made = make(
      recordMissing(params, (param) => {
        missing.add(param);
        return undefined;
      }),
    );
  } catch (error) {
    // E.g. of `id.trim()`. An error that the definition throws on purpose says more than we can.
    if (missing.size === 0 || SluiceError.is(error)) throw error;
    refuse(Infinity);
    throw needed(making.name, [...missing].join(', '), making.what);
  }
  refuse(countFlaws(made, making));
  return made;
}

/** In place of a missing parameter: a text without a flaw, which hides none beside it. */
const probe = '-probe-';

/**
 * A view of plain objects and lists.
 *
 * @param onMissing called with the name of each value that is read and missing, e.g. `order.id`; returns what to read
 * instead
 */
function recordMissing<T>(value: T, onMissing: (param: string) => string | undefined, path = ''): T {
  if (!isPlain(value) && !isList(value)) return value;
  return new Proxy(value, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name);
      if (typeof name === 'symbol' || name === 'toJSON') return found;
      const param = isList(target) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
      if (found === undefined || found === null || Number.isNaN(found)) return onMissing(param) ?? found;
      // A proxy must return the value itself of a property that can't change.
      const { configurable = true, writable = true } = Reflect.getOwnPropertyDescriptor(target, name) ?? {};
      return configurable || writable ? recordMissing(found, onMissing, param) : found;
    },
  });
}

/** The number of places in a result that look like made of a missing parameter. */
function countFlaws(made: unknown, making: Making): number {
  // JSON would leave out the field. So does a query, which is how it expresses optional parameters.
  if (made === undefined) return making.what === 'body' ? 1 : 0;
  if (typeof made === 'string') return made.match(/\bundefined\b/g)?.length ?? 0;
  if (!isList(made) && !isPlain(made)) return 0;
  let flaws = 0;
  for (const part of Object.values(made)) flaws += countFlaws(part, making);
  return flaws;
}
