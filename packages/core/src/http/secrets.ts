import { mayBeEscaped, readingsOf, type Unescaped } from './escapes.js';

const hidden = '[hidden]';

/** How many layers of escapes are decoded, e.g. JSON within a URL within HTML. */
const maxEscaped = 3;

/** Longest form of one character after that many layers. */
const longestEscape = 32;

/** Shorter texts occur in base64 by chance, and shorter beginnings of a secret are not redacted. */
const shortestEncoded = 6;

/**
 * Shorter secrets occur by chance: a walk of a million pages with cursors of 100 characters contains 6 given
 * characters, in any case, once in 30 walks, and 8 once in 40,000.
 */
export const shortestSecret = 8;

/** Longest text whose redaction is remembered, and how many of them are. */
const longestName = 100;
const maxNames = 32;

/** What may remain of an escape at the end of a cut text. */
const brokenEscape = /(%[0-9a-f]?|\\(u[0-9a-f]{0,3}|x[0-9a-f]?)?|&#?x?\w{0,5})$/i;

/**
 * Texts that must not be shown, such as API keys, and their redaction in other texts. They are plain ASCII.
 *
 * A secret is found in any case; raw, reversed, in hex, percent-encoded, escaped in JSON or HTML, and in base64 or
 * base64url, alone or inside a longer encoded text. A whole secret in any of these forms is also found with blanks,
 * line breaks, punctuation or `0x` between its letters and digits. A piece without such separators is found if it is at
 * least a quarter of its form and stands for 8 characters of the secret, unless it reads like words and is less than
 * half: `production` stays. Other encodings and smaller pieces are not found.
 *
 * @example
 * const secrets = new Secrets();
 * secrets.add('3f2b8c1e-7a64-4d0f');
 * secrets.redact('No such key: 3F2B8C1E-7A64-4D0F'); // 'No such key: [hidden]'
 */
export class Secrets {
  readonly #secrets = new Map<string, KnownSecret>();
  #needles: Needle[] = [];
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
    const needles = needlesOf(secret);
    this.#secrets.set(secret, { count: 1, needles });
    this.#longest = Math.max(this.#longest, secret.length);
    this.#needles.push(...needles);
  }

  /** Undoes one `add`, e.g. of a token that has expired long ago: each secret makes every redaction slower. */
  remove(secret: string): void {
    const known = this.#secrets.get(secret);
    if (!known) return;
    known.count -= 1;
    if (known.count > 0) return;
    this.#names.clear();
    this.#secrets.delete(secret);
    this.#longest = Math.max(0, ...Array.from(this.#secrets.keys(), ({ length }) => length));
    this.#needles = Array.from(this.#secrets.values(), ({ needles }) => needles).flat();
  }

  /** The first `length` characters of `text` (default: all) without secrets, including one that a cut splits. */
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
    const searched = text.slice(0, length + this.#longest * longestEscape);
    for (const { from, to } of this.#find(searched, searched.length === text.length)) {
      if (from >= length) break;
      if (from >= at) parts.push(text.slice(at, from), hidden);
      at = Math.max(at, to);
    }
    parts.push(text.slice(at, length));
    return parts.join('');
  }

  /** Whether `text` contains a whole secret. */
  has(text: string): boolean {
    // This runs for every cursor, and few contain an escape.
    const readings = mayBeEscaped(text) ? readingsOf(text, maxEscaped).map((reading) => reading.text) : [text];
    return readings.some((reading) => {
      const written = inLowerCase(reading);
      const base64 = inBase64(written);
      const packed = packedText(written);
      return this.#needles.some(
        (needle) => (needle.isBase64 ? base64 : written).includes(needle.text) || isPackedIn(packed, needle),
      );
    });
  }

  /** Where secrets and their pieces are, in order, maybe overlapping. `endsEarly`: also one cut at the end. */
  #find(text: string, endsEarly: boolean): Place[] {
    const places: Place[] = [];
    for (const reading of readingsOf(text, maxEscaped)) {
      const { origins } = reading;
      const written = inLowerCase(reading.text);
      const base64 = inBase64(written);
      const packed = withoutSeparators(written);
      const whole = endsEarly ? reading.text.replace(brokenEscape, '').length : reading.text.length;
      for (const needle of this.#needles) {
        const searched = needle.isBase64 ? base64 : written;
        for (const { from, to } of runsOf(needle, searched, reading.text))
          places.push({ from: origins[from] ?? 0, to: origins[to] ?? 0 });
        const { packed: letters } = needle;
        if (letters !== '')
          for (let at = packed.text.indexOf(letters); at >= 0; at = packed.text.indexOf(letters, at + 1))
            places.push(placeIn(origins, packed.origins, at, at + letters.length));
        const cut = endsEarly ? cutLength(needle.text, searched.slice(0, whole)) : 0;
        if (cut > 0) places.push({ from: origins[whole - cut] ?? 0, to: text.length });
      }
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
  /** Its letters and digits (`packedText`) if they are enough to be searched for; otherwise empty. */
  readonly packed: string;
  /** Shortest part of it that counts as a piece; its length if pieces do not count. */
  readonly shortestPiece: number;
  /** Whether the characters before and after it contain some of the secret's bits. */
  readonly sharesBefore: boolean;
  readonly sharesAfter: boolean;
}

