import { visibleText } from './visibleText.js';

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
