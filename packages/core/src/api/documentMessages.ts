import { isList, isRecord } from '../values.js';

/** Fields in which a document says what went wrong. A title or a description may be one of a row. */
const sayingFields = /^(err|errors?|errmsg|error[_A-Z]\w*|messages?|msg|details?|reason|fault\w*|warnings?)$/i;
/** Those that say it also within any object, e.g. `data.error`; in `meta`, all do. */
const errorFields = /^(err|fault)/i;
/** Others, within one of these. */
const furtherFields = /^(code|type|title|name|description|info)$/i;

const deepest = 4;
const maxTexts = 8;

/**
 * What a document without rows says of itself, e.g. `missing_scope` in `{"ok":false,"error":"missing_scope"}`; an empty
 * text if it has no such fields.
 */
export function documentMessages(document: unknown): string {
  const said: string[] = [];
  if (!isRecord(document)) return '';
  for (const [name, field] of Object.entries(document)) {
    if (sayingFields.test(name)) collect(field, 1, said);
    else if (isRecord(field))
      for (const [inner, value] of Object.entries(field))
        if ((name === 'meta' ? sayingFields : errorFields).test(inner)) collect(value, 2, said);
  }
  return said.join(', ');
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
