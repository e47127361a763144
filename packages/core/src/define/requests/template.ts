import { nearestName } from '../../checks.js';
import { ConfigError } from '../../errors.js';
import { addressOf, hasDotSegment } from '../../http/origin.js';
import { ExactNumber, isPlain, type Json } from '../../json.js';
import { isList, isRecord, shownText } from '../../values.js';

/** The names in a path such as `/repos/{owner}/{repo}/issues`; none if the compiler does not know its text. */
export type PathNames<Path> = string extends Path
  ? never
  : Path extends `${string}{${infer Name}}${infer Rest}`
    ? (Name extends `+${infer Plain}` ? Plain : Name) | PathNames<Rest>
    : never;

/**
 * The names in those texts of a value that are only a name in braces, e.g. `state` of `{ state: '{state}' }`; none for
 * a function, or if the compiler does not know the value.
 */
export type ValueNames<Value> = [Json] extends [Value] ? never : NamesOf<Value>;

type NamesOf<Value> = Value extends `{${infer Name}}`
  ? Name extends `${string}${OfNoName}${string}`
    ? never
    : Name
  : Value extends (...given: never) => unknown
    ? never
    : Value extends readonly (infer Item)[]
      ? ValueNames<Item>
      : Value extends object
        ? string extends keyof Value
          ? never
          : { [Key in keyof Value]-?: ValueNames<Value[Key]> }[keyof Value]
        : never;

/** Characters that names do not have: texts of GraphQL and JSON have braces as well. */
type OfNoName = '"' | ' ' | '\n' | '{' | '}' | ':' | ',' | '.' | '-' | '(';

/** Values that a path can have, and values that a query can have. */
type PathValue = string | number | ExactNumber;
type SentValue = PathValue | boolean | readonly string[];

/**
 * The parameters that callers give: the input of a schema or of a parent's parameters. Without both, `In` is `never`,
 * and callers give the parameters that functions take and templates name.
 */
export type AskedParams<In, Params, Path, Values, Partitions = object> = [In] extends [never]
  ? Params &
      Readonly<
        Record<Exclude<PathNames<Path>, keyof Partitions>, PathValue> &
          Record<Exclude<ValueNames<Values>, keyof Partitions>, SentValue>
      >
  : In;

/** The texts of a definition that may name parameters. */
export interface Templates<RequestQuery, Headers, Body, Fields> {
  readonly query?: RequestQuery;
  readonly headers?: Headers;
  readonly body?: Body;
  readonly fields?: Fields;
}

/** Refuses a template whose parameter a schema or a parent does not give. */
export type KnownNames<In, Params, Path, Values> = [In] extends [never]
  ? unknown
  : UnknownNames<PathNames<Path>, Params, PathValue> & UnknownNames<ValueNames<Values>, Params, unknown>;

type UnknownNames<Names extends string, Params, Value> = [
  { [Name in Names]: Name extends keyof Params ? (Params[Name] extends Value ? never : Name) : Name }[Names],
] extends [never]
  ? unknown
  : { readonly params: `There is no parameter ${Names}, or it may be missing.` };

const inPath = /\{(\+?)(\w+)\}/g;
const wholeValue = /^\{([A-Za-z_]\w*)\}$/;

