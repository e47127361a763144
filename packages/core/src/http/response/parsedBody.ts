import { isPlain } from '../../json.js';
import { inWords, isList } from '../../values.js';
import { deepestDocument } from './exactNumbers.js';

/** Makes a document of the text of a response. */
export type BodyParser = (text: string, headers: Readonly<Record<string, string>>) => unknown;

/** Why a parser gave no document. It has nothing of the body, which may contain a secret. */
export class ParseFault extends Error {
  /** `refused`: the parser threw, e.g. since the body is a web page. `unfit`: it returned something else than JSON. */
  readonly kind: 'refused' | 'unfit' | 'too-large';

  constructor(kind: ParseFault['kind'], what = '') {
    super(what);
    this.kind = kind;
  }
}

/**
 * The document that a parser makes of a body: JSON, as deep and as large as a body of JSON may be. A short XML document
 * with entities could become a large one.
 *
 * @throws ParseFault.
 */
export function parseBody(
  parse: BodyParser,
  { text, headers }: { readonly text: string; readonly headers: Readonly<Record<string, string>> },
  maxBytes: number,
): unknown {
  let document: unknown;
  try {
    document = parse(text, { ...headers });
  } catch {
    throw new ParseFault('refused');
  }
  if (document instanceof Promise) {
    // Its rejection would end the process.
    document.catch(() => undefined);
    throw new ParseFault('unfit', 'a promise: it must be synchronous');
  }
  measure(document, { left: maxBytes }, deepestDocument);
  return document;
}

/** Counts the characters of a value as JSON, each part as often as it occurs, until none are left. */
function measure(value: unknown, size: { left: number }, levels: number): void {
  size.left -= typeof value === 'string' ? value.length + 2 : 2;
  if (size.left < 0) throw new ParseFault('too-large');
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return;
  if (typeof value === 'number' && Number.isFinite(value)) return;
  if (typeof value === 'number') throw new ParseFault('unfit', `the number ${value}`);
  if (!isList(value) && !isPlain(value))
    throw new ParseFault('unfit', typeof value === 'object' ? 'an object of a class' : inWords(value));
  if (levels === 0) throw new ParseFault('unfit', `lists and objects nested more than ${deepestDocument} levels deep`);
  if (isList(value)) {
    // It visits the holes of a list, too.
    for (const item of value) measure(item, size, levels - 1);
    return;
  }
  for (const [name, field] of Object.entries(value)) {
    size.left -= name.length + 3;
    measure(field, size, levels - 1);
  }
}
