import type { Difference } from './change.js';
import type { Findings } from './walkComparison.js';

/** A row that is in the accepted snapshot and was in none of the last complete walks. */
export interface Missing {
  readonly walks: number;
  /** When the first of them ended, in ms since 1970: it has to outlive the process. */
  readonly since: number;
  /** The listing had shrunk suspiciously when it was missed. */
  readonly isHeld: boolean;
}

/** When a row that is missing counts as removed. */
export interface RemovalRules {
  /** Complete walks in a row without it. */
  readonly confirmations: number;
  /** A listing that lost more than this share of its rows, or all of them, is suspicious. */
  readonly holdAbove: number;
  /** What is missing from a suspicious listing has to be missing for so many walks, and so many ms. */
  readonly holdWalks: number;
  readonly holdFor: number;
  readonly acceptRemovals: boolean;
}

/** What one complete walk means for the accepted snapshot. */
interface Verdict<T> {
  readonly differences: readonly Difference<T>[];
  readonly missing: ReadonlyMap<string, Missing>;
  readonly held: number;
}

interface Judgement {
  readonly rules: RemovalRules;
  readonly now: number;
  /** The listing itself says that it has more rows than came: what is missing may be among them. */
  readonly isShort?: boolean;
}

/** Decides what the findings of a complete walk mean. Pure. */
export function judge<T>(
  { changed, added, gone, accepted }: Findings<T>,
  missingBefore: ReadonlyMap<string, Missing>,
  { rules, now, isShort = false }: Judgement,
): Verdict<T> {
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
      // A clock that was put back must not hold it for as long as it was ahead.
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
