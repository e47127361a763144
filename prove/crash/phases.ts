/**
 * The phases of an export, in order. Phases with the same `turn` alternate; `weight` is the share of kills that are
 * aimed at a phase, in percent.
 */
const outlines = {
  'setting up': { acquire: 0, weight: 4 },
  'going on': { acquire: 1, weight: 8 },
  fetching: { acquire: 2, weight: 20 },
  'writing rows': { acquire: 2, weight: 14 },
  'writing segments': { acquire: 2, weight: 12 },
  'syncing rows': { acquire: 2, weight: 13 },
  'saving the checkpoint': { acquire: 2, weight: 19 },
  sealing: { acquire: 3, weight: 3 },
  'putting in place': { acquire: 4, weight: 4 },
  'clearing away': { acquire: 5, weight: 3 },
} as const;

export type Phase = keyof typeof outlines;

/** In the order of the table. */
export const phases: readonly Phase[] = Object.keys(outlines).filter(isPhase);

/** The percentage of kills that are aimed at a phase. */
export function weightOf(phase: Phase): number {
  return outlines[phase].weight;
}

/** Whether a run in `phase` will not come to `other` again. */
export function isPast(phase: Phase, other: Phase): boolean {
  return outlines[phase].acquire > outlines[other].acquire;
}

/** Whether a run comes to it repeatedly, page after page. */
export function isRepeated(phase: Phase): boolean {
  return outlines[phase].acquire === outlines.fetching.acquire;
}

/** Whether it is between an export's first write of rows and its seal. A resuming run has rows already. */
export function isBetweenRowsAndSeal(phase: Phase): boolean {
  return isPast(phase, 'setting up') && isPast('sealing', phase);
}

function isPhase(name: string): name is Phase {
  return name in outlines;
}
