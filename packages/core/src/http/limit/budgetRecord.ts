import { isRecord } from '../../values.js';
import type { RateWindow } from './limit.js';

/** Units that one process may start until a time, or has started, if it has ended the slice. */
export interface Slice {
  readonly id: string;
  /** The last of them starts before. */
  readonly to: number;
  readonly cost: number;
}

/** A machine's time since it booted, which no change of its clock affects. */
interface Boot {
  /** Ms from its own time to that of the record. */
  readonly ahead: number;
  /** When it was last used, by the record's time. */
  readonly at: number;
}

/** What processes have reserved of a limit. Its times are in ms by a time of its own, which never goes back. */
export interface BudgetRecord {
  /** When it was saved. */
  readonly saved: number;
  /** The same by the wall clock of whoever saved it. */
  readonly wall: number;
  readonly boots: Readonly<Record<string, Boot>>;
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
/** Ms by which the times of two boots may differ before that is taken for another clock. */
const tolerance = 1_000;
/** Boots that a record remembers: those of a cluster that shares it. */
const maxBoots = 20;

export const noBudget: BudgetRecord = { saved: 0, wall: 0, boots: {}, pausedUntil: 0, slices: {} };

/** Ms that a slice lasts. */
export function sliceLength({ span }: BudgetWindow): number {
  return span / slicesPerWindow;
}

/** Units of a slice that is reserved ahead. */
export function sliceSize({ max }: BudgetWindow): number {
  return Math.floor(max / slicesPerWindow);
}

/**
 * The record's time of a machine. For a boot that the record does not know, as much has passed since it was saved as by
 * the wall clock, unless that was set back. From then on, only the time since it booted counts. Where boots can't be told
 * apart, the wall clock counts each time.
 */
export function timeOf(
  { boots, saved, wall }: BudgetRecord,
  machine: { readonly id: string; readonly uptime: number; readonly wall: number },
): { readonly now: number; readonly ahead: number } {
  const { id, uptime } = machine;
  const known = id !== '' && Object.hasOwn(boots, id) ? boots[id]?.ahead : undefined;
  const own = known === undefined ? saved + machine.wall - wall : uptime + known;
  const now = Math.max(own, saved);
  // Within the tolerance it is only rounding, which must not add up.
  return { now, ahead: known !== undefined && saved - own <= tolerance ? known : now - uptime };
}

/** The boots with one that is used now. */
export function withBoot(boots: BudgetRecord['boots'], id: string, boot: Boot): BudgetRecord['boots'] {
  if (id === '') return boots;
  const others = Object.entries(boots).filter(([other]) => other !== id);
  const latest = others.sort(([, a], [, b]) => b.at - a.at).slice(0, maxBoots - 1);
  return Object.fromEntries([...latest, [id, boot]]);
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
  const { saved, wall, pausedUntil, boots, slices, returns = {} } = value;
  const isBoot = (boot: unknown): boolean => isRecord(boot) && areTimes(boot['ahead'], boot['at']);
  const isSlice = (slice: unknown): boolean =>
    isRecord(slice) && typeof slice['id'] === 'string' && areTimes(slice['to'], slice['cost']);
  return (
    areTimes(saved, wall, pausedUntil) &&
    isRecord(boots) &&
    Object.values(boots).every(isBoot) &&
    isRecord(returns) &&
    areTimes(...Object.values(returns)) &&
    isRecord(slices) &&
    Object.values(slices).every((each) => Array.isArray(each) && each.every(isSlice))
  );
}

function areTimes(...values: readonly unknown[]): boolean {
  return values.every((value) => Number.isFinite(value));
}
