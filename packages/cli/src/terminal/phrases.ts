import { cutToWidth, displayWidth } from './displayWidth.js';
import { visibleText } from './visibleText.js';

/** A piece of a line. Its text may hold anything: it is shown safely. */
export interface Phrase {
  readonly text: string;
  /** Paints what was already cut to its width. */
  readonly paint?: (text: string) => string;
  /** Blanks in front of it. Default 2. */
  readonly gap?: number;
  /** Narrower than this it is filled with blanks. */
  readonly least?: number;
  /** Wider than this it is cut. */
  readonly most?: number;
}

/** Phrases as one line, without its end. Those without text are left out; what goes beyond `columns` is cut. */
export function phrasesAsLine(phrases: readonly Phrase[], columns = Infinity): string {
  let line = '';
  let width = 0;
  let padding = '';
  for (const { text, paint = (whole: string) => whole, gap = 2, least = 0, most = Infinity } of phrases) {
    if (text === '') continue;
    const between = line === '' ? '' : padding + ' '.repeat(gap);
    const room = Math.min(most, columns - width - between.length);
    if (room < 1) break;
    const shown = cutToWidth(visibleText(text), room);
    line += between + paint(shown);
    width += between.length + displayWidth(shown);
    padding = ' '.repeat(Math.max(0, least - displayWidth(shown)));
  }
  return line;
}
