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
 * An optional parameter may be missing, unless the function makes a flawed result of it, such as `id:undefined`, which
 * an API may even find. So the names that the function reads without finding a value are recorded, including nested
 * ones. If the result has flaws, and fewer with a value for one of these names, that parameter is needed.
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
    // The missing parameter made it throw, e.g. `id.trim()`. An error that a definition throws on purpose says more.
    if (missing.size === 0 || SluiceError.is(error)) throw error;
    refuse(Infinity);
    throw needed(making.name, [...missing].join(', '), making.what);
  }
  refuse(countFlaws(made, making));
  return made;
}

/** A text in place of a missing parameter: it is not a flaw, and does not hide flaws next to it. */
const probe = '-probe-';

/**
 * A view of plain objects and lists.
 *
 * @param onMissing called with the name of each missing value that is read, e.g. `order.id`; returns a replacement
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

/** The number of places in a result that seem to be made from a missing parameter. */
function countFlaws(made: unknown, making: Making): number {
  // JSON would leave the field out. A query does so as well, but on purpose: it expresses an optional parameter.
  if (made === undefined) return making.what === 'body' ? 1 : 0;
  if (typeof made === 'string') return made.match(/\bundefined\b/g)?.length ?? 0;
  if (!isList(made) && !isPlain(made)) return 0;
  let flaws = 0;
  for (const part of Object.values(made)) flaws += countFlaws(part, making);
  return flaws;
}
