/**
 * The exact texts of the elements of the list `data` in a JSON object. Parsing and serializing would change, for
 * example, numbers above 2^53, and so hide differences. The text must be valid JSON.
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
        // Skipped, because it may contain brackets.
        marks.lastIndex = endOfText(json, index);
        if (depth === 1) text = json.slice(index, marks.lastIndex);
        break;
      case '[':
      case '{':
        depth++;
        // The text before a list is its key. It may contain escapes and be repeated: the last one counts.
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

/** The end of a text. Not one regular expression, which would overflow the stack at some megabytes. */
function endOfText(json: string, index: number): number {
  const quotesOrEscapes = /["\\]/g;
  quotesOrEscapes.lastIndex = index + 1;
  for (let found = quotesOrEscapes.exec(json); found !== null; found = quotesOrEscapes.exec(json)) {
    if (found[0] === '"') return found.index + 1;
    quotesOrEscapes.lastIndex++;
  }
  return json.length;
}
