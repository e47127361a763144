// What acts on a terminal instead of showing: controls, direction marks, line separators, what has no width.
// eslint-disable-next-line no-control-regex -- they are what is looked for
const acting = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/**
 * Text on one line that shows and does nothing: a line feed as `␊`, an escape as `␛`, a direction mark as `\u202e`. What an API
 * sends could otherwise clear the screen or write over another line.
 */
export function visibleText(text: string): string {
  return text.replace(acting, (character) => {
    const code = character.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return '␡';
    return `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

/**
 * A word as any POSIX shell reads it back, on one line.
 *
 * @example shellQuoted("it's here.csv") // 'it'\''s here.csv'
 */
export function shellQuoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (visibleText(word) === word) return `'${word.replaceAll("'", "'\\''")}'`;
  // Quotes would keep what acts on the terminal as it is. Only a line feed at the very end gets lost this way.
  return `"$(printf '${[...Buffer.from(word)].map(inPrintf).join('')}')"`;
}

function inPrintf(byte: number): string {
  const character = String.fromCharCode(byte);
  return /[\w @+=:,./-]/.test(character) ? character : `\\${byte.toString(8).padStart(3, '0')}`;
}
