import { ConfigError, SluiceError } from '../errors.js';
import { isPlain } from '../json.js';
import { isList, shownText } from '../values.js';

interface Making {
  /** The source's name, for errors. */
  readonly name: string;
  readonly what: 'path' | 'query' | 'headers' | 'body';
}

/**
 * Calls a function of a definition with the parameters.
 *
 * An optional parameter may be missing, as long as nothing is made of it: `/orders/undefined` is another resource, which
 * may even exist. So the names that the function reads without finding a value are recorded, nested ones as well. If
 * the result has such a flaw, and has fewer with a value in place of one of them, that is the parameter it needs.
 *
 * @param make called again if its result has flaws, so it must not have effects
 *
 * @throws ConfigError that names the missing parameter, before any request.
 */
export function withParams<Params, Made>(make: (params: Params) => Made, params: Params, making: Making): Made {
  const missing = new Map<string, Missing>();
  const flawsWith = (param: string, what: Missing): number => {
    try {
      return countFlaws(make(recordMissing(params, (read) => (read === param ? probe : undefined))), what, making);
    } catch {
      return Infinity;
    }
  };
  const needed = (flaws: (what: Missing) => number): string | undefined =>
    [...missing].find(([param, what]) => flaws(what) > 0 && flawsWith(param, what) < flaws(what))?.[0];
  let made: Made;
  try {
    const record = (param: string, what: Missing): undefined => {
      missing.set(param, what);
    };
    made = make(recordMissing(params, record));
  } catch (error) {
    // E.g. of `id.trim()`. An error that the definition throws on purpose says more than we can.
    if (missing.size === 0 || SluiceError.is(error)) throw error;
    throw refusal(making, needed(() => Infinity) ?? [...missing.keys()].join(', '));
  }
  const param = needed((what) => countFlaws(made, what, making));
  if (param !== undefined) throw refusal(making, param);
  if (making.what === 'path') checkSegments(String(made), params, making);
  return made;
}

/** A parameter that has no value, or an empty text. */
type Missing = 'no value' | 'empty';

/** In place of a missing parameter: a text without a flaw, which hides none beside it. */
const probe = '-probe-';

/**
 * A view of plain objects and lists.
 *
 * @param onMissing called with the name of each value that is read and missing, e.g. `order.id`; returns what to read
 * instead
 */
function recordMissing<T>(value: T, onMissing: (param: string, what: Missing) => string | undefined, path = ''): T {
  if (!isPlain(value) && !isList(value)) return value;
  return new Proxy(value, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name);
      if (typeof name === 'symbol' || name === 'toJSON') return found;
      const param = isList(target) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
      if (found === '') return onMissing(param, 'empty') ?? found;
      if (found === undefined || found === null || Number.isNaN(found)) return onMissing(param, 'no value') ?? found;
      // A proxy must return the value itself of a property that can't change.
      const { configurable = true, writable = true } = Reflect.getOwnPropertyDescriptor(target, name) ?? {};
      return configurable || writable ? recordMissing(found, onMissing, param) : found;
    },
  });
}

/** The number of places in a result that look like made of a missing parameter. */
function countFlaws(made: unknown, missing: Missing, { what }: Making): number {
  if (what === 'path') {
    const flaw = missing === 'empty' ? /\/(?=\/|$)/g : /\b(undefined|null|NaN)\b/g;
    return String(made).match(flaw)?.length ?? 0;
  }
  if (missing === 'empty') return 0;
  return collectTexts(made).reduce((flaws, text) => {
    // JSON would leave out the field. So does a query, which is how it expresses optional parameters.
    if (text === undefined) return flaws + (what === 'body' ? 1 : 0);
    return flaws + (text.match(/\bundefined\b/g)?.length ?? 0);
  }, 0);
}

/** All texts in a value, and `undefined` for each part that has no value. */
function collectTexts(value: unknown): readonly (string | undefined)[] {
  if (typeof value === 'string' || value === undefined) return [value];
  return isList(value) || isPlain(value) ? Object.values(value).flatMap(collectTexts) : [];
}

/** A value that is not a parameter itself may be missing, too, e.g. one that was looked up in a table. */
function checkSegments(path: string, params: unknown, { name }: Making): void {
  const segments = path.split('/');
  const left = ['undefined', 'null', 'NaN', '%5Bobject%20Object%5D'].find((word) => segments.includes(word));
  // A user may be called "null".
  if (left === undefined || collectTexts(params).includes(left)) return;
  throw new ConfigError(`${name} can't request ${shownText(path)}: a part of its path has no value.`);
}

function refusal({ name, what }: Making, param: string): ConfigError {
  return new ConfigError(
    `${name} needs the parameter ${JSON.stringify(param)}: its ${what} ${what === 'headers' ? 'are' : 'is'} made of it.`,
    { param },
  );
}
