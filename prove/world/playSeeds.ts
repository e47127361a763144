import type { Platform } from './platform.js';
import type { Played } from './played.js';
import { shrunk } from './shrink.js';
import { type AnyScenario, playWorld, type WorldKind, worldOf } from './world.js';

/** A world in which something went wrong. */
export interface Found {
  readonly seed: number;
  /** The smallest world in which it does. */
  readonly scenario: AnyScenario;
  readonly violations: readonly string[];
}

/** What is told of a world: as it begins, once more or in a smaller form, too, and of what became of it. */
export type WorldMessage = { readonly begins: number } | ({ readonly ended: number } & Tally);

export type Tally = Pick<Played, 'kills' | 'failures' | 'requests' | 'events' | 'duration'>;

/** So many say enough. */
const maxFound = 3;

/** Plays the world of each seed from one on, for so many seconds. */
export async function playSeeds({
  from,
  seconds,
  kind,
  endsWithFirst,
  platform,
  onWorld,
  onFound,
}: {
  readonly from: number;
  readonly seconds: number;
  readonly kind: WorldKind | undefined;
  /** Ends with the first world that breaks a promise, and does not make it smaller. */
  readonly endsWithFirst: boolean;
  readonly platform: Platform;
  readonly onWorld: (message: WorldMessage) => void;
  readonly onFound: (found: Found) => void;
}): Promise<void> {
  const end = performance.now() + seconds * 1_000;
  let found = 0;
  for (let seed = from; performance.now() < end && found < maxFound; seed += 1) {
    await platform.breathe();
    onWorld({ begins: seed });
    const scenario = worldOf(seed, kind);
    const { violations, kills, failures, requests, events, duration } = await playWorld(scenario, platform);
    onWorld({ ended: seed, kills, failures, requests, events, duration });
    if (violations.length === 0) continue;
    found += 1;
    if (endsWithFirst) {
      onFound({ seed, scenario, violations });
      return;
    }
    onFound(await smallest(seed, scenario, { platform, onWorld }));
  }
}

async function smallest(
  seed: number,
  scenario: AnyScenario,
  { platform, onWorld }: Pick<Parameters<typeof playSeeds>[0], 'platform' | 'onWorld'>,
): Promise<Found> {
  const wrongIn = async (smaller: AnyScenario): Promise<readonly string[]> => {
    onWorld({ begins: seed });
    return (await playWorld(smaller, platform)).violations;
  };
  const [first = ''] = await wrongIn(scenario);
  // Another violation, of what is made up by making it smaller, would lead away.
  const isSame = ([wrong = '']: readonly string[]): boolean => kindOf(wrong) === kindOf(first);
  const least = await shrunk(scenario, async (smaller) => isSame(await wrongIn(smaller)));
  return { seed, scenario: least, violations: await wrongIn(least) };
}

/** The beginning of what is wrong, without numbers and names. */
function kindOf(violation: string): string {
  return violation.replace(/run \d+b?|[\d.]+|\/\S+/g, '#').slice(0, 50);
}
