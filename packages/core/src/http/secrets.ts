import { decodeEscapes, type Unescaped } from './escapes.js';

const hidden = '[hidden]';

/** How many layers of escapes are decoded, e.g. JSON within a URL within HTML. */
const maxEscaped = 3;

/** Length of one escaped character, of most texts. */
const usualEscape = 8;

/** Shorter forms of a secret occur by chance. */
const shortestEncoded = 6;

/**
 * Shorter secrets, and shorter parts of one, occur by chance: a walk of a million pages with cursors of 100 characters
 * contains 6 given characters, in any case, once in 30 walks, and 8 once in 40,000.
 */
export const shortestSecret = 8;

/** Longest text whose redaction is remembered, and how many of them are. */
const longestName = 100;
const maxNames = 32;

/**
 * Texts that must not be shown, such as API keys, and their redaction in other texts. They are plain ASCII.
 *
 * A secret is found in any case; as it is, in hex, percent-encoded, escaped in JSON or HTML, and in base64 or base64url,
 * alone or inside a longer encoded text. A beginning or an end of one of these forms is found if it is at least half of
 * it and stands for 8 characters of the secret. Other encodings and smaller or other parts are not found.
 *
 * @example
 * const secrets = new Secrets();
 * secrets.add('3f2b8c1e-7a64-4d0f');
 * secrets.redact('No such key: 3F2B8C1E-7A64-4D0F'); // 'No such key: [hidden]'
 */
export class Secrets {
  readonly #secrets = new Map<string, KnownSecret>();
  #needles: readonly Needle[] = [];
  /** Characters of the longest needle. */
  #longest = 0;
  /** Short texts and what is shown of them: the events of each page repeat the names of its route and source. */
  readonly #names = new Map<string, string>();

  /** Redacts a text from now on; an empty one is ignored. */
  // No `RegExp` is made of a secret: the error message of one that is too long would quote it.
  add(secret: string): void {
    if (secret === '') return;
    const known = this.#secrets.get(secret);
    if (known) {
      known.count += 1;
      return;
    }
    this.#names.clear();
    const needles = makeNeedles(secret);
    this.#secrets.set(secret, { count: 1, needles });
    this.#setNeedles([...this.#needles, ...needles]);
  }

  /** Undoes one `add`, e.g. of a token that has expired long ago: each secret makes every redaction slower. */
  remove(secret: string): void {
    const known = this.#secrets.get(secret);
    if (!known) return;
    known.count -= 1;
    if (known.count > 0) return;
    this.#names.clear();
    this.#secrets.delete(secret);
    this.#setNeedles(Array.from(this.#secrets.values(), ({ needles }) => needles).flat());
  }

