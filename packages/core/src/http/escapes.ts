/** An unescaped text, and where in the original each of its characters starts. */
export interface Unescaped {
  readonly text: string;
  /** One entry a character, and one for the end. */
  readonly origins: Uint32Array;
}

/** One kind of escape: its syntax, and the character that it means. */
interface Escape {
  readonly pattern: RegExp;
  readonly meaning: (escape: string) => string;
}

const percent: Escape = { pattern: /%[0-9a-f]{2}/gi, meaning: (escape) => fromCode(escape.slice(1), 16) };

const backslash: Escape = {
  pattern: /\\(?:u[0-9a-f]{4}|x[0-9a-f]{2}|[^])/gi,
  meaning: (escape) => (escape.length > 2 ? fromCode(escape.slice(2), 16) : escape.slice(1)),
};

/**
 * All names that HTML has for single ASCII characters (html.spec.whatwg.org, named character references), in lower case, each
 * before its character. None comes after its beginning.
 */
const entityNames = /* @__PURE__ */ listEntityNames(`
  quot" amp& apos' lt< gt> plus+ sol/ equals= lowbar_ underbar_ period. colon: commat@ comma, semi; excl! quest? num#
  dollar$ percnt% ast* midast* lpar( rpar) lsqb[ lbrack[ rsqb] rbrack] bsol\\ hat^ grave\` diacriticalgrave\` lcub{
  lbrace{ rcub} rbrace} verbar| verticalline| vert|
`);

function listEntityNames(names: string): Map<string, string> {
  const all = names.trim().split(/\s+/);
  const ofBlanks = [['tab', '\t'] as const, ['newline', '\n'] as const];
  return new Map([...all.map((each) => [each.slice(0, -1), each.slice(-1)] as const), ...ofBlanks]);
}

/** Any number of zeros may come first, and the semicolon may be missing. */
function entityPattern(names: ReadonlyMap<string, string>): RegExp {
  return new RegExp(`&(?:#0*\\d{1,5}|#x0*[0-9a-f]{1,4}|${[...names.keys()].join('|')});?`, 'gi');
}

const entity: Escape = {
  pattern: /* @__PURE__ */ entityPattern(entityNames),
  meaning: (escape) => {
    const name = escape.slice(1).replace(';', '').toLowerCase();
    if (name.startsWith('#x')) return fromCode(name.slice(2), 16);
    return entityNames.get(name) ?? fromCode(name.slice(1), 10);
  },
};

/**
 * All readings of a text: as it is, and with escapes of URLs, JSON strings and HTML decoded in any order. Readings that
 * change nothing are omitted.
 *
 * @param max how many kinds of escapes are decoded, one after another
 */
export function decodeEscapes(text: string, max: number): readonly Unescaped[] {
  const readings: Unescaped[] = [{ text, origins: numberPlaces(text) }];
  // Few cursors have the first character of an escape.
  if (!/[%\\&]/.test(text)) return readings;
  const known = new Set([text]);
  let last: readonly Unescaped[] = readings;
  for (let depth = 0; depth < max && last.length > 0; depth += 1) {
    last = last
      .flatMap((reading) => [percent, backslash, entity].map((escape) => unescape(reading, escape)))
      .filter((reading) => known.size < known.add(reading.text).size);
    readings.push(...last);
  }
  return readings;
}

/** A loop, because this runs for every cursor and URL, and `Uint32Array.from` is several times slower. */
function numberPlaces({ length }: string): Uint32Array {
  const origins = new Uint32Array(length + 1);
  for (let at = 0; at <= length; at += 1) origins[at] = at;
  return origins;
}

function unescape({ text, origins }: Unescaped, { pattern, meaning }: Escape): Unescaped {
  const parts: string[] = [];
  const starts = new Uint32Array(origins.length);
  let length = 0;
  const copy = (from: number, to: number): void => {
    parts.push(text.slice(from, to));
    starts.set(origins.subarray(from, to), length);
    length += to - from;
  };
  let at = 0;
  for (const { 0: escape, index } of text.matchAll(pattern)) {
    copy(at, index);
    parts.push(meaning(escape));
    starts[length] = origins[index] ?? 0;
    length += 1;
    at = index + escape.length;
  }
  copy(at, text.length);
  starts[length] = origins[text.length] ?? 0;
  return { text: parts.join(''), origins: starts.subarray(0, length + 1) };
}

function fromCode(digits: string, radix: number): string {
  return String.fromCharCode(parseInt(digits, radix));
}
