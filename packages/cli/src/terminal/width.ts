import { eastAsianWidth } from 'get-east-asian-width';
import { visibleText } from './text.js';

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const plain = /^[\x20-\x7e]*$/;
/** Emoji that are two columns wide because of a variation selector, or as a flag. */
const composedEmoji = /^\p{Extended_Pictographic}\ufe0f|^\p{Regional_Indicator}{2}/u;
const withoutWidth = /^[\p{Mark}\p{Cf}]+$/u;

/** How many columns of a terminal a text takes. Terminals differ in rare emoji; this is what most do. */
export function displayWidth(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** Cuts a text to a width, with `…` at the end if it was cut. Never cuts inside a grapheme. */
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

/** A piece of a line. Control characters in its text are shown safely. */
export interface Phrase {
  readonly text: string;
  /** Colours the text, after it is cut. */
  readonly paint?: (text: string) => string;
  /** Blanks in front of it. Default 2. */
  readonly gap?: number;
  /** Padded with blanks to this width. */
  readonly min?: number;
  /** Cut to this width. */
  readonly max?: number;
  /** Left out instead of being cut. */
  readonly isHint?: boolean;
  /** Others make room for it. */
  readonly isKept?: boolean;
}

/** Phrases as one line without a line feed, cut to `columns`. Skips phrases without text. */
export function phrasesAsLine(phrases: readonly Phrase[], columns = Infinity): string {
  let line = '';
  let width = 0;
  let padding = '';
  for (const { text, paint = (whole: string) => whole, gap = 2, min = 0, max = Infinity, isHint } of phrases) {
    if (text === '') continue;
    const between = line === '' ? '' : padding + ' '.repeat(gap);
    const available = Math.min(max, columns - width - between.length);
    if (available < 1) break;
    const shown = cutToWidth(visibleText(text), available);
    if (isHint && shown !== visibleText(text)) continue;
    line += between + paint(shown);
    width += between.length + displayWidth(shown);
    padding = ' '.repeat(Math.max(0, min - displayWidth(shown)));
  }
  return line;
}
