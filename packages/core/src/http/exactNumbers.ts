/** `JSON.parse` whose result is not `any`. */
export function parseJson(json: string): unknown {
  return JSON.parse(json);
}

/**
 * `JSON.parse`, but a number that it would change arrives as its text: an integer beyond 2^53, or a number with more
 * digits than a double holds. All other values are those of `JSON.parse`.
 *
 * @example parseExactly('[9007199254740993, 0.5]') // ['9007199254740993', 0.5]
 * @throws SyntaxError if the text is not JSON.
 */
export function parseExactly(json: string): unknown {
  const document: unknown = JSON.parse(json);
  // Only valid JSON is rewritten, so what is between two strings has numbers, literals and punctuation.
  return suspicious.test(json) ? JSON.parse(withTextOfNumbers(json)) : document;
}

/** A number of 16 digits or more, or with an exponent. Few documents have one, and a search is fast. */
const suspicious = /(?:^|[:,[])\s*-?(?:[\d.]{16}|[\d.]+[eE])/;
const number = /-?\d[\d.eE+-]*/g;

/** Quotes the numbers that `JSON.parse` would change. Without a pattern for strings, which may be very long. */
function withTextOfNumbers(json: string): string {
  let text = '';
  for (let from = 0; ;) {
    const open = json.indexOf('"', from);
    const between = json.slice(from, open === -1 ? undefined : open);
    text += between.replace(number, (token) => (isExact(token) ? token : `"${token}"`));
    if (open === -1) return text;
    from = endOfString(json, open);
    text += json.slice(open, from);
  }
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
  const isRound = Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
  return isRound && decimal(token) === decimal(String(value));
}

/** The same text for all spellings of a number: its digits without zeros at the ends, and an exponent. */
function decimal(token: string): string {
  const [mantissa = '', exponent = '0'] = token.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const digits = whole + fraction;
  let [start, end] = [0, digits.length];
  while (digits[start] === '0') start += 1;
  // A pattern for zeros at the end would take quadratic time.
  while (end > start && digits[end - 1] === '0') end -= 1;
  if (start === end) return '0';
  const sign = mantissa.startsWith('-') ? '-' : '';
  return `${sign}${digits.slice(start, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}
