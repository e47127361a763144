import { isBetweenRowsAndSeal, phases, type Phase } from './phases.js';

/** The outcome of one kill. */
export interface KillOutcome {
  readonly phase: Phase;
  /** Pages that the killed run had received and later ones requested again. */
  readonly fetchedAgain: number;
  /** What was wrong because of it, one sentence each. */
  readonly differences: readonly string[];
}

export interface PhaseTally {
  readonly phase: Phase;
  readonly kills: number;
  readonly differences: number;
  readonly maxFetchedAgain: number;
}

const minShareBetween = 0.8;

/** The table's rows, including phases that were not hit. */
export function tallyOf(outcomes: readonly KillOutcome[]): PhaseTally[] {
  return phases.map((phase) => {
    const ofPhase = outcomes.filter((outcome) => outcome.phase === phase);
    return {
      phase,
      kills: ofPhase.length,
      differences: ofPhase.filter(({ differences }) => differences.length > 0).length,
      maxFetchedAgain: Math.max(0, ...ofPhase.map(({ fetchedAgain }) => fetchedAgain)),
    };
  });
}

/** Why a table proves nothing, one sentence each; empty if it is a proof. */
export function shortcomings(tally: readonly PhaseTally[], minKills: number): string[] {
  const count = (rows: readonly PhaseTally[]): number => rows.reduce((sum, { kills }) => sum + kills, 0);
  const kills = count(tally);
  const share = count(tally.filter(({ phase }) => isBetweenRowsAndSeal(phase))) / kills;
  const unhit = phases.filter((phase) => !tally.some((row) => row.phase === phase && row.kills > 0));
  return [
    ...(kills < minKills ? [`Only ${kills} of ${minKills} kills happened: the others came too late.`] : []),
    ...unhit.map((phase) => `No kill hit ${phase}.`),
    ...(share >= minShareBetween
      ? []
      : [
          `Of the kills, ${(100 * share).toFixed(0)} % were between the first write of rows and the seal: fewer than 80 %.`,
        ]),
  ];
}
