/** Far deeper than APIs send, and far from where recursion or `JSON.stringify` would overflow the stack. */
export const deepestDocument = 500;

/**
 * `JSON.parse`, but a number that it would change arrives as its text: an integer beyond 2^53, or a number that is not
 * what any serializer writes for a double, e.g. because it has more digits. All other values are those of `JSON.parse`.
 *
 * @example parseJson('[9007199254740993, 0.5, 1.5e16]') // ['9007199254740993', 0.5, 1.5e16]
 * @throws SyntaxError if the text is not JSON; RangeError if its lists and objects are nested more than 500 levels deep.
 */
export function parseExactly(json: string): unknown {
  const document: unknown = JSON.parse(json);
  checkDepth(document, 0);
  if (typeof document !== 'number' && !mayBeChanged.test(json)) return document;
  // Only valid JSON is rewritten, so what is between two strings has numbers, literals and punctuation.
  const { text, hasLarge } = quoteNumbers(json);
  if (text === json && !hasLarge) return document;
  const exact: unknown = text === json ? document : JSON.parse(text);
  markNumbers(exact, document);
  return exact;
}

/**
 * Whether a text was a number in its document, which {@link parseExactly} has not changed to a double; or whether a
 * number beyond 2^53 is as the document has it, and not rounded.
 */
export function isExactNumber(parent: unknown, name: string | number): boolean {
  const names: unknown = typeof parent === 'object' && parent !== null ? Reflect.get(parent, exactNames) : undefined;
  return names instanceof Set && names.has(String(name));
}

/**
 * The fields or items of an object or list that were numbers. No copy of it has them. A plugin may have its own copy of
 * this package.
 */
const exactNames: unique symbol = Symbol.for('sluice.exactNames');

/**
 * In a list or an object. Shorter numbers without an exponent fit a double. What precedes one tells it from most of what
 * is in a string.
 */
const mayBeChanged = /[ \n\r\t:,[]-?\d(?:[\d.]{15}|[\d.]*[eE])/;
const changeable = /-?(?:[\d.]{16}|[\d.]+[eE])[\d.eE+-]*/g;
/** Characters of the shortest one, such as 1e16. */
const shortestChanged = 4;

/** @throws RangeError if lists and objects are nested too deep. */
function checkDepth(value: unknown, depth: number): void {
  if (!isParent(value)) return;
  if (depth === deepestDocument)
    throw new RangeError(`The lists and objects of a document are nested more than ${deepestDocument} levels deep.`);
  if (Array.isArray(value)) for (const item of value) checkDepth(item, depth + 1);
  else for (const name in value) checkDepth(value[name], depth + 1);
}

/** A document whose numbers are texts if `JSON.parse` would change them. */
interface Rewritten {
  readonly text: string;
  /** Whether integers beyond 2^53 stay numbers. */
  readonly hasLarge: boolean;
}

/** Without a pattern for strings, which may be very long. */
function quoteNumbers(json: string): Rewritten {
  let text = '';
  let copied = 0;
  let hasLarge = false;
  const exactOf = (token: string): string => {
    if (!isExact(token)) return `"${token}"`;
    hasLarge ||= isLarge(Number(token));
    return token;
  };
  for (let from = 0; from < json.length;) {
    const open = json.indexOf('"', from);
    const end = open === -1 ? json.length : open;
    // Between most strings is only punctuation.
    if (end - from >= shortestChanged) {
      const between = json.slice(from, end);
      const exact = between.replace(changeable, exactOf);
      if (exact !== between) {
        text += json.slice(copied, from) + exact;
        copied = end;
      }
    }
    if (open === -1) break;
    from = findStringEnd(json, open);
  }
  return { text: text + json.slice(copied), hasLarge };
}

function findStringEnd(json: string, open: number): number {
  let end = json.indexOf('"', open + 1);
  while (isEscaped(json, end)) end = json.indexOf('"', end + 1);
  return end + 1;
}

/** Whether an odd number of backslashes stands before a quote. */
function isEscaped(json: string, quote: number): boolean {
  let start = quote;
  while (json[start - 1] === '\\') start -= 1;
  return (quote - start) % 2 === 1;
}

/** So many digits survive in a double, unless it is smaller than the least one that has all of its own. */
const survivingDigits = 15;
const leastNormal = 2 ** -1022;
/** Digits that identify a double: C's `%.17g`. `toPrecision` writes up to 100. */
const enoughDigits = 17;
const mostDigits = 100;

function isExact(token: string): boolean {
  const value = Number(token);
  // Beyond 2^53, digits alone may be an id: all are text, whether or not a double happens to hold one.
  if (/^-?\d+$/.test(token)) return Number.isSafeInteger(value);
  if (!Number.isFinite(value)) return false;
  if (String(value) === token) return true;
  const size = Math.abs(value);
  if (token.length <= survivingDigits && size >= leastNormal && size <= Number.MAX_SAFE_INTEGER) return true;
  const wanted = decimal(token);
  const digits = /\d+/.exec(wanted)?.[0].length ?? 0;
  if (digits >= mostDigits) return false;
  return decimal(value.toPrecision(digits > enoughDigits ? mostDigits : digits)) === wanted;
}

function isLarge(value: unknown): value is number {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** The same text for all spellings of a number: its digits without zeros at the ends, and an exponent. */
function decimal(token: string): string {
  const [mantissa = '', power = '0'] = token.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const digits = whole + fraction;
  let start = 0;
  let end = digits.length;
  while (digits[start] === '0') start += 1;
  // A pattern for zeros at the end would take quadratic time.
  while (end > start && digits[end - 1] === '0') end -= 1;
  if (start === end) return '0';
  const sign = mantissa.startsWith('-') ? '-' : '';
  return `${sign}${digits.slice(start, end)}e${Number(power) - fraction.length + digits.length - end}`;
}

/** Marks the texts that are numbers in `document`, and the numbers beyond 2^53. */
function markNumbers(exact: unknown, document: unknown): void {
  if (!isParent(exact) || !isParent(document)) return;
  let names: Set<string> | undefined;
  for (const name in exact) {
    const value = exact[name];
    if (typeof value === 'object') markNumbers(value, document[name]);
    else if (isLarge(value) || (typeof value === 'string' && typeof document[name] === 'number'))
      (names ??= new Set()).add(name);
  }
  if (names) Object.defineProperty(exact, exactNames, { value: names });
}

function isParent(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
