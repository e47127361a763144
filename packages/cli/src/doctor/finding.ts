import type { Colors } from '../terminal/colors.js';
import { visibleText } from '../terminal/visibleText.js';

/** What a check found out. */
export interface Finding {
  /** `fail`: commands can't work so. `warn`: some can't, or it is worth a look. */
  readonly level: 'ok' | 'warn' | 'fail';
  readonly subject: string;
  /** What is so; and unless it is `ok`, what to do. */
  readonly text: string;
}

/** A finding as a line of the report. */
export function findingLine({ level, subject, text }: Finding, colors: Colors): string {
  const paint = { ok: colors.green, warn: colors.yellow, fail: colors.red }[level];
  return `${paint(level.padEnd(4))}  ${subject.padEnd(11)}  ${visibleText(text)}\n`;
}