  #setNeedles(needles: readonly Needle[]): void {
    this.#needles = needles;
    this.#longest = needles.reduce((longest, { text }) => Math.max(longest, text.length), 0);
  }

  /** The first `length` characters of `text` (default: all) without secrets. A cut can't leave a part of one. */
  redact(text: string, length = text.length): string {
    if (text.length > longestName || text.length > length) return this.#redacted(text, length);
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    if (this.#names.size >= maxNames) this.#names.clear();
    const shown = this.#redacted(text, length);
    this.#names.set(text, shown);
    return shown;
  }

  #redacted(text: string, length: number): string {
    const parts: string[] = [];
    let at = 0;
    for (const { from, to } of this.#find(this.#readingsUpTo(text, length))) {
      if (from >= length) break;
      if (from >= at) parts.push(text.slice(at, from), hidden);
      at = Math.max(at, to);
    }
    parts.push(text.slice(at, length));
    return parts.join('');
  }

  /** Whether something of `text` would be redacted. */
  has(text: string): boolean {
    return this.#find(decodeEscapes(text, maxEscaped)).length > 0;
  }

  /** The readings of as much of a text as shows each secret that begins in its first `length` characters. */
  #readingsUpTo(text: string, length: number): readonly Unescaped[] {
    let end = length + this.#longest * usualEscape;
    for (;;) {
      const readings = decodeEscapes(text.slice(0, end), maxEscaped);
      // An escape with zeros may be of any length.
      const isEnough = readings.every(({ text, origins }) => (origins[text.length - this.#longest] ?? -1) >= length);
      if (isEnough || end >= text.length) return readings;
      end *= 2;
    }
  }

  /** Where secrets and their parts are, in order, maybe overlapping. */
  #find(readings: readonly Unescaped[]): Place[] {
    const places: Place[] = [];
    for (const { text: reading, origins } of readings) {
      const written = lowerCase(reading);
      const base64 = toBase64(written);
      for (const needle of this.#needles)
        for (const { from, to } of findNeedle(needle, needle.isBase64 ? base64 : written))
          places.push({ from: origins[from] ?? 0, to: origins[to] ?? 0 });
    }
    return places.sort((a, b) => a.from - b.from);
  }
}

interface KnownSecret {
  /** How often it was added. */
  count: number;
  /** Kept, since making them takes longer than a redaction. */
  readonly needles: readonly Needle[];
}

interface Needle {
  readonly text: string;
  readonly isBase64: boolean;
  /** Shortest beginning or end that is found. */
  readonly shortestPart: number;
}

interface Place {
  readonly from: number;
  readonly to: number;
}

function makeNeedles(secret: string): Needle[] {
  const cases = [...new Set([secret, secret.toLowerCase(), secret.toUpperCase()])];
  const plain = decodeEscapes(secret, maxEscaped).map(({ text }) => makeNeedle(text, text.length));
  const hex = cases.map((form) => makeNeedle(encodeHex(form), secret.length));
  // Base64, e.g. of a cursor, often encodes JSON or a URL, in which the secret is escaped.
  const escaped = cases.flatMap((form) => [form, JSON.stringify(form).slice(1, -1), encodeURIComponent(form)]);
  const encoded = [...new Set(escaped)].flatMap((form) => {
    const bytes = new TextEncoder().encode(form);
    return [0, 1, 2].map((shift) => encodeBase64(bytes, shift));
  });
  // A secret may look escaped, so its decoded forms count, too, unless they are too short to be the secret.
  const whole = secret.toLowerCase();
  const needles = [...plain, ...hex, ...encoded].filter(({ text }) => text === whole || text.length >= shortestEncoded);
  return [...new Map(needles.map((needle) => [needle.text + String(needle.isBase64), needle])).values()];
}

/** @param characters how many characters of the secret the form stands for */
function makeNeedle(form: string, characters: number, isBase64 = false): Needle {
  const text = lowerCase(form);
  const share = Math.max(1 / 2, shortestSecret / characters);
  return { text, isBase64, shortestPart: Math.min(text.length, Math.ceil(text.length * share)) };
}

/** The part of the base64 of `bytes`, `shift` bytes into a group, that does not depend on the bytes around them. */
function encodeBase64(bytes: Uint8Array, shift: number): Needle {
  const text = btoa(Array.from([...new Uint8Array(shift), ...bytes], (byte) => String.fromCharCode(byte)).join(''));
  const own = text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6));
  return makeNeedle(own, bytes.length, true);
}

function encodeHex(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Where a needle, or a long enough beginning or end of it, is in a text. */
function findNeedle(needle: Needle, text: string): Place[] {
  const { text: whole, shortestPart } = needle;
  const places: Place[] = [];
  const beginning = whole.slice(0, shortestPart);
  const end = whole.slice(-shortestPart);
  for (let from = text.indexOf(beginning); from >= 0; from = text.indexOf(beginning, from + 1)) {
    let length = shortestPart;
    while (length < whole.length && text[from + length] === whole[length]) length += 1;
    places.push({ from, to: from + length });
  }
  // What is whole was found by its beginning.
  for (let at = text.indexOf(end); at >= 0; at = text.indexOf(end, at + 1)) {
    const to = at + shortestPart;
    let length = shortestPart;
    while (length < whole.length && length < to && text[to - length - 1] === whole.at(-length - 1)) length += 1;
    if (length < whole.length) places.push({ from: to - length, to });
  }
  return places;
}

/** Lower case of the same length: some letters have a longer lower case. */
function lowerCase(text: string): string {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Base64url as base64. */
function toBase64(text: string): string {
  return text.replaceAll('-', '+').replaceAll('_', '/');
}
