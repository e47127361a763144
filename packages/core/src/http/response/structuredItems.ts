/**
 * The items of a list of structured fields (RFC 9651, section 3.1) with their parameters, as sent.
 *
 * @returns nothing if the list is invalid or a parameter is repeated
 */
export function parseItems(value: string): Item[] {
  if (value.length > longestHeader) return [];
  const items = matchAll(itemForm, value).map(([, name = '', rest = '']) => {
    const params = matchAll(paramForm, rest.trimEnd()).map(([, key = '', set = '']) => [key, set] as const);
    const isValid = rest.trim() === '' || params.length > 0;
    const asMap = new Map(params);
    return isValid && asMap.size === params.length
      ? { name: name.startsWith('"') ? name.slice(1, -1) : name, params: asMap }
      : undefined;
  });
  const valid = items.filter((each) => each !== undefined);
  return valid.length === items.length ? valid : [];
}

/** One item of a list. */
interface Item {
  readonly name: string;
  /** Values as sent. */
  readonly params: ReadonlyMap<string, string>;
}

/** A text, a token or, in older drafts, a number; and what follows it. */
const itemForm = /[ \t]*("(?:[^"\\]|\\["\\])*"|[\w*][^\s;,"=]*)((?:[^",]|"(?:[^"\\]|\\["\\])*")*)(?:,|$)/y;
const paramForm = /[ \t]*;[ \t]*([a-z*][a-z0-9_\-.*]*)(?:=("(?:[^"\\]|\\["\\])*"|[^\s;,"]+))?[ \t]*/y;

/** The matches of a form that, one after the other, are the whole text; none if something is between them. */
function matchAll(form: RegExp, text: string): RegExpExecArray[] {
  const matches: RegExpExecArray[] = [];
  for (let at = 0; at < text.length;) {
    form.lastIndex = at;
    const found = form.exec(text);
    if (!found || found[0] === '') return [];
    matches.push(found);
    at += found[0].length;
  }
  return matches;
}

const longestHeader = 2_000;
