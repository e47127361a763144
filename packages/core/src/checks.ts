import { ConfigError } from './errors.js';
import { inWords, kindOf } from './values.js';

/** Checks numeric options. @throws ConfigError that names the first invalid one. */
export function checkNumbers(owner: string, numbers: object, isRight: (value: number) => boolean, range: string): void {
  for (const [name, value] of Object.entries(numbers)) {
    if (typeof value !== 'number' || !isRight(value))
      throw new ConfigError(`${owner}.${name} is ${String(value)}: it must be a number ${range}.`);
  }
}

/** Checks an integer option. @throws ConfigError unless it is a whole number from `min` to `max`. */
export function checkCount(
  name: string,
  value: number,
  { min = 1, max = Number.MAX_SAFE_INTEGER }: { readonly min?: number; readonly max?: number } = {},
): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  throw new ConfigError((option = name) => `${option} is ${value}: it must be a whole number ${range}.`, {
    option: name,
  });
}

/** Checks an argument. @throws ConfigError unless it is a text with at least one character. */
export function checkText(name: string, value: unknown): void {
  if (value === '') throw new ConfigError(`${name} is empty.`);
  if (typeof value !== 'string') throw new ConfigError(`${name} is ${inWords(value)}: it must be text.`);
}

/** The names of all properties of a type, of each member if it is a union. */
type NameOf<Options> = Options extends unknown ? keyof Options & string : never;

type Kind = 'text' | 'a number' | 'a boolean' | 'a function' | 'an object' | 'a list';
type Kinds = Kind | `${Kind} or ${Kind}` | 'text or a list or a function or a boolean' | 'anything';

/** The kind that an option must have, in the words of `kindOf`. With `?` it may be left out. */
export type OptionKind = Kinds | `${Kinds}?`;

/**
 * Refuses options that are not an object, options that a function does not have, and options of a wrong kind:
 * JavaScript callers may pass anything, and a misspelt option would be ignored. The compiler checks that `kinds` has
 * all names of the options' type. Symbols and inherited properties are ignored.
 *
 * @param owner the function, e.g. `byPage()`, or the owner of the options, e.g. `retry of createClient()`.
 * @param kinds the kind of each option; `true` if the function checks it by itself, or it may be left out
 * @param place the place of the options, for errors. Default: the owner.
 *
 * @throws ConfigError that names the option, and its right kind or the nearest known option.
 */
export function checkOptions<Options extends object>(
  owner: string,
  options: Options,
  kinds: Readonly<Record<NameOf<NoInfer<Options>>, OptionKind | true>>,
  place = owner,
): void {
  const given: unknown = options;
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new ConfigError(`${owner} takes an object with options: given is ${inWords(given)}.`);
  const unknown = unknownOption(given, kinds);
  if (unknown !== undefined) throw new ConfigError(`${owner} ${unknown}`);
  const wrong = wrongKind(given, kinds);
  if (wrong) throw new ConfigError(`${place} is invalid at ${wrong.option}: ${wrong.what}.`, { option: wrong.option });
}

/** The first property of a wrong kind, and a description of the error; `undefined` if all kinds are right. */
export function wrongKind(
  options: object,
  kinds: Readonly<Record<string, OptionKind | true>>,
): { readonly option: string; readonly what: string } | undefined {
  for (const [option, kind] of Object.entries(kinds)) {
    if (kind === true) continue;
    const value: unknown = Reflect.get(options, option);
    if (value === undefined && kind.endsWith('?')) continue;
    const wanted = kind.replace('?', '');
    if (wanted === 'anything' ? value !== undefined : wanted.split(' or ').includes(kindOf(value))) continue;
    const must = wanted === 'anything' ? '' : `, and must be ${wanted}`;
    return { option, what: `it is ${kindOf(value)}${must}` };
  }
  return undefined;
}

/** Names an unknown property, e.g. `has no option "frist". Did you mean first?`; `undefined` if all are known. */
export function unknownOption(options: unknown, known: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof options !== 'object' || options === null) return undefined;
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return undefined;
  return `has no option ${JSON.stringify(unknown.slice(0, 100))}. ${hintFor(unknown, Object.keys(known))}`;
}

/**
 * Names the nearest of the known names, or all of them, for the end of an error.
 *
 * @param before text to show before each name; not compared
 *
 * @example hintFor('nmae', ['id', 'name']) // 'Did you mean name?'
 * @example hintFor('size', ['id', 'name']) // 'Available: id, name.'
 */
export function hintFor(unknown: string, names: readonly string[], before = ''): string {
  if (names.length === 0) return 'It has none.';
  const nearest = nearestName(unknown, names);
  return nearest === undefined
    ? `Available: ${names.map((name) => before + name).join(', ')}.`
    : `Did you mean ${before}${nearest}?`;
}

/** The known name that is probably meant; `undefined` if none is similar. Case, `-` and `_` do not count. */
export function nearestName(given: string, names: readonly string[]): string | undefined {
  const plain = (name: string): string => name.slice(0, 100).replace(/[-_]/g, '').toLowerCase();
  const wanted = plain(given);
  const near = names
    .map((name) => ({ name, edits: editsBetween(wanted, plain(name)), length: Math.max(wanted.length, name.length) }))
    .filter(({ edits, length }) => edits <= 3 && edits < length * 0.6)
    .sort((a, b) => a.edits - b.edits);
  return near[0]?.name;
}

/** Insertions, deletions, replacements and swaps of neighbours that make one text of the other (Damerau, 1964). */
function editsBetween(from: string, to: string): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: to.length + 1 }, (_, at) => at)];
  for (let row = 1; row <= from.length; row += 1) {
    const next = [row];
    for (let at = 1; at <= to.length; at += 1) {
      const replaced = (last[at - 1] ?? 0) + (from[row - 1] === to[at - 1] ? 0 : 1);
      const isSwap = row > 1 && at > 1 && from[row - 1] === to[at - 2] && from[row - 2] === to[at - 1];
      const swapped = isSwap ? (before[at - 2] ?? 0) + 1 : Infinity;
      next.push(Math.min(replaced, (last[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1, swapped));
    }
    [before, last] = [last, next];
  }
  return last[to.length] ?? 0;
}
