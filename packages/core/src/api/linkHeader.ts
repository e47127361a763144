/** One link of a `Link` header. */
export interface HeaderLink {
  /** As it was written: it may be relative. */
  readonly uri: string;
  /** Its parameters by name, in lower case; of one that is repeated, the first. */
  readonly params: ReadonlyMap<string, string>;
}

/**
 * Reads a `Link` header, several values joined by commas included.
 *
 * @returns `undefined` if it is none. The standard would have readers drop the rest from there on; but a link to the next page that is
 * dropped ends a listing early, and nobody notices.
 * @see RFC 8288, section 3 and appendix B.2
 */
export function parseLinkHeader(header: string): readonly HeaderLink[] | undefined {
  const text = new Scanner(header);
  const links: HeaderLink[] = [];
  for (;;) {
    // Between commas there may be nothing.
    text.skip(/[\s,]+/y);
    if (text.isAtEnd) return links;
    const uri = text.skip(/<([^<>]*)>/y)?.[1];
    const params = uri === undefined ? undefined : paramsOf(text);
    if (uri === undefined || !params) return undefined;
    links.push({ uri: uri.trim(), params });
  }
}

/** Whether a link's relations, names with spaces between, have this one among them. */
export function hasRelation({ params }: HeaderLink, relation: string): boolean {
  const relations = params.get('rel')?.toLowerCase().split(/\s+/) ?? [];
  return relations.includes(relation);
}

/** All up to the comma that ends a link; `undefined` if that is reached by no way that the standard has. */
function paramsOf(text: Scanner): ReadonlyMap<string, string> | undefined {
  const params = new Map<string, string>();
  while (text.skip(/\s*;\s*/y)) {
    const name = text.skip(/[^\s=;,"<>]+/y)?.[0].toLowerCase();
    if (name === undefined) continue;
    const value = text.skip(/\s*=\s*/y) ? valueOf(text) : '';
    if (value === undefined) return undefined;
    if (!params.has(name)) params.set(name, value);
  }
  text.skip(/\s+/y);
  return text.isAtEnd || text.isAt(',') ? params : undefined;
}

function valueOf(text: Scanner): string | undefined {
  if (!text.isAt('"')) return text.skip(/[^;,"]*/y)?.[0].trim();
  return text.skip(/"((?:[^"\\]|\\.)*)"/sy)?.[1]?.replace(/\\(.)/gs, '$1');
}

/** Goes along a text and never back, so that the longest header takes no longer than its length. */
class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  isAt(character: string): boolean {
    return this.#text.charAt(this.#at) === character;
  }

  /** What a sticky pattern matches from here, which is then behind; `undefined` if it matches nothing. */
  skip(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (!match) return undefined;
    this.#at += match[0].length;
    return match;
  }
}
