const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openList = 0x5b;
const backslash = 0x5c;
const openRecord = 0x7b;
const firstDigit = 0x30;
const lastDigit = 0x39;
/** The first non-ASCII byte. With one, V8 stores the text in two bytes a character. */
const firstBeyondAscii = 0x80;

/**
 * Bytes at most on 64 bits: of a list or object; of a field, cheap if objects share names; of a text besides its
 * characters; of an item between commas.
 */
const cost = { container: 64, field: 16, newField: 160, text: 32, item: 8 } as const;
/** How many field names are remembered. */
const maxNames = 10_000;

/**
 * The heap bytes at most of a parsed JSON document: its text, the characters of its values, and their containers. `{},`
 * takes 3 bytes of JSON and 64 of heap.
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

/** Whether a name of this hash occurred before. Names that begin with a digit are never cheap in V8. */
function isKnown(hash: number, first: number, names: Set<number>): boolean {
  if (first >= firstDigit && first <= lastDigit) return false;
  if (names.has(hash)) return true;
  if (names.size < maxNames) names.add(hash);
  return false;
}
