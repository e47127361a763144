import type { Random } from '../../test/kit/random.js';
import type { Platform } from './platform.js';
import { type Schedule, Stuck } from './schedule.js';
import type { TraceEntry } from './trace.js';

/** What became of a world. */
export interface Played {
  /** Equal for equal worlds. */
  readonly digest: string;
  /** What must not happen, and did. */
  readonly violations: readonly string[];
  readonly kills: number;
  /** Runs that ended with an error which the world's faults explain. */
  readonly failures: number;
  readonly requests: number;
  readonly events: number;
  /** Virtual ms. */
  readonly duration: number;
  readonly trace: readonly TraceEntry[] | undefined;
}

/** A world of one machine, or of several. */
export interface PlayableWorld extends Pick<Played, 'kills' | 'failures' | 'requests'> {
  readonly schedule: Schedule;
  readonly violations: string[];
  /** Random numbers of a subject, which no other subject changes. */
  readonly random: (subject: string) => Random;
  /** Ms by which the wall clock is off now. */
  readonly wallOffset: () => number;
  readonly play: () => Promise<void>;
  /** Ends all that still runs. */
  readonly end: () => void;
}

/** Plays a world to its end, with the platform that it simulates. */
export async function playedIn(world: PlayableWorld, platform: Platform): Promise<Played> {
  platform.enter({ schedule: world.schedule, random: world.random('platform'), wallOffset: world.wallOffset });
  try {
    await world.play();
  } catch (error) {
    if (!(error instanceof Stuck)) throw error;
    world.violations.push(error.message);
  } finally {
    world.end();
    platform.leave();
  }
  const { schedule, violations, kills, failures, requests } = world;
  return {
    digest: schedule.trace.digest(),
    violations,
    kills,
    failures,
    requests,
    events: schedule.happened,
    duration: schedule.now,
    trace: schedule.trace.entries,
  };
}
