import { areTimes, isTimeline, type Timeline } from '../../timeline.js';
import { isRecord } from '../../values.js';
import type { RateWindow } from './limit.js';

/** Units that one process may start until a time, or has started, if it has ended the slice. */
export interface Slice {
  readonly id: string;
  /** The last of them starts before. */
  readonly to: number;
  readonly cost: number;
}

/** What processes have reserved of a limit. Its times are those of its timeline. */
export interface BudgetRecord extends Timeline {
  readonly pausedUntil: number;
  /** By the name of the window. */
  readonly slices: Readonly<Record<string, readonly Slice[]>>;
  /** When each window that was ever used up has returned, or will. */
  readonly returns?: Readonly<Record<string, number>>;
}

export type BudgetWindow = Pick<RateWindow, 'max' | 'span'>;

/** A slice has this share of its window's units and of its length. A killed process loses as much. */
const slicesPerWindow = 50;
/** Ms by which requests may arrive later than they were written, at most. For a short window as long as its slices. */
const longestDelay = 1_000;
export const noBudget: BudgetRecord = { saved: 0, wall: 0, boots: {}, pausedUntil: 0, slices: {} };

/** Ms that a slice lasts. */
export function sliceLength({ span }: BudgetWindow): number {
  return span / slicesPerWindow;
}

/** Units of a slice that is reserved ahead. */
export function sliceSize({ max }: BudgetWindow): number {
  return Math.floor(max / slicesPerWindow);
}

/** Those that still count: any window that has a start of theirs may have one of now. */
export function living(slices: readonly Slice[], window: BudgetWindow, now: number): Slice[] {
  return slices.filter((slice) => leaves(slice, window) > now);
}

export function costOf(slices: readonly Pick<Slice, 'cost'>[]): number {
  return slices.reduce((sum, { cost }) => sum + cost, 0);
}

/**
 * Reserves units for a process: those that it needs, or a slice ahead if that is more.
 *
 * At no time do more than `max` units start in a window. Each start is in a slice, before its end. When the last slice
 * of those with a start in the window was reserved, the others counted: none leaves within a window after its end.
 *
 * @param slices the living ones of all processes
 * @param wanted `need`: units; `lasts`: ms
 * @returns `undefined` if there are not enough
 */
export function reserve(
  slices: readonly Slice[],
  window: BudgetWindow,
  wanted: { readonly need: number; readonly now: number; readonly lasts: number; readonly id: string },
): Slice | undefined {
  const { need, now, lasts, id } = wanted;
  const free = window.max - costOf(slices);
  // As much as returns in that time. Rounding must not cost a unit.
  const ahead = Math.floor((window.max * lasts) / window.span + 1e-9);
  const cost = Math.min(free, Math.max(need, ahead));
  return cost < need || cost <= 0 ? undefined : { id, to: now + lasts, cost };
}

/** When so many units are free, if nobody reserves any until then. */
export function freeAt(slices: readonly Slice[], window: BudgetWindow, need: number): number {
  let missing = need + costOf(slices) - window.max;
  let at = -Infinity;
  for (const slice of slices.toSorted((a, b) => a.to - b.to)) {
    if (missing <= 0) break;
    missing -= slice.cost;
    at = leaves(slice, window);
  }
  return at;
}

function leaves({ to }: Slice, window: BudgetWindow): number {
  return to + window.span + Math.min(longestDelay, sliceLength(window));
}

/** A stored record; `undefined` if it is not one. */
export function decodeBudget(stored: unknown): BudgetRecord | undefined {
  return isBudgetRecord(stored) ? stored : undefined;
}

function isBudgetRecord(value: unknown): value is BudgetRecord {
  if (!isRecord(value)) return false;
  const { pausedUntil, slices, returns = {} } = value;
  const isSlice = (slice: unknown): boolean =>
    isRecord(slice) && typeof slice['id'] === 'string' && areTimes(slice['to'], slice['cost']);
  return (
    isTimeline(value) &&
    areTimes(pausedUntil) &&
    isRecord(returns) &&
    areTimes(...Object.values(returns)) &&
    isRecord(slices) &&
    Object.values(slices).every((each) => Array.isArray(each) && each.every(isSlice))
  );
}
