import type { Difference } from './change.js';
import type { Findings } from './walkComparison.js';

/** An accepted row that was not in the last complete walks. */
export interface Missing {
  readonly walks: number;
  /** When the first of these walks ended, in ms since 1970: unlike monotonic time, that survives a restart. */
  readonly since: number;
  /** Whether the listing had shrunk suspiciously when the row went missing. */
  readonly isHeld: boolean;
}

/** When a missing row counts as removed. */
export interface RemovalRules {
  /** Consecutive complete walks without the row. */
  readonly confirmations: number;
  /** A listing that lost more than this share of its rows, or all rows, is suspicious. */
  readonly holdAbove: number;
  /** A row missing from a suspicious listing is removed only after this many walks and ms. */
  readonly holdWalks: number;
  readonly holdFor: number;
  readonly acceptRemovals: boolean;
}

/** The result of a complete walk for the accepted snapshot. */
export interface JudgedWalk<T> {
  readonly differences: readonly Difference<T>[];
  readonly missing: ReadonlyMap<string, Missing>;
  readonly held: number;
}

interface Judgement {
  readonly rules: RemovalRules;
  readonly now: number;
  /** Whether the listing's total is larger than the number of rows sent: missing rows may be among the others. */
  readonly isShort?: boolean;
  /** Whether the API said that rows are missing from the walk, so no removal can be concluded from it. */
  readonly isIncomplete?: boolean;
}

/** Decides what a complete walk changes in the accepted snapshot. Pure. */
export function judgeRemovals<T>(
  { changed, added, gone, accepted }: Findings<T>,
  missingBefore: ReadonlyMap<string, Missing>,
  { rules, now, isShort = false, isIncomplete = false }: Judgement,
): JudgedWalk<T> {
  if (isIncomplete) {
    const lacking = new Set(gone.map(([key]) => key));
    const missing = new Map([...missingBefore].filter(([key]) => lacking.has(key)));
    const held = [...missing.values()].filter(({ isHeld, walks }) => isHeld && walks >= rules.confirmations).length;
    return { differences: [...changed, ...added], missing, held };
  }
  const removed: Difference<T>[] = [];
  const isEmpty = gone.length === accepted && added.length === 0;
  const isSuspicious =
    !rules.acceptRemovals && gone.length > 0 && (isShort || isEmpty || gone.length > rules.holdAbove * accepted);
  const missing = new Map<string, Missing>();
  let held = 0;
  for (const [key, before] of gone) {
    const { walks, since, isHeld } = missingBefore.get(key) ?? { walks: 0, since: now, isHeld: false };
    const next = {
      walks: walks + 1,
      // If the clock was set back, the row must not be held longer by that time.
      since: Math.min(since, now),
      isHeld: !rules.acceptRemovals && (isHeld || isSuspicious),
    };
    if (isRemoved(next, rules, now)) removed.push({ type: 'removed', key, before, after: null, fields: [] });
    else {
      missing.set(key, next);
      if (next.isHeld && next.walks >= rules.confirmations) held += 1;
    }
  }
  return { differences: [...changed, ...added, ...removed], missing, held };
}

function isRemoved({ walks, since, isHeld }: Missing, rules: RemovalRules, now: number): boolean {
  return isHeld ? walks >= rules.holdWalks && now - since >= rules.holdFor : walks >= rules.confirmations;
}
