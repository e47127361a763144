import type { Change, Due } from '@sluice/core';
import type { RowFormat } from '@sluice/core/kit';
import type { Colors } from '../terminal/colors.js';
import { formatCount, formatTime } from '../terminal/format.js';
import { visibleText } from '../terminal/text.js';
import { displayWidth, type Phrase, phrasesAsLine } from '../terminal/width.js';
import { dueDetails, dueLead } from './dueText.js';
import { type RowView, valueAt } from './rowView.js';

/** Changes as lines for people. A page has changes of one poll, at most some thousand. */
export function changeText<T extends object>(view: RowView<T>, options: LineOptions): RowFormat<Change<T> | Due<T>> {
  return {
    name: 'text',
    identity: { format: 'text' },
    encoder() {
      // A first poll may have several pages, whose lines say how many there were so far.
      const start = new RowsAtStart(view, options);
      const toLine = (line: string): string => `${line}\n`;
      return { header: '', encode: (changes) => changeLines(changes, view, options, start).map(toLine).join('') };
    },
  };
}

export interface LineOptions {
  readonly colors: Colors;
  /** Longer lines are cut. Default: unlimited. */
  readonly columns?: number;
  /** Only the time, the name and what has changed fit into the columns, and the rest is not cut. Default `false`. */
  readonly isWrapped?: boolean;
  /** In columns. Default 0. */
  readonly indent?: number;
}

const usualName = 24;
const longestName = 40;
const shortestName = 12;
const usualGap = 2;

/**
 * The changes of a poll, one per line, without line feeds. The rows of the first poll share one line.
 *
 * @example '2026-03-01 14:05:09  bridge-swap-2             active -> error  The webhook answered 503'
 */
export function changeLines<T extends object>(
  changes: readonly (Change<T> | Due<T>)[],
  view: RowView<T>,
  options: LineOptions,
  start = new RowsAtStart(view, options),
): string[] {
  const { colors, columns = Infinity, indent = 0 } = options;
  const lines = start.take(changes).map((change) => {
    const phrases = [timeOf(change, colors), ...changePhrases(change, view, colors)];
    return asLine(fitPhrases(phrases, columns - indent), options);
  });
  return [...start.endLine(), ...lines];
}

/** Counts the rows at the start, however many, for the line that they share. */
export class RowsAtStart<T extends object> {
  readonly #view: RowView<T>;
  readonly #options: LineOptions;
  readonly #summary: ReturnType<RowView<T>['summary']>;
  #rows = 0;
  #first: Change<T> | undefined;

  constructor(view: RowView<T>, options: LineOptions) {
    this.#view = view;
    this.#options = options;
    this.#summary = view.summary();
  }

  /** Counts those of some changes, and returns the others. */
  take(changes: readonly (Change<T> | Due<T>)[]): readonly (Change<T> | Due<T>)[] {
    return changes.filter((change) => {
      if (change.type !== 'initial') return true;
      this.#first ??= change;
      this.#rows += 1;
      this.#summary.add(change.after);
      return false;
    });
  }

  /** Their line, once; none if there are none. */
  endLine(): string[] {
    const first = this.#first;
    if (!first) return [];
    this.#first = undefined;
    const { colors } = this.#options;
    const text = `${formatCount(this.#rows, ...this.#view.noun)} at the start${this.#summary.text()}`;
    const hint: Phrase = { text: '(--format jsonl lists them)', paint: colors.dim, isHint: true };
    return [asLine([timeOf(first, colors), { text }, hint], this.#options)];
  }
}

function timeOf({ observedAt }: Pick<Change<unknown>, 'observedAt'>, { dim }: Colors): Phrase {
  return { text: formatTime(new Date(observedAt)), paint: dim };
}

function asLine(
  phrases: readonly Phrase[],
  { columns = Infinity, indent = 0, isWrapped = false }: LineOptions,
): string {
  return ' '.repeat(indent) + phrasesAsLine(phrases, isWrapped ? Infinity : columns - indent);
}

/** Shortens the name, and then the time, so that what has changed fits into the columns. */
function fitPhrases([time, name, ...rest]: readonly Phrase[], columns: number): Phrase[] {
  if (!time || !name) return [];
  const kept = rest.filter(({ isKept }) => isKept);
  const needed = kept.reduce(
    (sum, { text, gap = usualGap, max = Infinity }) => sum + gap + Math.min(max, displayWidth(visibleText(text))),
    0,
  );
  const forName = columns - displayWidth(time.text) - usualGap - needed;
  // Without the date: of the lines of a terminal, most are of today.
  if (forName < shortestName && time.text.length > clockTime)
    return fitPhrases([{ ...time, text: time.text.slice(-clockTime) }, name, ...rest], columns);
  const max = Math.max(1, Math.min(longestName, forName));
  return [time, { ...name, min: Math.min(usualName, max), max }, ...rest];
}

/** The length of `14:05:09`. */
const clockTime = 8;

function changePhrases<T extends object>(
  change: Change<T> | Due<T>,
  { name, details, changeDetails }: RowView<T>,
  colors: Colors,
): Phrase[] {
  const { bold, dim, green, red } = colors;
  const named = (row: T): Phrase => ({ text: name(row), paint: bold });
  switch (change.type) {
    case 'due':
    case 'resolved':
      return [named(change.row), dueLead(change, colors), ...dueDetails(change, colors), ...details(change.row)];
    case 'initial':
    case 'added':
      return [named(change.after), { text: 'added', paint: green, isKept: true }, ...details(change.after)];
    case 'removed':
      return [named(change.before), { text: 'removed', paint: red, isKept: true }, ...details(change.before)];
    case 'changed': {
      const { before, after, fields } = change;
      const { phrases, covered } = changeDetails(before, after);
      const rest = fieldPhrases(
        before,
        after,
        fields.filter((field) => !covered.includes(field)),
      );
      const lead: Phrase[] = phrases.length === 0 ? [{ text: 'changed', isKept: true }] : [];
      return [named(after), ...lead, ...phrases, ...rest.map(({ text }) => ({ text, paint: dim }))];
    }
  }
}

/** Longer values are not shown. */
const longestValue = 24;

/**
 * Fields that differ, with both values if these are short.
 *
 * @example fieldPhrases({ amount: '1' }, { amount: '3' }, ['amount']) // [{ text: 'amount 1 -> 3' }]
 */
function fieldPhrases(before: object, after: object, fields: readonly string[]): Phrase[] {
  return fields.map((field) => {
    const values = [before, after].map((row) => shortValue(valueAt(row, field)));
    return { text: values.includes(undefined) ? field : `${field} ${values.join(' -> ')}` };
  });
}

function shortValue(value: unknown): string | undefined {
  if (typeof value === 'boolean' || typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' && value.length <= longestValue ? value : undefined;
}
