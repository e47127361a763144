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
