import type { Due } from '@sluice/core';
import type { Colors } from '../terminal/colors.js';
import { formatTime } from '../terminal/format.js';
import type { Phrase } from '../terminal/width.js';

type Found = Pick<Due<unknown>, 'type' | 'rule' | 'times' | 'began' | 'actBefore' | 'why'>;

/** What a rule has found, after the name of the row. */
export function dueLead({ type, rule, times }: Found, { bold, red, green }: Colors): Phrase {
  if (type === 'resolved') return { text: `resolved: ${rule}`, paint: green, isKept: true };
  const again = times > 1 ? ` (${times})` : '';
  return { text: `DUE: ${rule}${again}`, paint: (text) => bold(red(text)), isKept: true };
}

/** Since when, and until when one can act. */
export function dueDetails({ type, began, actBefore, why }: Found, { bold, dim }: Colors): Phrase[] {
  const since: Phrase = { text: sinceText(began) };
  if (type === 'resolved')
    return why === 'changed'
      ? [since]
      : [since, { text: why === 'removed' ? 'removed' : 'the rule is gone', paint: dim }];
  if (actBefore === undefined) return [since];
  const until = actBefore === null ? 'may end at any time' : `act before ${timeText(actBefore)}`;
  return [since, { text: until, paint: bold }];
}

/** A line about what a rule has found, without the row. */
export function dueLine(
  found: {
    readonly name: string;
    readonly rule: string;
    readonly type: 'due' | 'resolved';
    readonly earliest: string | null;
    readonly latest: string;
    readonly actBefore?: string | null;
  },
  colors: Colors,
): string {
  const { name, rule, type, earliest, latest, actBefore } = found;
  const event = { rule, type, times: 1, began: { earliest, latest }, ...(actBefore !== undefined && { actBefore }) };
  const phrases = [
    { text: name, paint: colors.bold },
    dueLead(event, colors),
    ...dueDetails({ ...event, why: 'changed' }, colors),
  ];
  return phrases.map(({ text, paint }) => (paint ? paint(text) : text)).join('  ');
}

/** @example sinceText({ earliest: null, latest }) // 'since 2026-03-01 14:05:09 or earlier' */
function sinceText({ earliest, latest }: Found['began']): string {
  if (earliest === null) return `since ${timeText(latest)} or earlier`;
  return Date.parse(latest) - Date.parse(earliest) < 60_000
    ? `since ${timeText(earliest)}`
    : `since ${timeText(earliest)} to ${timeText(latest)}`;
}

function timeText(time: string): string {
  return formatTime(new Date(time));
}