interface Place {
  readonly from: number;
  readonly to: number;
}

function needlesOf(secret: string): Needle[] {
  const cases = [...new Set([secret, secret.toLowerCase(), secret.toUpperCase()])];
  const plain = readingsOf(secret, maxEscaped).map(({ text }) => needleOf(text, text.length));
  const reversed = needleOf(Array.from(secret).reverse().join(''), secret.length);
  const hex = cases.map((form) => needleOf(hexOf(form), secret.length));
  // Base64, e.g. of a cursor, often encodes JSON or a URL, in which the secret is escaped.
  const escaped = cases.flatMap((form) => [form, JSON.stringify(form).slice(1, -1), encodeURIComponent(form)]);
  const encoded = [...new Set(escaped)].flatMap((form) => {
    const bytes = new TextEncoder().encode(form);
    return [0, 1, 2].map((shift) => base64Of(bytes, shift));
  });
  // A secret may look escaped, so its decoded forms count, too, unless they are too short to be the secret.
  const whole = secret.toLowerCase();
  const needles = [...plain, reversed, ...hex, ...encoded].filter(
    ({ text }) => text === whole || text.length >= shortestEncoded,
  );
  return [...new Map(needles.map((needle) => [needle.text + String(needle.isBase64), needle])).values()];
}

/** @param characters how many characters of the secret the spelling stands for */
function needleOf(spelling: string, characters: number, base64?: Pick<Needle, 'sharesBefore' | 'sharesAfter'>): Needle {
  const text = inLowerCase(spelling);
  const packed = packedText(text);
  const share = Math.max(1 / 4, shortestSecret / characters);
  return {
    text,
    isBase64: base64 !== undefined,
    packed: packed.length >= shortestSecret && packed.length * 2 > text.length ? packed : '',
    shortestPiece: Math.min(text.length, Math.ceil(text.length * share)),
    ...{ sharesBefore: false, sharesAfter: false, ...base64 },
  };
}

/** The part of the base64 of `bytes`, `shift` bytes into a group, that does not depend on the bytes around them. */
function base64Of(bytes: Uint8Array, shift: number): Needle {
  const text = btoa(Array.from([...new Uint8Array(shift), ...bytes], (byte) => String.fromCharCode(byte)).join(''));
  const [from, to] = [shift * 8, (shift + bytes.length) * 8];
  const own = text.slice(Math.ceil(from / 6), Math.floor(to / 6));
  return needleOf(own, bytes.length, { sharesBefore: from % 6 !== 0, sharesAfter: to % 6 !== 0 });
}

