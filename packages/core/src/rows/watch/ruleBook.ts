import { areTimes, isTimeline, type Timeline } from '../../timeline.js';
import { isRecord } from '../../values.js';

/** A row for which a rule holds. Times are in ms of the book's timeline. */
export interface Held {
  /** The first walk that showed it. */
  readonly first: number;
  /** When it began, at the earliest: the last walk that showed otherwise. `null` if none did. */
  readonly earliest: number | null;
  /** When it began, at the latest: the first of the walks that show it without a gap. */
  readonly latest: number;
  /** How often the row was due, and when it was last. */
  readonly times: number;
  readonly dueAt?: number;
}

/** By the rule's name, then by the key of the row. */
type HeldRows = Map<string, Map<string, Held>>;

/** What a watch knows of its rules. A walk moves its time, of which it is the last one. */
export interface RuleBook {
  readonly time: Timeline;
  /** The versions of the rules, by their names. */
  readonly versions: Readonly<Record<string, string>>;
  readonly held: HeldRows;
  /** When the accepted rows that the last walk has not listed were listed last. */
  readonly unlisted: Map<string, number>;
}

/** What a walk changes in the book. `null` removes an entry. */
export interface RuleChanges {
  readonly time: Timeline;
  readonly versions: Readonly<Record<string, string>>;
  readonly held: readonly (readonly [rule: string, key: string, held: Held | null])[];
  readonly unlisted: readonly (readonly [key: string, at: number | null])[];
}

/** Applies what a walk has changed. Modifies the maps, so the previous book is gone. */
export function applyRules(book: RuleBook | undefined, { time, versions, held, unlisted }: RuleChanges): RuleBook {
  const rows: HeldRows = book?.held ?? new Map<string, Map<string, Held>>();
  for (const [rule, key, entry] of held) {
    const ofRule = rows.get(rule) ?? new Map<string, Held>();
    if (entry) rows.set(rule, ofRule.set(key, entry));
    else if (ofRule.delete(key) && ofRule.size === 0) rows.delete(rule);
  }
  const missing = book?.unlisted ?? new Map<string, number>();
  for (const [key, at] of unlisted) {
    if (at === null) missing.delete(key);
    else missing.set(key, at);
  }
  return { time, versions, held: rows, unlisted: missing };
}

/** The whole book as changes of an empty one. */
export function asChanges({ time, versions, held, unlisted }: RuleBook): RuleChanges {
  const entries = [...held].flatMap(([rule, rows]) => Array.from(rows, ([key, entry]) => [rule, key, entry] as const));
  return { time, versions, held: entries, unlisted: [...unlisted] };
}

/** Stored changes; `undefined` if they are not. */
export function decodeRuleChanges(value: unknown): RuleChanges | undefined {
  return isRuleChanges(value) ? value : undefined;
}

function isRuleChanges(value: unknown): value is RuleChanges {
  if (!isRecord(value)) return false;
  const { time, versions, held, unlisted } = value;
  if (!isRecord(time) || !isTimeline(time) || !isRecord(versions)) return false;
  if (!Object.values(versions).every((version) => typeof version === 'string')) return false;
  const isEntry = (entry: unknown): boolean => Array.isArray(entry) && isText(entry[0], entry[1]) && isHeld(entry[2]);
  const isUnlisted = (entry: unknown): boolean =>
    Array.isArray(entry) && isText(entry[0]) && (entry[1] === null || areTimes(entry[1]));
  return Array.isArray(held) && held.every(isEntry) && Array.isArray(unlisted) && unlisted.every(isUnlisted);
}

function isHeld(value: unknown): boolean {
  if (value === null) return true;
  if (!isRecord(value)) return false;
  const { first, earliest, latest, times, dueAt = 0 } = value;
  return areTimes(first, earliest ?? 0, latest, times, dueAt);
}

function isText(...values: readonly unknown[]): boolean {
  return values.every((value) => typeof value === 'string');
}
