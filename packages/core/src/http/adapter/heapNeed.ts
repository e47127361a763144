const [quote, comma, colon, openList, backslash, openRecord] = [0x22, 0x2c, 0x3a, 0x5b, 0x5c, 0x7b];
const [firstDigit, lastDigit] = [0x30, 0x39];
/** The first byte that is not ASCII. With one of them a text in memory takes two bytes a character, or is there twice while it is escaped. */
const firstBeyondAscii = 0x80;

/**
 * What V8 needs at most, in bytes, on 64 bits: for a list or a record; for a field, which is cheap where records have the same ones over
 * and over; for a text beyond its characters; and for what stands between two commas.
 */
const cost = { container: 64, field: 16, newField: 160, text: 32, item: 8 } as const;
/** Of more names nobody remembers which were there before. */
const maxNames = 10_000;

/**
 * Bytes of heap that a JSON document takes at most once it is read: its text, the same characters once more in its values, and what holds
 * them. `{},` are 3 bytes of a document and 64 of heap. What is no JSON takes no more than that, since it is not read.
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
      // The text before it was its name, of which there is only one in memory.
      need -= cost.text;
      need += isKnown(hash, json[textBegan] ?? 0, names) ? cost.field : cost.newField;
    }
  }
  return need + 2 * width * json.length;
}

/** Whether a name of this hash and first byte was there before, and is one of those that V8 has a cheap place for. */
function isKnown(hash: number, first: number, names: Set<number>): boolean {
  if (first >= firstDigit && first <= lastDigit) return false;
  if (names.has(hash)) return true;
  if (names.size < maxNames) names.add(hash);
  return false;
}
