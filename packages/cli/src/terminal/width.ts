import { eastAsianWidth } from 'get-east-asian-width';
import { visibleText } from './text.js';

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
  /** Cut short it would be of no use, so it is left out instead. */
  readonly isHint?: boolean;
}

/** Phrases as one line, without its end. Those without text are left out; what goes beyond `columns` is cut. */
export function phrasesAsLine(phrases: readonly Phrase[], columns = Infinity): string {
  let line = '';
  let width = 0;
  let padding = '';
  for (const { text, paint = (whole: string) => whole, gap = 2, min = 0, max = Infinity, isHint } of phrases) {
    if (text === '') continue;
    const between = line === '' ? '' : padding + ' '.repeat(gap);
    const room = Math.min(max, columns - width - between.length);
    if (room < 1) break;
    const shown = cutToWidth(visibleText(text), room);
    if (isHint && shown !== visibleText(text)) continue;
    line += between + paint(shown);
    width += between.length + displayWidth(shown);
    padding = ' '.repeat(Math.max(0, min - displayWidth(shown)));
  }
  return line;
}
