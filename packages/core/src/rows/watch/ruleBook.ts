import { areTimes, isTimeline, type Timeline } from '../../timeline.js';
import { isRecord } from '../../values.js';

/** A row for which a rule holds. Times are in ms of the book's timeline. */
export interface Held<T> {
  /** The first walk that showed it. */
  readonly first: number;
  /** When it began, at the earliest: the last walk that showed otherwise. `null` if none did. */
  readonly earliest: number | null;
  /** When it began, at the latest: the first of the walks that show it without a gap. */
  readonly latest: number;
  /** How often the row was due, and when it was last. */
  readonly times: number;
  readonly dueAt?: number;
  /** What the row said of its beginning, in ms since 1970, if it did. */
  readonly since?: number;
  /** The row when it was due. It may be gone before the rule looks again. */
  readonly row?: T;
}

/** By the rule's name, then by the key of the row. */
type HeldRows<T> = Map<string, Map<string, Held<T>>>;

/** What a watch knows of its rules. A walk moves its time, of which it is the last one. */
export interface RuleBook<T> {
  readonly time: Timeline;
  /** Ms between two walks as usual. */
  readonly pause: number;
  /** The versions of the rules, by their names. */
  readonly versions: Readonly<Record<string, string>>;
  readonly held: HeldRows<T>;
  /** When the accepted rows that the last walk has not listed were listed last. */
  readonly unlisted: Map<string, number>;
}

/** What a walk changes in the book. `null` removes an entry. */
export interface RuleChanges<T> {
  readonly time: Timeline;
  readonly pause: number;
  readonly versions: Readonly<Record<string, string>>;
  readonly held: readonly (readonly [rule: string, key: string, held: Held<T> | null])[];
  readonly unlisted: readonly (readonly [key: string, at: number | null])[];
}

/** Applies what a walk has changed. Modifies the maps, so the previous book is gone. */
export function applyRules<T>(
  book: RuleBook<T> | undefined,
  { time, pause, versions, held, unlisted }: RuleChanges<T>,
): RuleBook<T> {
  const rows: HeldRows<T> = book?.held ?? new Map<string, Map<string, Held<T>>>();
  for (const [rule, key, entry] of held) {
    const ofRule = rows.get(rule) ?? new Map<string, Held<T>>();
    if (entry) rows.set(rule, ofRule.set(key, entry));
    else if (ofRule.delete(key) && ofRule.size === 0) rows.delete(rule);
  }
  const missing = book?.unlisted ?? new Map<string, number>();
  for (const [key, at] of unlisted) {
    if (at === null) missing.delete(key);
    else missing.set(key, at);
  }
  return { time, pause, versions, held: rows, unlisted: missing };
}

/** The whole book as changes of an empty one. The rows for which rules hold may be many: they come apart. */
export function asChanges<T>({ time, pause, versions, held, unlisted }: RuleBook<T>): {
  readonly changes: RuleChanges<T>;
  readonly held: RuleChanges<T>['held'];
} {
  const entries = [...held].flatMap(([rule, rows]) => Array.from(rows, ([key, entry]) => [rule, key, entry] as const));
  return { changes: { time, pause, versions, held: [], unlisted: [...unlisted] }, held: entries };
}

/** Stored changes; `undefined` if they are not. */
export function decodeRuleChanges<T>(value: unknown): RuleChanges<T> | undefined {
  return isRuleChanges<T>(value) ? value : undefined;
}

function isRuleChanges<T>(value: unknown): value is RuleChanges<T> {
  if (!isRecord(value)) return false;
  const { time, pause, versions, held, unlisted } = value;
  if (!isRecord(time) || !isTimeline(time) || !areTimes(pause) || !isRecord(versions)) return false;
  if (!Object.values(versions).every((version) => typeof version === 'string')) return false;
  const isUnlisted = (entry: unknown): boolean =>
    Array.isArray(entry) && isText(entry[0]) && (entry[1] === null || areTimes(entry[1]));
  return isHeldList(held) && Array.isArray(unlisted) && unlisted.every(isUnlisted);
}

/** Whether a stored value is a list of rows for which rules hold. */
export function isHeldList<T>(value: unknown): value is RuleChanges<T>['held'] {
  return (
    Array.isArray(value) && value.every((each) => Array.isArray(each) && isText(each[0], each[1]) && isHeld(each[2]))
  );
}

function isHeld(value: unknown): boolean {
  if (value === null) return true;
  if (!isRecord(value)) return false;
  const { first, earliest, latest, times, dueAt = 0, since = 0 } = value;
  return areTimes(first, earliest ?? 0, latest, times, dueAt, since);
}

function isText(...values: readonly unknown[]): boolean {
  return values.every((value) => typeof value === 'string');
}
