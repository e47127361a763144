import { mayBeEscaped, readingsOf } from './escapes.js';

const hidden = '[hidden]';

/** How often a text may have been escaped on its way, e.g. in JSON within a URL within a web page. */
const mostEscaped = 3;

/** A character that was escaped as often is no longer than this. */
const longestEscape = 32;

/** Fewer characters than this appear in base64 by chance, and fewer of a secret's first ones are none. */
const shortestEncoded = 6;

/** What may be left of an escape where a text breaks off. */
const brokenEscape = /(%[0-9a-f]?|\\(u[0-9a-f]{0,3}|x[0-9a-f]?)?|&#?x?\w{0,5})$/i;

/**
 * The texts that must not leave the transport, and how to take them out of whatever else does. They are API keys, so they
 * have no characters but the visible ones of ASCII.
 *
 * A secret is found raw, percent-encoded, in a JSON string or a web page, and in base64 or base64url, alone or inside a longer
 * encoded text. No pattern is made of a secret: the error of one that is too long would spell it out.
 */
export class Secrets {
  readonly #secrets = new Set<string>();
  readonly #needles: Needle[] = [];
  #longest = 0;

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

  /** Whether a secret stands somewhere in `text`. */
  has(text: string): boolean {
    // Asked of every cursor, and few of them hold an escape.
    if (mayBeEscaped(text)) return this.#find(text).length > 0;
    const base64 = inBase64(text);
    return this.#needles.some((needle) => (needle.isBase64 ? base64 : text).includes(needle.text));
  }

  /** Where secrets stand, in order; places may overlap. `endsEarly`: also where one begins of which the text has no end. */
  #find(text: string, endsEarly = false): Place[] {
    const places: Place[] = [];
    for (const reading of readingsOf(text, mostEscaped)) {
      const whole = endsEarly ? reading.text.replace(brokenEscape, '') : reading.text;
      const base64 = inBase64(reading.text);
      for (const needle of this.#needles) {
        const written = needle.isBase64 ? base64 : reading.text;
        for (let at = written.indexOf(needle.text); at >= 0; at = written.indexOf(needle.text, at + 1)) {
          places.push(placeOf(needle, at, written, reading.origins));
        }
        const begun = endsEarly ? begunLength(needle.text, written.slice(0, whole.length)) : 0;
        if (begun > 0) places.push({ from: reading.origins[whole.length - begun] ?? 0, to: text.length });
      }
    }
    return places.sort((a, b) => a.from - b.from);
  }
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

interface Needle {
  readonly text: string;
  readonly isBase64: boolean;
  /** Whether the characters before and after it hold some bits of the secret, too. */
  readonly sharesBefore: boolean;
  readonly sharesAfter: boolean;
}

interface Place {
  readonly from: number;
  readonly to: number;
}

function needlesOf(secret: string): Needle[] {
  const plain = readingsOf(secret, mostEscaped).map(({ text }) => ({
    text,
    isBase64: false,
    sharesBefore: false,
    sharesAfter: false,
  }));
  // What is packed into base64, e.g. a cursor, is often a document or an address in which the secret stands escaped.
  const packed = new Set([secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]);
  const encoded = [...packed].flatMap((form) => {
    const bytes = new TextEncoder().encode(form);
    return [0, 1, 2].map((shift) => base64Of(bytes, shift));
  });
  // Where a secret looks escaped itself, some encoders leave that as it is, and it is read with the rest. But a few characters
  // of a secret are not the secret any more.
  return [...plain, ...encoded].filter(({ text }) => text === secret || text.length >= shortestEncoded);
}

/** The base64 text of `bytes` that begin `shift` bytes into a group: the part that does not depend on what stands around them. */
function base64Of(bytes: Uint8Array, shift: number): Needle {
  const text = btoa(Array.from([...new Uint8Array(shift), ...bytes], (byte) => String.fromCharCode(byte)).join(''));
  const [from, to] = [shift * 8, (shift + bytes.length) * 8];
  return {
    text: text.slice(Math.ceil(from / 6), Math.floor(to / 6)),
    isBase64: true,
    sharesBefore: from % 6 !== 0,
    sharesAfter: to % 6 !== 0,
  };
}

function placeOf(
  { text, sharesBefore, sharesAfter }: Needle,
  at: number,
  written: string,
  origins: Uint32Array,
): Place {
  const isShared = (index: number): boolean => /[\w+/]/.test(written.charAt(index));
  const from = sharesBefore && isShared(at - 1) ? at - 1 : at;
  const end = at + text.length;
  const to = sharesAfter && isShared(end) ? end + 1 : end;
  return { from: origins[from] ?? 0, to: origins[to] ?? 0 };
}
