import { hintFor, type Rule } from '@sluice/core/kit';
import { UsageError } from '../errors/errors.js';
import { parseSpan } from '../options/option.js';
import { fieldText } from '../terminal/format.js';
import { valueAt } from './rowView.js';

/** Rules of the command line, by name. */
export type NamedRules = Readonly<Record<string, Rule<unknown>>>;

interface Condition {
  readonly field: string;
  readonly isEqual: boolean;
  readonly value: string;
}

const example = "'dying: status=error for 20h again 1h deadline 24h'";

/**
 * The rules of a command line.
 *
 * @param columns of the rows, if they are known
 *
 * @throws UsageError if one is not a rule, names a field that no row has, or has the name of another one.
 */
export function parseRules(texts: readonly string[], columns: readonly string[]): NamedRules {
  const rules = texts.map((text) => parseRule(text, columns));
  const twice = rules.find(([name], nth) => rules.findIndex(([other]) => other === name) < nth);
  if (twice) throw new UsageError(`--rule: two rules have the name ${JSON.stringify(twice[0])}. Each needs its own.`);
  return Object.fromEntries(rules);
}

/** `NAME: FIELD=VALUE[, FIELD!=VALUE] for 20h [again 1h] [deadline 24h]`, with quotes around a value with blanks or commas. */
function parseRule(text: string, columns: readonly string[]): readonly [name: string, rule: Rule<unknown>] {
  const form = /^([^:\s]+)\s*:\s*(\S.*?)\sfor\s+(\S+)((?:\s+(?:again|deadline)\s+\S+)*)$/s;
  const [, name, condition = '', held, rest = ''] = form.exec(text.trim()) ?? [];
  const conditions = parseConditions(condition.trim());
  const [again, ...others] = [...rest.matchAll(/\sagain\s+(\S+)/g)].map(([, value]) => value);
  const [deadline, ...more] = [...rest.matchAll(/\sdeadline\s+(\S+)/g)].map(([, value]) => value);
  if (name === undefined || held === undefined || !conditions || others.length + more.length > 0)
    throw new UsageError(`--rule ${JSON.stringify(text.slice(0, 200))} is not a rule. Give one like ${example}.`);
  for (const { field } of conditions) checkField(text, field, columns);
  const span = (what: string, value: string | undefined, parse: (text: string) => number): number | undefined => {
    if (value === undefined) return undefined;
    try {
      return parse(value);
    } catch (error) {
      const why = error instanceof UsageError ? ` ${error.message}` : '';
      throw new UsageError(`--rule ${JSON.stringify(text)} has ${what} ${value}.${why}`);
    }
  };
  const rule = {
    when: (row: unknown) => conditions.every((each) => holds(each, row)),
    for: span('for', held, (given) => (/^0(ms|s|m|h|d)?$/.test(given) ? 0 : parseSpan(given))) ?? 0,
    again: span('again', again, parseSpan),
    deadline: span('deadline', deadline, parseSpan),
    // In any order they are the same.
    version: JSON.stringify(conditions.map(({ field, isEqual, value }) => [field, isEqual, value].join(' ')).sort()),
  };
  return [name, rule];
}

/** `undefined` if they have another form. */
function parseConditions(text: string): readonly Condition[] | undefined {
  const conditions: Condition[] = [];
  const form = /\s*([^=!,\s"]+)\s*(!?=)\s*("(?:[^"\\]|\\.)*"|[^,\s"=!][^,\s"]*)\s*(,|$)/y;
  while (form.lastIndex < text.length) {
    const [, field, operator, value = '', end] = form.exec(text) ?? [];
    if (field === undefined) return undefined;
    const plain = value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value;
    conditions.push({ field, isEqual: operator === '=', value: plain });
    if (end === '') break;
    if (form.lastIndex === text.length) return undefined;
  }
  return conditions.length === 0 ? undefined : conditions;
}

/** A value that is no text counts as JSON; one that is missing, or null, as an empty text. */
function holds({ field, isEqual, value }: Condition, row: unknown): boolean {
  return (fieldText(valueAt(row, field)) === value) === isEqual;
}

function checkField(text: string, field: string, columns: readonly string[]): void {
  const [name = field] = field.split('.');
  if (columns.length === 0 || columns.includes(field) || columns.includes(name)) return;
  throw new UsageError(`--rule ${JSON.stringify(text)}: no row has the field ${name}. ${hintFor(name, columns)}`);
}
