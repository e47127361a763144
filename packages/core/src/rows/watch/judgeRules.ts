import { ConfigError } from '../../errors.js';
import { dateOf, type Timeline } from '../../timeline.js';
import { inWords } from '../../values.js';
import type { Due, DueFound } from './due.js';
import type { Rule, Rules } from './rule.js';
import type { Held, RuleBook, RuleChanges } from './ruleBook.js';

/** Collects the rows of a walk for which rules hold. */
export class RuleWalk<T> {
  readonly #rules: readonly (readonly [name: string, rule: Rule<T>])[];
  readonly #book: RuleBook | undefined;
  readonly #holding = new Map<string, Map<string, T>>();
  /** Rows for which a rule has held before, and does not any more. */
  readonly #ended = new Map<string, Map<string, T>>();

  constructor(rules: Rules<T>, book: RuleBook | undefined) {
    this.#rules = Object.entries(rules);
    this.#book = book;
  }

  /** If a walk lists a key repeatedly, the last row counts. */
  add(key: string, row: T): void {
    for (const [name, rule] of this.#rules) {
      const isHeld = rule.when(row);
      this.#holding.get(name)?.delete(key);
      if (isHeld) setIn(this.#holding, name, key, row);
      else if (this.#book?.held.get(name)?.has(key)) setIn(this.#ended, name, key, row);
    }
  }

  holding(rule: string): ReadonlyMap<string, T> {
    return this.#holding.get(rule) ?? new Map<string, T>();
  }

  /** The row for which the rule no longer holds, as the walk listed it. */
  ended(rule: string, key: string): T | undefined {
    return this.#ended.get(rule)?.get(key);
  }
}

function setIn<T>(rows: Map<string, Map<string, T>>, rule: string, key: string, row: T): void {
  const ofRule = rows.get(rule) ?? new Map<string, T>();
  rows.set(rule, ofRule.set(key, row));
}

/** A walk that was accepted. */
interface JudgedWalk<T> {
  /** When it ended, by the book's timeline. */
  readonly time: Timeline;
  readonly walk: RuleWalk<T>;
  /** The keys of accepted rows that it has not listed, and of those of them that count as removed. */
  readonly gone: ReadonlySet<string>;
  readonly removed: ReadonlySet<string>;
  /** An accepted row. */
  readonly rowOf: (key: string) => T | undefined;
  /** Ms between two walks above which it may have been otherwise in between. */
  readonly longestGap: number;
}

/** What a walk shows of the rules. */
interface RuleFindings<T> {
  readonly changes: RuleChanges;
  readonly due: readonly DueFound<T>[];
}

/**
 * Decides which rows are due, and which are no longer. Pure.
 *
 * A row that the walk has not listed does not move. What nobody has seen is not known: the time in which a rule may have
 * begun to hold reaches from the last walk that showed otherwise to the first that shows it without a gap. It is due by
 * the earliest of them, since too early costs a look, and too late the row.
 */
export function judgeRules<T>(
  rules: Rules<T>,
  book: RuleBook | undefined,
  { time, walk, gone, removed, rowOf, longestGap }: JudgedWalk<T>,
): RuleFindings<T> {
  const now = time.saved;
  const lastWalk = book?.time.saved;
  const lastListed = (key: string): number | undefined => book?.unlisted.get(key) ?? lastWalk;
  const versions = Object.fromEntries(Object.entries(rules).map(([name, { version = '' }]) => [name, version]));
  const isKnown = (rule: string): boolean => book !== undefined && book.versions[rule] === versions[rule];
  const held: [string, string, Held | null][] = [];
  const resolved: DueFound<T>[] = [];
  const due: DueFound<T>[] = [];

  const eventOf = (rule: string, key: string, row: T, entry: Held) => {
    return { rule, key, row, times: entry.times, ...timesOf(entry, rules[rule], time) };
  };
  const resolve = (rule: string, key: string, entry: Held, why: NonNullable<DueFound<T>['why']>): void => {
    const row = walk.ended(rule, key) ?? rowOf(key);
    if (entry.times > 0 && row !== undefined)
      resolved.push({ type: 'resolved', ...eventOf(rule, key, row, entry), why });
  };

  for (const [rule, entries] of book?.held ?? [])
    for (const [key, entry] of entries) {
      const why = !isKnown(rule)
        ? 'rule'
        : removed.has(key)
          ? 'removed'
          : gone.has(key) || walk.holding(rule).has(key)
            ? undefined
            : 'changed';
      if (why === undefined) continue;
      resolve(rule, key, entry, why);
      held.push([rule, key, null]);
    }

  for (const [name, rule] of Object.entries(rules))
    for (const [key, row] of walk.holding(name)) {
      const before = isKnown(name) ? book?.held.get(name)?.get(key) : undefined;
      const earliest = isKnown(name) ? (lastListed(key) ?? null) : null;
      const began = before ?? { first: now, earliest, latest: now, times: 0 };
      const isGap = before !== undefined && now - (lastListed(key) ?? now) > longestGap;
      let entry: Held = isGap ? { ...began, latest: now } : began;
      const since = readSince(name, rule, row);
      if (since !== undefined) {
        const at = Math.min(now, now - (time.wall - since));
        // It was otherwise in between.
        const isOther = entry.dueAt !== undefined && at > entry.dueAt;
        if (isOther) resolve(name, key, entry, 'changed');
        entry = { ...(isOther ? { first: now, times: 0 } : entry), earliest: at, latest: at };
      }
      if (isDueNow(entry, rule, now)) {
        entry = { ...entry, times: entry.times + 1, dueAt: now };
        due.push({ type: 'due', ...eventOf(name, key, row, entry) });
      }
      if (!before || !isSame(before, entry)) held.push([name, key, entry]);
    }

  const unlisted: [string, number | null][] = [];
  for (const key of book?.unlisted.keys() ?? []) if (!gone.has(key) || removed.has(key)) unlisted.push([key, null]);
  for (const key of gone)
    if (!removed.has(key) && lastWalk !== undefined && !book?.unlisted.has(key)) unlisted.push([key, lastWalk]);
  return { changes: { time, versions, held, unlisted }, due: [...resolved, ...due] };
}

/** When it began, and until when one can act. */
export function timesOf(
  { earliest, latest }: Held,
  { deadline }: Partial<Rule<never>> = {},
  time: Timeline,
): Pick<Due<never>, 'began' | 'actBefore'> {
  const dateOrNull = (after: number): string | null => (earliest === null ? null : dateOf(time, earliest + after));
  return {
    began: { earliest: dateOrNull(0), latest: dateOf(time, latest) },
    ...(deadline !== undefined && { actBefore: dateOrNull(deadline) }),
  };
}

function isDueNow({ first, earliest, times, dueAt }: Held, rule: Rule<never>, now: number): boolean {
  if (now - (earliest ?? first) < rule.for) return false;
  return times === 0 || (rule.again !== undefined && now - (dueAt ?? now) >= rule.again);
}

function isSame(one: Held, other: Held): boolean {
  return (
    one.first === other.first &&
    one.earliest === other.earliest &&
    one.latest === other.latest &&
    one.times === other.times
  );
}

/** Ms since 1970; `undefined` if the row does not know. @throws ConfigError if it is no time. */
function readSince<T>(name: string, { since }: Rule<T>, row: T): number | undefined {
  const value = since?.(row) ?? undefined;
  if (value === undefined) return undefined;
  const at = typeof value === 'string' ? Date.parse(value) : Number(value);
  if (Number.isFinite(at)) return at;
  throw new ConfigError(
    `since of the rule ${JSON.stringify(name)} returned ${inWords(value)}: it must be a date, ms since 1970, text in ISO 8601, or nothing.`,
    { option: 'rules' },
  );
}
