const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const plain = /^[\x20-\x7e]*$/;
/** East Asian scripts and full-width forms, and emoji, which take two columns. */
const wide =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]|^\p{Emoji_Presentation}|^\p{Extended_Pictographic}\ufe0f|^\p{Regional_Indicator}{2}/u;
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
  return wide.test(grapheme) ? 2 : 1;
}
