/** As many items as fit into this many bytes of JSON, from the first one on. */
export function fit<T>(items: Iterable<T>, maxBytes: number): T[] {
  const chosen: T[] = [];
  let bytes = 2;
  for (const item of items) {
    bytes += Buffer.byteLength(JSON.stringify(item)) + 1;
    if (bytes > maxBytes) break;
    chosen.push(item);
  }
  return chosen;
}

/** Characters that a message, and a name, may have. */
export const maxText = 300;
export const maxName = 120;

/** Cuts a text; the page shows texts of any origin, in lines. */
export function shorten(text: string, max: number): string {
  if (text.length <= max) return text;
  const cut = text.slice(0, max - 1);
  // Half of a surrogate pair is not a character.
  return `${/[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}

/** Puts an item before the others, of which the last ones go. */
export function first<T>(item: T, items: readonly T[], max: number): readonly T[] {
  return [item, ...items].slice(0, max);
}