/** The parameters of a path. @throws ConfigError if the path is not a template. */
export function listPathNames(path: string): readonly string[] {
  const rest = path.replace(inPath, '');
  if (!/^\/[^?#{}]*$/.test(rest))
    throw new ConfigError(
      `The definition of a listing is invalid at path: ${JSON.stringify(path)} must begin with a slash and have no query. Write parameters as {name}, or {+name} for one that has slashes.`,
      { option: 'path' },
    );
  return [...path.matchAll(inPath)].map(([, , name = '']) => name);
}

/** The parameters that a query, headers or a body names; none for a function. */
export function listValueNames(value: unknown): readonly string[] {
  if (typeof value === 'string') return wholeValue.exec(value)?.slice(1) ?? [];
  return isList(value) || isPlain(value) ? Object.values(value).flatMap(listValueNames) : [];
}

/**
 * Expands a path (RFC 6570): `{x}` encodes all characters but unreserved ones, `{+x}` keeps slashes. Values are data,
 * so a `%` in them is always encoded.
 *
 * @throws ConfigError with the parameter's name if it has no value, or a value that could lead to another address. The
 * error does not quote the value.
 */
export function fillPath(path: string, params: unknown, { name, baseUrl }: { name: string; baseUrl: string }): string {
  const filled = path.replace(inPath, (_, plus: string, param: string) => {
    const value = valueOf(params, param);
    if (value === undefined || value === null || value === '' || Number.isNaN(value))
      throw needed(name, param, 'path', isRecord(params) ? Object.keys(params) : []);
    const refusal = (what: string): ConfigError =>
      new ConfigError(`${name} can't put the parameter ${JSON.stringify(param)} into its path: ${what}.`, { param });
    if (typeof value !== 'string' && typeof value !== 'number' && !(value instanceof ExactNumber))
      throw refusal('it is neither text nor a number');
    const text = value instanceof ExactNumber ? value.text : String(value);
    if (!text.isWellFormed()) throw refusal('it is not valid Unicode');
    if (plus && /[?#]/.test(text)) throw refusal('it has a ? or #, which would end the path');
    if (plus && /^\/|\/\/|\/$/.test(text)) throw refusal('it has an empty part between slashes');
    const encoded = plus ? text.split('/').map(encode).join('/') : encode(text);
    if (hasDotSegment(encoded)) throw refusal('it has "." or ".." as a part, which would lead to another address');
    return encoded;
  });
  addressOf(baseUrl, filled);
  if (filled.includes('//'))
    throw new ConfigError(`${name} can't request ${shownText(filled)}: a part of it is empty.`);
  return filled;
}

/** Encodes all but the unreserved characters of RFC 3986. JavaScript's own function leaves some more characters. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

interface Filling {
  /** The source's name, for errors. */
  readonly name: string;
  readonly what: 'query' | 'headers' | 'body' | 'fields';
}

/**
 * Copies a value, and replaces each text that is only `{name}` by the parameter of that name, of any kind. A field
 * whose parameter has no value is left out.
 *
 * @throws ConfigError with the parameter's name if an item of a list has no value.
 */
export function fillValues(value: unknown, params: unknown, filling: Filling): unknown {
  if (typeof value === 'string') {
    const param = wholeValue.exec(value)?.[1];
    return param === undefined ? value : valueOf(params, param);
  }
  if (isList(value))
    return value.map((item) => {
      const filled = fillValues(item, params, filling);
      if (filled === undefined && typeof item === 'string') throw needed(filling.name, item.slice(1, -1), filling.what);
      return filled;
    });
  return isPlain(value) ? fillFields(value, params, filling) : value;
}

/** `fillValues` for an object. */
export function fillFields(
  value: Readonly<Record<string, unknown>>,
  params: unknown,
  filling: Filling,
): Readonly<Record<string, unknown>> {
  const filled: [string, unknown][] = [];
  for (const [field, given] of Object.entries(value)) {
    const made = fillValues(given, params, filling);
    // An `undefined` of the definition itself stays: it is refused later where it would be lost.
    if (made !== undefined || given === undefined) filled.push([field, made]);
  }
  return Object.fromEntries(filled);
}

function valueOf(params: unknown, name: string): unknown {
  return isRecord(params) && Object.hasOwn(params, name) ? params[name] : undefined;
}

/**
 * @param optional the parameters of a schema, a parent or partitions, which may be left out; absent if unknown
 *
 * @throws ConfigError if a query, headers, a body or fields name a parameter that has no value and is not optional, or
 * if a text has a parameter next to other text.
 */
export function requireNamed(
  name: string,
  made: Partial<Readonly<Record<Filling['what'], unknown>>>,
  { params, optional }: { readonly params: object; readonly optional: readonly string[] | undefined },
): void {
  const known = [...(optional ?? []), ...Object.keys(params)];
  for (const what of ['query', 'headers', 'body', 'fields'] as const) {
    const inside = listTexts(made[what]).find((text) => namesInside(text, known));
    if (inside !== undefined)
      throw new ConfigError(
        `${name} has ${shownText(inside)} in its ${what}, which would be sent with the braces: only a text that is nothing but {name} is a parameter. Give a function, e.g. ${what}: ({ ${namesInside(inside, known)} }) => ….`,
      );
    for (const param of listValueNames(made[what]))
      if (valueOf(params, param) === undefined && optional?.includes(param) === false)
        throw needed(name, param, what, known);
  }
}

function listTexts(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return isList(value) || isPlain(value) ? Object.values(value).flatMap(listTexts) : [];
}

/** A parameter that a text names next to other text. Texts with other braces, such as GraphQL and JSON, have none. */
function namesInside(text: string, known: readonly string[]): string | undefined {
  if (wholeValue.test(text) || /[{}]/.test(text.replace(inPath, ''))) return undefined;
  return Array.from(text.matchAll(inPath), ([, , param = '']) => param).find((param) => known.includes(param));
}

/** The error of a request for which a parameter has no value. @param known the existing parameters */
export function needed(
  name: string,
  param: string,
  what: 'path' | Filling['what'],
  known: readonly string[] = [],
): ConfigError {
  const nearest = nearestName(
    param,
    known.filter((other) => other !== param),
  );
  return new ConfigError(
    `${name} needs the parameter ${JSON.stringify(param)}: its ${what} ${what === 'headers' || what === 'fields' ? 'are' : 'is'} made of it.${nearest === undefined ? '' : ` Did you mean ${nearest}?`}`,
    { param },
  );
}
