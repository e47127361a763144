import type { Due } from '@sluice/core';
import type { DueEvent } from '@sluice/core/kit';
import type { Colors } from '../terminal/colors.js';
import { formatCount, formatTime } from '../terminal/format.js';
import { type Phrase, phrasesAsLine } from '../terminal/width.js';

type Found = Pick<Due<unknown>, 'type' | 'rule' | 'times' | 'began' | 'actBefore'> & { readonly why?: DueEvent['why'] };

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

/** What a rule has found, without the row but its name. */
function duePhrases(event: DueEvent, colors: Colors): Phrase[] {
  const { key, name = key, rule, kind, times, earliest, latest, actBefore, why } = event;
  const found: Found = {
    type: kind === 'resolved' ? kind : 'due',
    rule,
    times,
    began: { earliest, latest },
    ...(actBefore !== undefined && { actBefore }),
    ...(why && { why }),
  };
  return [{ text: name, paint: colors.bold }, dueLead(found, colors), ...dueDetails(found, colors)];
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

/** Lines of a poll; more rows are counted in the last one. */
const maxLines = 20;

/** What the rules of a watch have found, as lines for stderr. */
export class DueLines {
  readonly #colors: Colors;
  readonly #redact: (text: string) => string;
  #lines = 0;

  constructor(colors: Colors, redact: (text: string) => string) {
    this.#colors = colors;
    this.#redact = redact;
  }

  /** `undefined` if the poll has found too many. */
  take(event: DueEvent): string | undefined {
    this.#lines += 1;
    if (this.#lines > maxLines) return undefined;
    const phrases = duePhrases(event, this.#colors).map((each) => ({ ...each, text: this.#redact(each.text) }));
    return phrasesAsLine(phrases, Infinity);
  }

  /** At the end of a poll: how many more it has found. */
  rest(): string | undefined {
    const more = this.#lines - maxLines;
    this.#lines = 0;
    return more > 0 ? `and ${formatCount(more, 'more row', 'more rows')} that are due or resolved` : undefined;
  }
}
