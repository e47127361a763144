/**
 * The exact texts of the elements of the list under the key `data` of a JSON object. Parsing and writing again would change
 * numbers above 2^53 and the like, and so hide what a sender changed. The text must be valid JSON; pure.
 */
export function elementTexts(json: string): readonly string[] {
  let texts: string[] = [];
  let depth = 0;
  let text = '""';
  let start: number | undefined;
  const marks = /["[\]{},]/g;
  for (let found = marks.exec(json); found !== null; found = marks.exec(json)) {
    const [mark] = found;
    const { index } = found;
    if (start !== undefined && depth === 2 && (mark === ',' || mark === ']')) {
      const element = json.slice(start, index).trim();
      if (element !== '') texts.push(element);
      start = mark === ',' ? index + 1 : undefined;
    }
    switch (mark) {
      case '"':
        // Passed over, since it may hold any bracket.
        marks.lastIndex = endOfText(json, index);
        if (depth === 1) text = json.slice(index, marks.lastIndex);
        break;
      case '[':
      case '{':
        depth++;
        // The text before a list is its key; it may be spelled "d\u0061ta", and come again: the last one counts.
        if (mark === '[' && depth === 2 && JSON.parse(text) === 'data') {
          texts = [];
          start = index + 1;
        }
        break;
      case ']':
      case '}':
        depth--;
    }
  }
  return texts;
}

/** Where a text ends that begins at an index. By hand: a pattern for all of it overflows the stack at some megabytes. */
function endOfText(json: string, index: number): number {
  const quotesOrEscapes = /["\\]/g;
  quotesOrEscapes.lastIndex = index + 1;
  for (let found = quotesOrEscapes.exec(json); found !== null; found = quotesOrEscapes.exec(json)) {
    if (found[0] === '"') return found.index + 1;
    quotesOrEscapes.lastIndex++;
  }
  return json.length;
}
