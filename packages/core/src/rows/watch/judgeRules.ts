import { DecodeError } from '../../errors.js';
import { dateOf, type Timeline } from '../../timeline.js';
import { inWords } from '../../values.js';
import type { Due, DueFound, WhyResolved } from './due.js';
import type { Rule, Rules } from './rule.js';
import type { Held, RuleBook, RuleChanges } from './ruleBook.js';

/** Collects the rows of a walk for which rules hold. */
export class RuleWalk<T> {
  readonly #rules: readonly (readonly [name: string, rule: Rule<T>])[];
  readonly #book: RuleBook<T> | undefined;
  readonly #holding = new Map<string, Map<string, T>>();
  /** Rows for which a rule has held before, and does not any more. */
  readonly #ended = new Map<string, Map<string, T>>();

  constructor(rules: Rules<T>, book: RuleBook<T> | undefined) {
    this.#rules = Object.entries(rules);
    this.#book = book;
  }

  /** If a walk lists a key repeatedly, the last row counts. */
  add(key: string, row: T): void {
    for (const [name, rule] of this.#rules) {
      const isHeld = rule.when(row);
      this.#holding.get(name)?.delete(key);
      this.#ended.get(name)?.delete(key);
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
  readonly listed: RuleWalk<T>;
  /** The keys of accepted rows that it has not listed, and of those of them that count as removed. */
  readonly gone: ReadonlySet<string>;
  readonly removed: ReadonlySet<string>;
  /** An accepted row. */
  readonly rowOf: (key: string) => T | undefined;
  /** Ms between two walks as the watch was told. */
  readonly every: number;
}

/** What a walk shows of the rules. */
interface RuleFindings<T> {
  readonly changes: RuleChanges<T>;
  readonly due: readonly DueFound<T>[];
}

/**
 * Decides which rows are due, and which are no longer. Pure.
 *
 * A row that the walk has not listed does not move. What nobody has seen is not known: the time in which a rule may have
 * begun to hold reaches from the last walk that showed otherwise to the first that shows it without a gap. It is due by
 * the earliest of them, since too early costs a look, and too late the row.
 */
export function judgeRules<T>(rules: Rules<T>, book: RuleBook<T> | undefined, walk: JudgedWalk<T>): RuleFindings<T> {
  const versions = Object.fromEntries(Object.entries(rules).map(([name, { version = '' }]) => [name, version]));
  const isKnown = (rule: string): boolean => book?.versions[rule] === versions[rule];
  const resolved: DueFound<T>[] = [];
  const due: DueFound<T>[] = [];
  const held: [rule: string, key: string, held: Held<T> | null][] = [];
  const resolve = (rule: string, key: string, entry: Held<T>, why: WhyResolved): void => {
    const row = walk.listed.ended(rule, key) ?? walk.rowOf(key) ?? entry.row;
    if (entry.times === 0 || row === undefined) return;
    resolved.push({ type: 'resolved', ...eventOf(rule, key, row, entry), why });
  };
  const eventOf = (rule: string, key: string, row: T, entry: Held<T>): Omit<DueFound<T>, 'type' | 'why'> => {
    return { rule, key, row, times: entry.times, ...timesOf(entry, rules[rule], walk.time) };
  };
  for (const [rule, entries] of book?.held ?? [])
    for (const [key, entry] of entries) {
      const why = isKnown(rule) ? whyEnded(rule, key, walk) : 'rule';
      if (why === undefined) continue;
      resolve(rule, key, entry, why);
      held.push([rule, key, null]);
    }
  for (const [name, rule] of Object.entries(rules))
    for (const [key, row] of walk.listed.holding(name)) {
      const before = isKnown(name) ? book?.held.get(name)?.get(key) : undefined;
      const seen = before ? seenAgain(before, key, book, walk) : seenFirst(key, isKnown(name) ? book : undefined, walk);
      const begun = beginBy(readSince(name, rule, row), seen, walk.time);
      // It was otherwise in between.
      if (begun.times < seen.times) resolve(name, key, seen, 'changed');
      const entry = isDueNow(begun, rule, walk.time.saved)
        ? { ...begun, times: begun.times + 1, dueAt: walk.time.saved, row }
        : begun;
      if (entry !== begun) due.push({ type: 'due', ...eventOf(name, key, row, entry) });
      if (!before || !isSame(before, entry)) held.push([name, key, entry]);
    }
  const changes = {
    time: walk.time,
    pause: nextPause(book, walk),
    versions,
    held,
    unlisted: changeUnlisted(book, walk),
  };
  return { changes, due: [...resolved, ...due] };
}

/** `undefined` if the rule still holds, or nobody has seen whether it does. */
function whyEnded<T>(rule: string, key: string, { listed, gone, removed }: JudgedWalk<T>): WhyResolved | undefined {
  if (removed.has(key)) return 'removed';
  if (gone.has(key) || listed.holding(rule).has(key)) return undefined;
  // It may have been removed in a run without rules.
  return listed.ended(rule, key) === undefined ? 'removed' : 'changed';
}

/** The walk that listed a row last, before this one. */
function lastListed<T>(key: string, book: RuleBook<T> | undefined): number | undefined {
  return book?.unlisted.get(key) ?? book?.time.saved;
}

/** @param book `undefined` if no walk has looked at the rule before */
function seenFirst<T>(key: string, book: RuleBook<T> | undefined, { time: { saved: now } }: JudgedWalk<T>): Held<T> {
  return { first: now, earliest: lastListed(key, book) ?? null, latest: now, times: 0 };
}

function seenAgain<T>(before: Held<T>, key: string, book: RuleBook<T> | undefined, walk: JudgedWalk<T>): Held<T> {
  const now = walk.time.saved;
  const isGap = now - (lastListed(key, book) ?? now) > longestGap(book, walk);
  return isGap ? { ...before, latest: now } : before;
}

/** Ms between two walks above which it may have been otherwise in between. */
function longestGap<T>(book: RuleBook<T> | undefined, { every }: JudgedWalk<T>): number {
  return 3 * Math.max(every, book?.pause ?? 0);
}

/** What is usual follows what is: runs by cron poll less often than `every` says, and one long pause must not count as usual. */
function nextPause<T>(book: RuleBook<T> | undefined, walk: JudgedWalk<T>): number {
  if (!book) return walk.every;
  const pause = walk.time.saved - book.time.saved;
  return pause > longestGap(book, walk) ? 2 * Math.max(walk.every, book.pause) : pause;
}

/** Where the row knows when it began. @param since ms since 1970; `undefined` if it does not */
function beginBy<T>(since: number | undefined, seen: Held<T>, { saved: now, wall }: Timeline): Held<T> {
  if (since === undefined || since === seen.since) return seen;
  const at = Math.min(now, now - (wall - since));
  const isOther = seen.since !== undefined && since > seen.since;
  return { ...(isOther ? { first: now, times: 0 } : seen), earliest: at, latest: at, since };
}

/** What to record of the rows that are accepted, and that the walk has not listed. */
function changeUnlisted<T>(
  book: RuleBook<T> | undefined,
  { gone, removed }: JudgedWalk<T>,
): [key: string, at: number | null][] {
  const changes: [string, number | null][] = [];
  const unlisted = book?.unlisted ?? new Map<string, number>();
  for (const key of unlisted.keys()) if (!gone.has(key) || removed.has(key)) changes.push([key, null]);
  if (!book) return changes;
  for (const key of gone) if (!removed.has(key) && !unlisted.has(key)) changes.push([key, book.time.saved]);
  return changes;
}

/** When it began, and until when one can act. */
export function timesOf<T>(
  { earliest, latest }: Held<T>,
  { deadline }: Partial<Rule<never>> = {},
  time: Timeline,
): Pick<Due<never>, 'began' | 'actBefore'> {
  const dateOrNull = (after: number): string | null => (earliest === null ? null : dateOf(time, earliest + after));
  return {
    began: { earliest: dateOrNull(0), latest: dateOf(time, latest) },
    ...(deadline !== undefined && { actBefore: dateOrNull(deadline) }),
  };
}

function isDueNow<T>({ first, earliest, times, dueAt }: Held<T>, rule: Rule<never>, now: number): boolean {
  if (now - (earliest ?? first) < rule.for) return false;
  return times === 0 || (rule.again !== undefined && now - (dueAt ?? now) >= rule.again);
}

function isSame<T>(one: Held<T>, other: Held<T>): boolean {
  return (
    one.first === other.first &&
    one.earliest === other.earliest &&
    one.latest === other.latest &&
    one.times === other.times &&
    one.since === other.since
  );
}

/** Ms since 1970; `undefined` if the row does not know. @throws DecodeError if it is no time. */
function readSince<T>(name: string, { since }: Rule<T>, row: T): number | undefined {
  const value = since?.(row) ?? '';
  if (value === '') return undefined;
  const at = typeof value === 'string' ? Date.parse(value) : Number(value);
  // The times that a date can have.
  if (Math.abs(at) <= 8.64e15) return at;
  throw new DecodeError(
    `since of the rule ${JSON.stringify(name)} returned ${inWords(value)}: it must be a date, ms since 1970, text in ISO 8601, or nothing.`,
    { option: 'rules' },
  );
}
