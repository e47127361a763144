import { mayBeEscaped, readingsOf, type Unescaped } from './escapes.js';

const hidden = '[hidden]';

/** How often a text may have been escaped on its way, e.g. in JSON within a URL within a web page. */
const maxEscaped = 3;

/** A character that was escaped as often is no longer than this. */
const longestEscape = 32;

/** Fewer characters than this appear in base64 by chance, and fewer of a secret's first ones are none. */
const shortestEncoded = 6;

/**
 * Characters of a secret that are one by themselves. Of fewer, in any case, some stand in texts by chance: a walk of a million pages with
 * cursors of 100 characters meets 6 given ones once in 30 walks, and 8 once in 40,000.
 */
export const shortestSecret = 8;

/** What may be left of an escape where a text breaks off. */
const brokenEscape = /(%[0-9a-f]?|\\(u[0-9a-f]{0,3}|x[0-9a-f]?)?|&#?x?\w{0,5})$/i;

/**
 * Texts that must not be shown, such as API keys, and how to take them out of other texts. They are plain ASCII.
 *
 * A secret is found in upper, lower and mixed case; raw, reversed, in hex, percent-encoded, in a JSON string or a web page, and in base64 or
 * base64url, alone or inside a longer encoded text. As a whole, each of them is found also with blanks, line ends, punctuation or `0x` between
 * its letters and digits. Where nothing stands between them, a piece is found if it is at least a quarter of its spelling and stands for 8
 * characters of the secret, unless it reads like words and is less than half of it: `production` stays. Other encodings are not found, nor are
 * smaller pieces.
 *
 * @example
 * const secrets = new Secrets();
 * secrets.add('3f2b8c1e-7a64-4d0f');
 * secrets.redact('No such key: 3F2B8C1E-7A64-4D0F'); // 'No such key: [hidden]'
 */
export class Secrets {
  readonly #secrets = new Set<string>();
  readonly #needles: Needle[] = [];
  #longest = 0;

  /** Hides a text from now on. An empty one is nothing to hide. */
  // No pattern is made of a secret: the error of one that is too long would spell it out.
  add(secret: string): void {
    if (secret === '' || this.#secrets.has(secret)) return;
    this.#secrets.add(secret);
    this.#longest = Math.max(this.#longest, secret.length);
    this.#needles.push(...needlesOf(secret));
  }

  /**
   * The first `length` characters of `text` (default: all) without any secret, also where one goes on beyond them, or breaks off because
   * the text does.
   */
  redact(text: string, length = text.length): string {
    const parts: string[] = [];
    let at = 0;
    const looked = text.slice(0, length + this.#longest * longestEscape);
    for (const { from, to } of this.#find(looked, looked.length === text.length)) {
      if (from >= length) break;
      if (from >= at) parts.push(text.slice(at, from), hidden);
      at = Math.max(at, to);
    }
    parts.push(text.slice(at, length));
    return parts.join('');
  }

  /** Whether a secret stands somewhere in `text`, in whole. */
  has(text: string): boolean {
    // Asked of every cursor, and few of them hold an escape.
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

  /** Where secrets and pieces of them stand, in order; places may overlap. `endsEarly`: also where one begins of which the text has no end. */
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
        const begun = endsEarly ? begunLength(needle.text, searched.slice(0, whole)) : 0;
        if (begun > 0) places.push({ from: origins[whole - begun] ?? 0, to: text.length });
      }
    }
    return places.sort((a, b) => a.from - b.from);
  }
}

interface Needle {
  readonly text: string;
  readonly isBase64: boolean;
  /** Its letters and digits (`packedText`), where they are enough to be searched for; '' otherwise. */
  readonly packed: string;
  /** Characters of it in a row that are a piece of it; its length, where no piece is. */
  readonly shortestPiece: number;
  /** Whether the characters before and after it hold some bits of the secret, too. */
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
  // What is packed into base64, e.g. a cursor, is often a document or an address in which the secret stands escaped.
  const escaped = cases.flatMap((form) => [form, JSON.stringify(form).slice(1, -1), encodeURIComponent(form)]);
  const encoded = [...new Set(escaped)].flatMap((form) => {
    const bytes = new TextEncoder().encode(form);
    return [0, 1, 2].map((shift) => base64Of(bytes, shift));
  });
  // Where a secret looks escaped itself, some encoders leave that as it is, and it is read with the rest. But a few characters
  // of a secret are not the secret any more.
  const whole = secret.toLowerCase();
  const needles = [...plain, reversed, ...hex, ...encoded].filter(
    ({ text }) => text === whole || text.length >= shortestEncoded,
  );
  return [...new Map(needles.map((needle) => [needle.text + String(needle.isBase64), needle])).values()];
}

/** @param characters how many of a secret's a spelling stands for. */
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

/** The base64 text of `bytes` that begin `shift` bytes into a group: the part that does not depend on what stands around them. */
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
 * Where a needle, or a piece of it that is long enough, stands in a text. It is cut into blocks of which any such piece holds one in whole:
 * to look for those is fast, and what stands around them is compared.
 *
 * @param original the text as it came: its upper case tells a key from words
 */
function runsOf(needle: Needle, text: string, original: string): Place[] {
  const { text: sought, shortestPiece } = needle;
  const places: Place[] = [];
  const block = shortestPiece === sought.length ? shortestPiece : Math.floor((shortestPiece + 1) / 2);
  for (let cut = 0; cut + block <= sought.length; cut += block) {
    const part = sought.slice(cut, cut + block);
    for (let at = text.indexOf(part); at >= 0;) {
      let [from, to, left, right] = [at, at + block, cut, cut + block];
      while (left > 0 && from > 0 && text[from - 1] === sought[left - 1]) [from, left] = [from - 1, left - 1];
      while (right < sought.length && text[to] === sought[right]) [to, right] = [to + 1, right + 1];
      const isWhole = right - left === sought.length;
      if (isWhole) places.push(withShared(needle, text, from, to));
      else if (
        to - from >= shortestPiece &&
        (2 * (to - from) >= sought.length || !readsLikeWords(original.slice(from, to)))
      )
        places.push({ from, to });
      // A piece that was compared to its end holds no other.
      at = text.indexOf(part, isWhole || to - from < shortestPiece ? at + 1 : to);
    }
  }
  return places;
}

/** The bits of a secret that stand in the characters of base64 around it go, too. */
function withShared({ sharesBefore, sharesAfter }: Needle, text: string, from: number, to: number): Place {
  const isShared = (index: number): boolean => /[\w+/]/.test(text.charAt(index));
  return {
    from: sharesBefore && isShared(from - 1) ? from - 1 : from,
    to: sharesAfter && isShared(to) ? to + 1 : to,
  };
}

/** Letters without digits among them, in lengths and cases that words have. */
function readsLikeWords(text: string): boolean {
  const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return words.every((word) => word.length <= 14 && /^([A-Z]?[a-z]+|[A-Z]+)$/.test(word));
}

const separators = /[^a-z0-9]+/g;

/** The letters and digits of a text in lower case, without the `0x` that some programs write before each byte in hex. */
function packedText(text: string): string {
  return text.replace(separators, '').replaceAll('0x', '');
}

/** The same, and where in the text each of them stands. */
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

/** A stretch without separators as one of the original: it ends behind its last character, and not before the next one. */
function placeIn(original: Uint32Array, packed: Uint32Array, from: number, to: number): Place {
  return { from: original[packed[from] ?? 0] ?? 0, to: original[(packed[to - 1] ?? 0) + 1] ?? 0 };
}

function isPackedIn(text: string, { packed }: Needle): boolean {
  return packed !== '' && text.includes(packed);
}

/** The same in lower case, as long as before: there are letters whose small form is longer. */
function inLowerCase(text: string): string {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** The same with base64url written as base64. */
function inBase64(text: string): string {
  return text.replaceAll('-', '+').replaceAll('_', '/');
}

/** How many of a needle's first characters a text ends with; 0 where they are too few to mean anything. */
function begunLength(needle: string, text: string): number {
  for (let length = needle.length - 1; length >= shortestEncoded; length -= 1)
    if (text.endsWith(needle.slice(0, length))) return length;
  return 0;
}
