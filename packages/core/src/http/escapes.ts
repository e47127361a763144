/** A text with escapes undone, and where in the original each of its characters began. */
export interface Unescaped {
  readonly text: string;
  /** One entry a character, and one for the end. */
  readonly origins: Uint32Array;
}

/** What one kind of escape looks like, and the one character that it stands for. */
interface Escape {
  readonly pattern: RegExp;
  readonly meaning: (escape: string) => string;
}

const percent: Escape = { pattern: /%[0-9a-f]{2}/gi, meaning: (escape) => fromCode(escape.slice(1), 16) };

const backslash: Escape = {
  pattern: /\\(?:u[0-9a-f]{4}|x[0-9a-f]{2}|[^])/gi,
  meaning: (escape) => (escape.length > 2 ? fromCode(escape.slice(2), 16) : escape.slice(1)),
};

const entityNames = new Map([
  ['quot', '"'],
  ['amp', '&'],
  ['apos', "'"],
  ['lt', '<'],
  ['gt', '>'],
]);

const entity: Escape = {
  pattern: /&(?:#\d{1,5}|#x[0-9a-f]{1,4}|quot|amp|apos|lt|gt);/gi,
  meaning: (escape) => {
    const name = escape.slice(1, -1).toLowerCase();
    if (name.startsWith('#x')) return fromCode(name.slice(2), 16);
    return entityNames.get(name) ?? fromCode(name.slice(1), 10);
  },
};

/** Whether a text holds what an escape begins with. Without one it has no reading but itself. */
export function mayBeEscaped(text: string): boolean {
  return /[%\\&]/.test(text);
}

/**
 * All readings of a text: as it is written, and with escapes of URLs, JSON strings and web pages undone, one kind after another in
 * any order. A reading that changes nothing is left out.
 *
 * @param most how many kinds are undone at most, one after another
 */
export function readingsOf(text: string, max: number): readonly Unescaped[] {
  const readings: Unescaped[] = [{ text, origins: asWritten(text) }];
  const known = new Set([text]);
  let last: readonly Unescaped[] = readings;
  for (let depth = 0; depth < max && last.length > 0; depth += 1) {
    last = last
      .flatMap((reading) => [percent, backslash, entity].map((escape) => unescaped(reading, escape)))
      .filter((reading) => known.size < known.add(reading.text).size);
    readings.push(...last);
  }
  return readings;
}

/** Filled by a loop: this is done for each cursor and each address, and `from` with a function takes several times as long. */
function asWritten({ length }: string): Uint32Array {
  const origins = new Uint32Array(length + 1);
  for (let at = 0; at <= length; at += 1) origins[at] = at;
  return origins;
}

function unescaped({ text, origins }: Unescaped, { pattern, meaning }: Escape): Unescaped {
  const parts: string[] = [];
  const begun = new Uint32Array(origins.length);
  let length = 0;
  const keep = (from: number, to: number): void => {
    parts.push(text.slice(from, to));
    begun.set(origins.subarray(from, to), length);
    length += to - from;
  };
  let at = 0;
  for (const { 0: escape, index } of text.matchAll(pattern)) {
    keep(at, index);
    parts.push(meaning(escape));
    begun[length] = origins[index] ?? 0;
    length += 1;
    at = index + escape.length;
  }
  keep(at, text.length);
  begun[length] = origins[text.length] ?? 0;
  return { text: parts.join(''), origins: begun.subarray(0, length + 1) };
}

function fromCode(digits: string, radix: number): string {
  return String.fromCharCode(parseInt(digits, radix));
}
