// Characters that affect a terminal: controls, direction marks, line separators, and those without width.
// eslint-disable-next-line no-control-regex -- it matches control characters on purpose
const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/**
 * Text that is safe to print on one line: a line feed as `␊`, an escape as `␛`, a direction mark as `\u202e`. Text from
 * an API could otherwise clear the screen or overwrite another line.
 */
export function visibleText(text: string): string {
  return text.replace(unsafe, (character) => {
    const code = character.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return '␡';
    return `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

/** Quotes a word for any POSIX shell, on one line. @example shellQuoted("it's here.csv") // 'it'\''s here.csv' */
export function quoteForShell(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (visibleText(word) === word) return `'${word.replaceAll("'", "'\\''")}'`;
  // Quotes would leave control characters in place. This only loses a line feed at the very end.
  return `"$(printf '${[...Buffer.from(word)].map(inPrintf).join('')}')"`;
}

function inPrintf(byte: number): string {
  const character = String.fromCharCode(byte);
  return /[\w @+=:,./-]/.test(character) ? character : `\\${byte.toString(8).padStart(3, '0')}`;
}

/** Facts as lines of a label and a text, without those that have no text. */
export function labelledLines(facts: Iterable<readonly [label: string, text: string | undefined]>): string[] {
  return [...facts].flatMap(([label, text]) =>
    text === undefined ? [] : [`  ${label.padEnd(9)}${visibleText(text)}`],
  );
}