function hexOf(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * Where a needle, or a long enough piece of it, is in a text. The needle is cut into blocks so short that any piece
 * contains a whole one: finding blocks is fast, and each hit is extended on both sides.
 *
 * @param original the text in its original case, which tells a key from words
 */
function runsOf(needle: Needle, text: string, original: string): Place[] {
  const { text: needleText, shortestPiece } = needle;
  const places: Place[] = [];
  const block = shortestPiece === needleText.length ? shortestPiece : Math.floor((shortestPiece + 1) / 2);
  for (let cut = 0; cut + block <= needleText.length; cut += block) {
    const part = needleText.slice(cut, cut + block);
    for (let at = text.indexOf(part); at >= 0;) {
      let [from, to, left, right] = [at, at + block, cut, cut + block];
      while (left > 0 && from > 0 && text[from - 1] === needleText[left - 1]) [from, left] = [from - 1, left - 1];
      while (right < needleText.length && text[to] === needleText[right]) [to, right] = [to + 1, right + 1];
      const isWhole = right - left === needleText.length;
      if (isWhole) places.push(withShared(needle, text, from, to));
      else if (
        to - from >= shortestPiece &&
        (2 * (to - from) >= needleText.length || !readsLikeWords(original.slice(from, to)))
      )
        places.push({ from, to });
      // A hit that was fully extended contains no other.
      at = text.indexOf(part, isWhole || to - from < shortestPiece ? at + 1 : to);
    }
  }
  return places;
}

/** Includes the base64 characters on both sides that contain bits of the secret. */
function withShared({ sharesBefore, sharesAfter }: Needle, text: string, from: number, to: number): Place {
  const isShared = (index: number): boolean => /[\w+/]/.test(text.charAt(index));
  return {
    from: sharesBefore && isShared(from - 1) ? from - 1 : from,
    to: sharesAfter && isShared(to) ? to + 1 : to,
  };
}

/** Whether a text has only letters, in lengths and cases of words. */
function readsLikeWords(text: string): boolean {
  const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return words.every((word) => word.length <= 14 && /^([A-Z]?[a-z]+|[A-Z]+)$/.test(word));
}

const separators = /[^a-z0-9]+/g;

/** The letters and digits of a lower-case text, without the `0x` that some programs write before each byte in hex. */
function packedText(text: string): string {
  return text.replace(separators, '').replaceAll('0x', '');
}

/** The same, with where each of them is in the text. */
function withoutSeparators(text: string): Unescaped {
  const origins = new Uint32Array(text.length);
  let length = 0;
  let before = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if ((code < 48 || code > 57) && (code < 97 || code > 122)) continue;
    const isPrefix = code === letterX && before === zero;
    before = code;
    if (isPrefix) {
      length -= 1;
      continue;
    }
    origins[length] = at;
    length += 1;
  }
  return { text: packedText(text), origins };
}

const [zero, letterX] = [48, 120];

/** A range of the packed text as a range of the original, without trailing separators. */
function placeIn(original: Uint32Array, packed: Uint32Array, from: number, to: number): Place {
  return { from: original[packed[from] ?? 0] ?? 0, to: original[(packed[to - 1] ?? 0) + 1] ?? 0 };
}

function isPackedIn(text: string, { packed }: Needle): boolean {
  return packed !== '' && text.includes(packed);
}

/** Lower case of the same length: some letters have a longer lower case. */
function inLowerCase(text: string): string {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Base64url as base64. */
function inBase64(text: string): string {
  return text.replaceAll('-', '+').replaceAll('_', '/');
}

/** How many of a needle's first characters a text ends with; 0 if they are too few to count. */
function cutLength(needle: string, text: string): number {
  for (let length = needle.length - 1; length >= shortestEncoded; length -= 1)
    if (text.endsWith(needle.slice(0, length))) return length;
  return 0;
}
