import type { Platform } from './platform.js';
import { suites } from './suites.js';
import { SuiteWorld } from './suiteWorld.js';

/** What became of the suites. */
export interface PlayedSuites {
  readonly checks: number;
  /** What is wrong, one sentence each, with the suite, the check and the seed. */
  readonly wrong: readonly string[];
}

/** Runs each check of each suite in the worlds of so many seeds. */
export async function playSuites(from: number, worlds: number, platform: Platform): Promise<PlayedSuites> {
  const wrong: string[] = [];
  let checks = 0;
  for (const [name, { register, lacks }] of Object.entries(suites)) {
    const registered: (readonly [title: string, check: () => Promise<void>])[] = [];
    let world: SuiteWorld | undefined;
    register({
      test: (title, check) => registered.push([title, check]),
      onSkip: (title, why) => {
        if (!lacks.includes(why)) wrong.push(`${name}: "${title}" was skipped: it needs ${why}.`);
      },
      // Virtual ms, and a busy disk lets a sync wait for long.
      timeout: 600_000,
      machine: () => {
        if (!world) throw new Error('Machines are for fixtures.');
        return world.machine();
      },
    });
    checks += registered.length;
    for (const [title, check] of registered)
      for (let seed = from; seed < from + worlds; seed += 1) {
        await platform.breathe();
        world = new SuiteWorld(`${seed} ${name} ${title}`, platform);
        const fault = await world.play(check);
        if (fault !== undefined) wrong.push(`${name}: "${title}" in the world of seed ${seed}: ${fault}`);
      }
  }
  return { checks, wrong };
}
