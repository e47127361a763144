import { ConfigError } from '../errors.js';
import { hintFor } from '../checks.js';
import { kindOf } from '../values.js';
import { instantOfSince, sinceRules, type SinceType } from './sinceValue.js';
import { isTimeFormat, printTime, type SinceBound, type TimeFormat, timeFormats } from './timeFormat.js';

/**
 * How a request has a value that a row has: a text with the name of a format in braces, e.g. `{epoch-seconds}` or
 * `updated >= {epoch-ms}`, where `{value}` is the text that the row has; or a function. In a text, `{to:epoch-ms}` is the
 * end of a window.
 */
export type SinceWriting =
  `${string}{${TimeFormat | 'value'}}${string}` | ((value: string, bound: SinceBound) => string | number);

/** Writes a value for a request: a `from` never later than it is, a `to` never earlier. */
export type WriteSince = (value: string, bound: SinceBound, to?: string) => string | number;

const placeholder = /\{(to:)?(value|instant|datetime|minute|date|epoch-seconds|epoch-ms)\}/g;

/** Whether a text has the end of a window, besides its beginning. */
export function writesEnd(writing: SinceWriting | undefined): boolean {
  return typeof writing === 'string' && listFormats(writing).some(({ isEnd }) => isEnd);
}

function listFormats(writing: string): readonly { readonly name: string; readonly isEnd: boolean }[] {
  return Array.from(writing.matchAll(placeholder), ([, to, name = '']) => ({ name, isEnd: to !== undefined }));
}

/** @throws ConfigError if there is no format in braces, or one for times, which the values are not. */
export function writeSince(writing: SinceWriting | undefined, type: SinceType): WriteSince {
  if (writing === undefined) return (value) => value;
  if (typeof writing === 'function') return (value, bound) => checkWritten(writing(value, bound));
  const formats = listFormats(writing);
  if (!formats.some(({ isEnd }) => !isEnd)) throw noFormatError(writing);
  const time = formats.find(({ name }) => isTimeFormat(name));
  if (time && !sinceRules[type].isTime)
    throw new ConfigError(
      `write of bySince has {${time.name}}, but values of type ${type} are not times. Use {value}.`,
    );
  // The body of a POST has a number then.
  const isNumber = writing === '{epoch-seconds}' || writing === '{epoch-ms}';
  const print = (name: string, value: string, bound: SinceBound): string =>
    isTimeFormat(name) ? printTime(name, instantOfSince(type, value) ?? 0n, bound) : value;
  return (value, bound, to) => {
    const text = writing.replace(placeholder, (_, end: string | undefined, name: string) =>
      end === undefined ? print(name, value, bound) : print(name, to ?? value, 'to'),
    );
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
