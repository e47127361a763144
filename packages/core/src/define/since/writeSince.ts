import { ConfigError } from '../../errors.js';
import { hintFor } from '../../checks.js';
import { kindOf } from '../../values.js';
import { instantOfSince, type SinceType } from './sinceValue.js';
import { isLocal, isTimeFormat, printTime, type SinceBound, type TimeFormat, timeFormats } from './timeFormat.js';
import type { TimeZone } from './timeZone.js';

/**
 * How a request writes a row's value: a text with a format's name in braces, e.g. `updated >= {epoch-ms}`, where
 * `{value}` is the row's own text; or a function. In a text, `{to:epoch-ms}` is the end of a window.
 */
export type SinceWriting =
  `${string}{${TimeFormat | 'value'}}${string}` | ((value: string, bound: SinceBound) => string | number);

/** Writes a value for a request: a `from` never later than the value, a `to` never earlier. */
export type WriteSince = (value: string, bound: SinceBound, to?: string) => string | number;

const placeholder = /\{(to:)?(value|instant|datetime|minute|date|epoch-seconds|epoch-ms)\}/g;

/** Whether a text has the end of a window, besides its beginning. */
export function writesEnd(writing: SinceWriting | undefined): boolean {
  return typeof writing === 'string' && listFormats(writing).some(({ isEnd }) => isEnd);
}

function listFormats(writing: string): readonly { readonly name: string; readonly isEnd: boolean }[] {
  return Array.from(writing.matchAll(placeholder), ([, to, name = '']) => ({ name, isEnd: to !== undefined }));
}

/** The formats of times in a text. */
export function writtenTimes(writing: SinceWriting | undefined): readonly TimeFormat[] {
  if (typeof writing !== 'string') return [];
  return listFormats(writing).flatMap(({ name }) => (isTimeFormat(name) ? [name] : []));
}

/** Whether a request has the time of a local clock in place of an instant, or an instant in place of a local time. */
export function changesClock(writing: SinceWriting | undefined, type: SinceType): boolean {
  return writtenTimes(writing).some((format) => isTimeFormat(type) && isLocal(format) !== isLocal(type));
}

/** @throws ConfigError if the text has no format in braces, or a format of times for values that are not times. */
export function writeSince(writing: SinceWriting | undefined, type: SinceType, zone: TimeZone): WriteSince {
  if (writing === undefined) return (value) => value;
  if (typeof writing === 'function') {
    return (value, bound) => {
      const written = checkWritten(writing(value, bound));
      if (zone.isKnown || !isTimeFormat(type) || isLocal(type) || !hasLocalTime(String(written))) return written;
      const near = zone.convert(instantOfSince(type, value) ?? 0n, { from: type, to: 'datetime' }, bound);
      return checkWritten(writing(printTime(type, near, bound), bound));
    };
  }
  const formats = listFormats(writing);
  if (!formats.some(({ isEnd }) => !isEnd)) throw noFormatError(writing);
  const [time] = writtenTimes(writing);
  if (time && !isTimeFormat(type))
    throw new ConfigError(`write of bySince has {${time}}, but values of type ${type} are not times. Use {value}.`);
  // A text that is only an epoch format is sent as a number in the body of a POST.
  const isNumber = writing === '{epoch-seconds}' || writing === '{epoch-ms}';
  const print = (name: string, value: string, bound: SinceBound): string =>
    isTimeFormat(name) && isTimeFormat(type)
      ? printTime(name, zone.convert(instantOfSince(type, value) ?? 0n, { from: type, to: name }, bound), bound)
      : value;
  return (value, bound, to) => {
    const text = writing.replace(placeholder, (_, end: string | undefined, name: string) =>
      end === undefined ? print(name, value, bound) : print(name, to ?? value, 'to'),
    );
    return isNumber ? Number(text) : text;
  };
}

/** Whether a text that a function made of an instant has a date or a time without a zone. */
function hasLocalTime(text: string): boolean {
  const hasZone = /\d\d:?\d\d(?::?\d\d(?:[.,]\d+)?)?\s?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)/i.test(text);
  return !hasZone && /(?<!\d)(?:\d{4}([-/.]?)\d\d\1\d\d|\d\d?([-/.])\d\d?\2\d{4})(?!\d)/.test(text);
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
