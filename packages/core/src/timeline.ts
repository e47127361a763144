import { isRecord } from './values.js';

/** A machine's time since it booted, which all its processes share. */
export interface BootClock {
  /** Differs between boots; empty if that is unknown. */
  id(): Promise<string>;
  /** Ms since the machine booted, with those in which it slept. A change of its clock does not affect it. */
  now(): number;
}

/** A machine's time since it booted, which no change of its clock affects. */
interface Boot {
  /** Ms from its own time to that of the record. */
  readonly ahead: number;
  /** When it was last used, by the record's time. */
  readonly at: number;
}

/** The time of a record that outlives processes and boots. It is in ms from an arbitrary point, and never goes back. */
export interface Timeline {
  /** When the record was saved. */
  readonly saved: number;
  /** The same by the wall clock of whoever saved it. */
  readonly wall: number;
  readonly boots: Readonly<Record<string, Boot>>;
}

/** Ms by which the times of two boots may differ before that is taken for another clock. */
const tolerance = 1_000;
/** Boots that a record remembers: those of a cluster that shares it. */
const maxBoots = 20;

/**
 * The record's time of a machine. For a boot that the record does not know, as much has passed since it was saved as by
 * the wall clock, unless that was set back. From then on, only the time since it booted counts. Where boots can't be told
 * apart, the wall clock counts each time.
 */
export function timeOf(
  { boots, saved, wall }: Timeline,
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
export function withBoot(boots: Timeline['boots'], id: string, boot: Boot): Timeline['boots'] {
  if (id === '') return boots;
  const others = Object.entries(boots).filter(([other]) => other !== id);
  const latest = others.sort(([, a], [, b]) => b.at - a.at).slice(0, maxBoots - 1);
  return Object.fromEntries([...latest, [id, boot]]);
}

/** The timeline of a record that a machine saves now. @param last of the record before, if there is one */
export function continueTimeline(
  last: Timeline | undefined,
  machine: { readonly id: string; readonly uptime: number; readonly wall: number },
): Timeline {
  const { wall } = machine;
  const before = last ?? { saved: 0, wall, boots: {} };
  const { now, ahead } = timeOf(before, machine);
  return { saved: now, wall, boots: withBoot(before.boots, machine.id, { ahead, at: now }) };
}

/** A time of a timeline by the wall clock of whoever saved it: ISO 8601, UTC. */
export function dateOf({ saved, wall }: Timeline, at: number): string {
  return new Date(wall - (saved - at)).toISOString();
}

/** Whether a stored value is a timeline. */
export function isTimeline(value: Readonly<Record<string, unknown>>): boolean {
  const { saved, wall, boots } = value;
  const isBoot = (boot: unknown): boolean => isRecord(boot) && areTimes(boot['ahead'], boot['at']);
  return areTimes(saved, wall) && isRecord(boots) && Object.values(boots).every(isBoot);
}

/** Whether stored values are times or other finite numbers. */
export function areTimes(...values: readonly unknown[]): boolean {
  return values.every((value) => Number.isFinite(value));
}
