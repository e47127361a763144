import { Random } from '../../test/kit/random.js';
import { type ClusterScenario, clusterScenarioOf } from './cluster/clusterScenario.js';
import { playCluster } from './cluster/playCluster.js';
import { play } from './play.js';
import type { Platform } from './platform.js';
import type { Played } from './played.js';
import { type Scenario, scenarioOf, type SpecialKind } from './scenario.js';

/** A world of one machine, or of several. */
export type AnyScenario = Scenario | ClusterScenario;

/** Which worlds are played: those of one machine, all of them or only those with an odd listing, or of several. Default: all. */
export type WorldKind = 'single' | SpecialKind | 'cluster';

/** The share of the worlds of both kinds that are clusters: each takes as long as several others. */
const clusterShare = 0.07;

/** The world of a seed. */
export function worldOf(seed: number, kind?: WorldKind): AnyScenario {
  const isCluster = new Random(`${seed} kind`).chance(clusterShare);
  if ((kind ?? (isCluster ? 'cluster' : 'single')) === 'cluster') return clusterScenarioOf(seed);
  return scenarioOf(seed, kind === 'single' || kind === 'cluster' ? undefined : kind);
}

/** Plays a world to its end. */
export function playWorld(
  scenario: AnyScenario,
  platform: Platform,
  options: { readonly keepTrace?: boolean } = {},
): Promise<Played> {
  return 'kind' in scenario ? playCluster(scenario, platform, options) : play(scenario, platform, options);
}
