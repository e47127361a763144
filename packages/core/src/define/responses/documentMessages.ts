import { isList, isRecord } from '../../values.js';

/** Fields in which a document reports an error. A title or a description is not among them: rows may have these. */
const sayingFields = /^(err|errors?|errmsg|error[_A-Z]\w*|messages?|msg|details?|reason|fault\w*|warnings?)$/i;
/** Fields that report an error within any object, e.g. `data.error`; in `meta`, all of them do. */
const errorFields = /^(err|fault)/i;
/** Further fields, within one of these. */
const furtherFields = /^(code|type|title|name|description|info)$/i;
/** Fields that have nothing but an error, unlike e.g. a rate or a number of errors. */
const plainErrors =
  /^(err|errors?|errmsg|error[_-]?(message|msg|code|type|text|info|details?|description)|faults?|fault[_-]?\w+)$/i;
/** Fields that say why there are no rows. */
const reasons = /^(messages?|msg|details?|reason)$/i;
const nothingWrong = /^(0+|200|ok|okay|success\w*|none|no[ _-]?errors?)\W?$/i;

const deepest = 4;
const maxTexts = 8;

/**
 * The messages of a document without rows, e.g. `missing_scope` in `{"ok":false,"error":"missing_scope"}`; an empty
 * text if it has no such fields.
 */
export function documentMessages(document: unknown): string {
  return collectTexts(document, (name) => sayingFields.test(name)).join(', ');
}

/**
 * The errors in a document: an empty text if there are none, as in `{"error":null,"errors":[],"message":"OK"}`.
 *
 * @param isAlone whether the document has nothing in the place of its rows, so that a message is an error as well
 */
export function documentErrors(document: unknown, isAlone: boolean): string {
  const texts = collectTexts(document, (name) => plainErrors.test(name) || (isAlone && reasons.test(name)));
  return texts.filter((text) => !nothingWrong.test(text)).join(', ');
}

/** The texts in the fields of a document, and of objects in it, that report something by their names. */
function collectTexts(document: unknown, isSaying: (name: string) => boolean): readonly string[] {
  const said: string[] = [];
  if (!isRecord(document)) return [];
  for (const [name, field] of Object.entries(document)) {
    if (isSaying(name)) collect(field, 1, said);
    else if (isRecord(field))
      for (const [inner, value] of Object.entries(field))
        if (isSaying(inner) && (name === 'meta' || errorFields.test(inner))) collect(value, 2, said);
  }
  return said;
}

function collect(value: unknown, depth: number, said: string[]): void {
  if (said.length === maxTexts || depth > deepest) return;
  const text = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
  if (text !== '' && !said.includes(text)) said.push(text);
  if (isList(value)) for (const item of value.slice(0, maxTexts)) collect(item, depth + 1, said);
  if (!isRecord(value)) return;
  for (const [name, field] of Object.entries(value))
    if (sayingFields.test(name) || furtherFields.test(name) || typeof field === 'object')
      collect(field, depth + 1, said);
}
