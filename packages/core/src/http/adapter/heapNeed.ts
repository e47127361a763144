const [quote, comma, colon, openList, backslash, openRecord] = [0x22, 0x2c, 0x3a, 0x5b, 0x5c, 0x7b];
const [firstDigit, lastDigit] = [0x30, 0x39];
/** The first non-ASCII byte. With one, V8 stores the text in two bytes a character, or twice while it is escaped. */
const firstBeyondAscii = 0x80;

/**
 * Upper bounds in bytes on 64 bits: for a list or object; for a field, which is cheap if objects share field names; for
 * a text besides its characters; for an item between commas.
 */
const cost = { container: 64, field: 16, newField: 160, text: 32, item: 8 } as const;
/** How many field names are remembered. */
const maxNames = 10_000;

/**
 * Upper bound of the heap bytes of a parsed JSON document: its text, the characters in its values, and their
 * containers. `{},` takes 3 bytes of JSON and 64 of heap. Invalid JSON takes less, since it is not parsed.
 */
export function heapNeed(json: Uint8Array): number {
  const names = new Set<number>();
  let need = 0;
  let width = 1;
  let isText = false;
  let textBegan = 0;
  let hash = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] ?? 0;
    if (byte >= firstBeyondAscii) width = 2;
    if (byte === quote) {
      isText = !isText;
      if (isText) [textBegan, hash] = [at + 1, 0];
      else need += cost.text;
    } else if (byte === backslash) at += 1;
    else if (isText) hash = Math.imul(hash ^ byte, 0x01000193);
    else if (byte === openList || byte === openRecord) need += cost.container;
    else if (byte === comma) need += cost.item;
    else if (byte === colon) {
      // The text before the colon was a name, which V8 stores once.
      need -= cost.text;
      need += isKnown(hash, json[textBegan] ?? 0, names) ? cost.field : cost.newField;
    }
  }
  return need + 2 * width * json.length;
}

/**
 * Whether a name of this hash and first byte occurred before. Names that begin with a digit have no cheap form in V8.
 */
function isKnown(hash: number, first: number, names: Set<number>): boolean {
  if (first >= firstDigit && first <= lastDigit) return false;
  if (names.has(hash)) return true;
  if (names.size < maxNames) names.add(hash);
  return false;
}
