import { ConfigError } from './errors.js';
import { isList, isRecord, kindOf, shownText } from './values.js';

/** Any JSON value. */
export type Json = string | number | boolean | null | ExactNumber | readonly Json[] | { readonly [name: string]: Json };

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

const exactBrand = Symbol.for('sluice.exactNumber');

/**
 * A number of JSON that a double would change. In the body of a request it is sent as a number, in a query as text.
 *
 * @example new ExactNumber('12345678901234567890')
 * @throws ConfigError if the text is not a number of JSON.
 */
export class ExactNumber {
  readonly text: string;

  /** Whether a value is an exact number, from any copy of this package: a plugin may bring its own copy. */
  static [Symbol.hasInstance](value: unknown): boolean {
    return isRecord(value) && exactBrand in value;
  }

  constructor(text: string) {
    if (!jsonNumber.test(text)) throw new ConfigError(`${shownText(text)} is not a number of JSON.`);
    this.text = text;
    Object.defineProperty(this, exactBrand, { value: true });
    Object.freeze(this);
  }

  /** The digits, as they were received. */
  toString(): string {
    return this.text;
  }

  /** For code that reads a body, e.g. a link. The number is sent without quotes. */
  toJSON(): string {
    return this.text;
  }
}

/** The text of a JSON value. `JSON.stringify` would quote exact numbers. */
export function jsonText(value: Json): string {
  if (value instanceof ExactNumber) return value.text;
  if (isList(value)) return `[${value.map(jsonText).join(',')}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  const fields = Object.entries(value).map(([name, field]) => `${JSON.stringify(name)}:${jsonText(field)}`);
  return `{${fields.join(',')}}`;
}

/**
 * A copy that `JSON.stringify` does not change: an exact number becomes `{ number: '…' }`, and an object of that form
 * is wrapped in another one.
 */
export function packNumbers(value: Json): Json {
  if (value instanceof ExactNumber) return { number: value.text };
  if (isList(value)) return value.map(packNumbers);
  if (!isRecord(value)) return value;
  const packed = mapFields(value, packNumbers);
  return isPacked(packed) ? { number: packed } : packed;
}

/** Restores the value of which {@link packNumbers} made a copy, after the copy was stored as JSON. */
export function unpackNumbers(value: unknown): unknown {
  if (isList(value)) return value.map(unpackNumbers);
  if (!isRecord(value)) return value;
  const { number } = value;
  if (!isPacked(value)) return mapFields(value, unpackNumbers);
  if (isRecord(number)) return mapFields(number, unpackNumbers);
  return typeof number === 'string' && jsonNumber.test(number) ? new ExactNumber(number) : value;
}

function isPacked(value: object): boolean {
  const names = Object.keys(value);
  return names.length === 1 && names[0] === 'number';
}

function mapFields<From, To>(value: Readonly<Record<string, From>>, map: (field: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, map(field)]));
}

/** Deeper bodies are mistakes, e.g. an object that contains itself. */
const deepest = 100;

/**
 * A deeply frozen copy of a value that is JSON already, so that nobody can change the value after the check.
 *
 * @param place names the value in errors, e.g. `body`
 *
 * @throws ConfigError, with the place, if JSON would change or omit a part of it.
 */
export function frozenJson(value: unknown, place: string, depth = 0): Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if ((typeof value === 'number' && Number.isFinite(value)) || value instanceof ExactNumber) return value;
  if (depth > deepest) throw new ConfigError(`${place} is nested more than ${deepest} levels deep.`, { place });
  // `Array.from` also visits the holes of a list, which are refused like `undefined`.
  if (isList(value))
    return Object.freeze(Array.from(value, (item, index) => frozenJson(item, `${place}[${index}]`, depth + 1)));
  if (!isPlain(value))
    throw new ConfigError(
      `${place} is ${isRecord(value) ? 'an object of a class' : typeof value === 'number' ? String(value) : kindOf(value)}, which JSON can't represent. Leave it out, or give text, a finite number, a boolean, null, a list or a plain object.`,
      { place },
    );
  const fields = Object.entries(value).map(([name, field]): [string, Json] => [
    name,
    frozenJson(field, `${place}.${name}`, depth + 1),
  ]);
  return Object.freeze<Record<string, Json>>(Object.fromEntries(fields));
}

/** `frozenJson` for an object of optional fields: fields that are `undefined` are left out. */
export function definedJson(value: object, place: string): Json {
  // `frozenJson` refuses an object of a class, whose fields alone would pass.
  if (!isPlain(value)) return frozenJson(value, place);
  return frozenJson(Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)), place);
}

/** Whether a value is an object without a class, from any realm. */
export function isPlain(value: unknown): value is Record<string, unknown> {
  if (!isRecord(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
