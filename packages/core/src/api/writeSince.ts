import { ConfigError } from '../errors.js';
import { hintFor } from '../checks.js';
import { kindOf } from '../values.js';
import { instantOfSince, sinceRules, type SinceType } from './sinceValue.js';
import { isTimeFormat, printTime, type SinceBound, type TimeFormat, timeFormats } from './timeFormat.js';

/**
 * How a request has a value that a row has: a text with the name of a format in braces, e.g. `{epoch-seconds}` or
 * `updated >= "{minute}"`, where `{value}` is the text that the row has; or a function.
 */
export type SinceWriting =
  `${string}{${TimeFormat | 'value'}}${string}` | ((value: string, bound: SinceBound) => string | number);

/** Writes a value for a request: a `from` never later than it is, a `to` never earlier. */
export type WriteSince = (value: string, bound: SinceBound) => string | number;

const placeholder = /\{(value|instant|datetime|minute|date|epoch-seconds|epoch-ms)\}/g;

/** @throws ConfigError if there is no format in braces, or one for times, which the values are not. */
export function writeSince(writing: SinceWriting | undefined, type: SinceType): WriteSince {
  if (writing === undefined) return (value) => value;
  if (typeof writing === 'function') return (value, bound) => checkWritten(writing(value, bound));
  const names = Array.from(writing.matchAll(placeholder), ([, name = '']) => name);
  if (names.length === 0) throw noFormatError(writing);
  const time = names.find(isTimeFormat);
  if (time !== undefined && !sinceRules[type].isTime)
    throw new ConfigError(`write of bySince has {${time}}, but values of type ${type} are not times. Use {value}.`);
  // The body of a POST has a number then.
  const isNumber = writing === '{epoch-seconds}' || writing === '{epoch-ms}';
  return (value, bound) => {
    const instant = instantOfSince(type, value) ?? 0n;
    const print = (name: string): string => (isTimeFormat(name) ? printTime(name, instant, bound) : value);
    const text = writing.replace(placeholder, (_, name: string) => print(name));
    return isNumber ? Number(text) : text;
  };
}

/** A function in JavaScript may return anything. */
function checkWritten(written: unknown): string | number {
  if (typeof written === 'string' && written !== '') return written;
  if (typeof written === 'number' && Number.isFinite(written)) return written;
  throw new ConfigError(
    `write of bySince returned ${written === '' ? 'an empty text' : kindOf(written)}: it must return a text or a number.`,
  );
}

function noFormatError(writing: string): ConfigError {
  const [, name = writing] = /\{([^{}]*)\}/.exec(writing) ?? [];
  return new ConfigError(
    `write of bySince is ${JSON.stringify(writing.slice(0, 100))}, which has no format in braces. ${hintFor(name, ['value', ...Object.keys(timeFormats)])}`,
  );
}
