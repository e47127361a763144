import { eastAsianWidth } from 'get-east-asian-width';

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const plain = /^[\x20-\x7e]*$/;
/** Emoji that a variation selector, or a second letter of a flag, makes two columns wide. */
const composedEmoji = /^\p{Extended_Pictographic}\ufe0f|^\p{Regional_Indicator}{2}/u;
const withoutWidth = /^[\p{Mark}\p{Cf}]+$/u;

/** How many columns of a terminal a text takes. Terminals differ in rare emoji; this is what most of them do. */
export function displayWidth(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** A text cut to a width, with `…` in place of what was cut. Characters that belong together stay together. */
export function cutToWidth(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  if (width < 1) return '';
  let cut = '';
  let left = width - 1;
  for (const { segment } of graphemes.segment(text)) {
    left -= graphemeWidth(segment);
    if (left < 0) break;
    cut += segment;
  }
  return `${cut}…`;
}

function graphemeWidth(grapheme: string): number {
  if (withoutWidth.test(grapheme)) return 0;
  return composedEmoji.test(grapheme) ? 2 : eastAsianWidth(grapheme.codePointAt(0) ?? 0);
}

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

/** A piece of a line. Its text may hold anything: it is shown safely. */
export interface Phrase {
  readonly text: string;
  /** Paints what was already cut to its width. */
  readonly paint?: (text: string) => string;
  /** Blanks in front of it. Default 2. */
  readonly gap?: number;
  /** Narrower than this it is filled with blanks. */
  readonly min?: number;
  /** Wider than this it is cut. */
  readonly max?: number;
}

/** Phrases as one line, without its end. Those without text are left out; what goes beyond `columns` is cut. */
export function phrasesAsLine(phrases: readonly Phrase[], columns = Infinity): string {
  let line = '';
  let width = 0;
  let padding = '';
  for (const { text, paint = (whole: string) => whole, gap = 2, min = 0, max = Infinity } of phrases) {
    if (text === '') continue;
    const between = line === '' ? '' : padding + ' '.repeat(gap);
    const room = Math.min(max, columns - width - between.length);
    if (room < 1) break;
    const shown = cutToWidth(visibleText(text), room);
    line += between + paint(shown);
    width += between.length + displayWidth(shown);
    padding = ' '.repeat(Math.max(0, min - displayWidth(shown)));
  }
  return line;
}
