import { deepestDocument } from './nesting.js';

/**
 * `JSON.parse`, but a number that it would change arrives as its text: an integer beyond 2^53, or a number with more
 * digits than a double holds. All other values are those of `JSON.parse`.
 *
 * @example parseExactly('[9007199254740993, 0.5]') // ['9007199254740993', 0.5]
 * @throws SyntaxError if the text is not JSON.
 */
export function parseExactly(json: string): unknown {
  const document: unknown = JSON.parse(json);
  if (!hasLongNumber(json) && !exponent.test(json)) return document;
  // Only valid JSON is rewritten, so what is between two strings has numbers, literals and punctuation.
  const exact = withTextOfNumbers(json);
  if (exact === json) return document;
  const changed: unknown = JSON.parse(exact);
  markNumbers(changed, document);
  return changed;
}

/** Whether a text was a number in its document, which {@link parseExactly} has not changed to a double. */
export function isExactNumber(parent: unknown, name: string | number): boolean {
  const names: unknown = typeof parent === 'object' && parent !== null ? Reflect.get(parent, exactNames) : undefined;
  return names instanceof Set && names.has(String(name));
}

/** The fields or items of an object or list that were numbers. No copy of it has them. */
const exactNames: unique symbol = Symbol('sluice.exactNames');

/** Shorter numbers without an exponent fit a double. */
const longNumber = 16;
/** Such as 1e16. */
const shortestChanged = 4;
const exponent = /\d[eE][+-]?\d+(?:[\s,\]}]|$)/;
const numbers = /-?(?:[\d.]{16}|[\d.]+[eE])[\d.eE+-]*/g;
const [zero, nine, dot] = [48, 57, 46];

/**
 * Whether a number may have so many digits. Looking at every 16th character is several times faster than a pattern; what
 * stands before it tells a number from most of what is in a string.
 */
function hasLongNumber(json: string): boolean {
  for (let at = longNumber - 1; at < json.length; at += longNumber) {
    if (!isOfNumber(json, at)) continue;
    let [from, to] = [at, at + 1];
    while (isOfNumber(json, from - 1)) from -= 1;
    while (isOfNumber(json, to)) to += 1;
    if (to - from >= longNumber && /^$|[\s:,[-]/.test(json.charAt(from - 1))) return true;
    at = Math.max(at, to - 1);
  }
  return false;
}

function isOfNumber(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return (code >= zero && code <= nine) || code === dot;
}

/** Quotes the numbers that `JSON.parse` would change. Without a pattern for strings, which may be very long. */
function withTextOfNumbers(json: string): string {
  let text = '';
  let copied = 0;
  for (let from = 0; from < json.length;) {
    const open = json.indexOf('"', from);
    const end = open === -1 ? json.length : open;
    // Between most strings is only punctuation.
    if (end - from >= shortestChanged) {
      const between = json.slice(from, end);
      const exact = between.replace(numbers, (token) => (isExact(token) ? token : `"${token}"`));
      if (exact !== between) {
        text += json.slice(copied, from) + exact;
        copied = end;
      }
    }
    if (open === -1) break;
    from = endOfString(json, open);
  }
  return text + json.slice(copied);
}

function endOfString(json: string, open: number): number {
  for (let at = json.indexOf('"', open + 1); ; at = json.indexOf('"', at + 1)) {
    let start = at;
    while (json[start - 1] === '\\') start -= 1;
    if ((at - start) % 2 === 0) return at + 1;
  }
}

function isExact(token: string): boolean {
  const value = Number(token);
  // Beyond 2^53 every integer is text, whether or not a double happens to hold it.
  if (Number.isInteger(value) ? !Number.isSafeInteger(value) : !Number.isFinite(value)) return false;
  const printed = String(value);
  return printed === token || decimal(token) === decimal(printed);
}

/** The same text for all spellings of a number: its digits without zeros at the ends, and an exponent. */
function decimal(token: string): string {
  const [mantissa = '', power = '0'] = token.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const digits = whole + fraction;
  let [start, end] = [0, digits.length];
  while (digits[start] === '0') start += 1;
  // A pattern for zeros at the end would take quadratic time.
  while (end > start && digits[end - 1] === '0') end -= 1;
  if (start === end) return '0';
  const sign = mantissa.startsWith('-') ? '-' : '';
  return `${sign}${digits.slice(start, end)}e${Number(power) - fraction.length + digits.length - end}`;
}

/** Marks the texts that are numbers in `document`, as deep as documents may be. */
function markNumbers(exact: unknown, document: unknown, depth = 0): void {
  if (depth > deepestDocument || !isParent(exact) || !isParent(document)) return;
  let names: Set<string> | undefined;
  for (const name in exact) {
    const value = exact[name];
    if (typeof value === 'object') markNumbers(value, document[name], depth + 1);
    else if (typeof value === 'string' && typeof document[name] === 'number') (names ??= new Set()).add(name);
  }
  if (names) Object.defineProperty(exact, exactNames, { value: names });
}

function isParent(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
