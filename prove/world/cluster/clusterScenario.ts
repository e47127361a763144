import { type DiskFaults, powerCuts } from '../disk.js';
import { Random } from '../../../test/kit/random.js';
import type { NetworkFaults } from '../network.js';
import { connectionsOf, networkOf, type Scenario } from '../scenario.js';
import type { ApiModel } from '../services.js';
import type { RedisEvent, RedisModel } from './redis.js';

/** A world of several machines, drawn from its seed. Everything in it can be made smaller. */
export interface ClusterScenario {
  readonly kind: 'cluster';
  readonly seed: number;
  readonly api: ApiModel;
  readonly pageSize: number;
  readonly ownersPerRequest: number;
  /** Pieces of the plan. */
  readonly pieces: number;
  /** Processes that submit the plan at once. */
  readonly submitters: number;
  readonly workers: number;
  /** Partitions that a worker has at once. */
  readonly partitions: number;
  /** Of the partitions that are not done, how many of the first a worker picks one from: 1 is the same for all. */
  readonly spread: number;
  /** Ms. */
  readonly saveEvery: number;
  /** Somebody asks for the status again and again, and clears away after a power cut. */
  readonly hasOperator: boolean;
  /** Of all processes together; `concurrency` is that of each. */
  readonly limit: Scenario['limit'];
  readonly network: NetworkFaults;
  readonly disk: DiskFaults;
  readonly redis: RedisModel;
  readonly clockSteps: readonly (readonly [at: number, by: number])[];
  readonly disturbances: readonly Disturbance[];
}

/**
 * What happens to the process that did the last thing: it is killed, asked to stop, or stands still for so many ms. Or the
 * power of all machines is cut.
 */
export type Disturbance = When &
  (
    | { readonly what: 'kill' | 'stop' }
    | { readonly what: 'freeze'; readonly during: number }
    | { readonly what: 'power cut'; readonly leaves: (typeof powerCuts)[number] }
  );

/** Counted from the disturbance before. */
export type When =
  | { readonly events: number }
  | {
      /** The beginning of what happens, e.g. `disk link`, and a part of it, e.g. `/done/`. */
      readonly at: readonly [start: string, part: string];
      /** Not as the call takes effect, but as the process hears of it. */
      readonly isDone: boolean;
      readonly nth: number;
      /** So many events after it. */
      readonly later: number;
    };

/** The moments at which a disturbance is worth most. */
const tender: readonly [Moment, ...Moment[]] = [
  ['disk link', '/done/'],
  ['disk link', '/done/'],
  ['disk link', '/done/'],
  ['disk syncFolder', '/done'],
  ['disk syncFolder', '/rows'],
  ['disk sync', '/rows/'],
  ['disk sync', '/rows/'],
  ['disk open', '/rows/'],
  ['disk write', '/rows/'],
  ['disk unlink', '/tmp/'],
  ['disk unlink', '/rows/'],
  ['disk link', '/plan'],
  ['disk link', '/run.json'],
  ['disk sync', '/tmp/'],
  ['disk makeFolder', '/data/run'],
  ['redis limit', ''],
  ['net redis limit', ''],
  ['net redis hint', 'saved'],
  ['redis hint', 'saved'],
  ['redis hint', 'dropped'],
  ['disk link', 'merged'],
];

type Moment = readonly [start: string, part: string];

/** The world of several machines of a seed. */
export function clusterScenarioOf(seed: number): ClusterScenario {
  const random = new Random(`${seed} cluster`);
  const owners = random.int(1, 12);
  const pageSize = random.int(3, 20);
  const share = (max: number): number => (random.chance(0.5) ? random.next() * max : 0);
  const cursorTtl = random.chance(0.15) ? random.int(60_000, 120_000) : null;
  const network = { ...networkOf(random), ...connectionsOf(seed) };
  const disturbances = Array.from({ length: random.int(1, 8) }, () => disturbancesOf(random)).flat();
  return {
    kind: 'cluster',
    seed,
    api: {
      seed,
      owners,
      holdings: random.int(owners, pageSize * 25),
      streams: 0,
      statusEvery: 10_000,
      cursorTtl,
    },
    pageSize,
    ownersPerRequest: random.int(1, 3),
    pieces: random.int(1, Math.min(4, owners)),
    submitters: random.pick([1, 1, 2]),
    workers: random.int(2, 5),
    partitions: random.int(1, 3),
    spread: random.pick([1, 2, 2, 5]),
    saveEvery: random.pick([0, 200, 1_000, 60_000]),
    hasOperator: random.chance(0.4),
    limit: {
      requests: random.int(2, 10),
      per: 1_000,
      concurrency: random.int(1, 4),
      ...(random.chance(0.3) && { burst: 2 }),
    },
    // Pauses of a minute that all share would let every cursor expire.
    network: cursorTtl === null ? network : { ...network, limited: 0 },
    disk: random.chance(0.2) ? { io: share(0.005), full: share(0.01) } : { io: 0, full: 0 },
    redis: redisOf(random, disturbances),
    clockSteps: random.chance(0.2) ? [[random.int(0, 20_000), random.int(-3_600_000, 3_600_000)]] : [],
    disturbances,
  };
}

function redisOf(random: Random, disturbances: readonly Disturbance[]): RedisModel {
  const share = (max: number): number => (random.chance(0.4) ? random.next() * max : 0);
  const slow = share(0.05);
  // A step that is shorter than a call, or than the time for which a process stands still, can't be told from that.
  const isSteady = slow === 0 && disturbances.every(({ what }) => what !== 'freeze');
  const steps: readonly [number, ...number[]] = isSteady ? [150, 2_000, 3_600_000] : [3_600_000];
  return {
    distance: random.pick([0.3, 2, 12, 30]),
    lost: share(0.03),
    unanswered: share(0.03),
    slow,
    stale: share(0.3),
    lag: random.pick([5, 200, 1_000]),
    events: Array.from({ length: random.int(0, 5) }, () => redisEventsOf(random, steps))
      .flat()
      .sort((a, b) => a.at - b.at),
  };
}

/** One, or two in a row: the clock is set soon after the log was lost. */
function redisEventsOf(random: Random, steps: readonly [number, ...number[]]): readonly RedisEvent[] {
  const event = redisEventOf(random, steps);
  if (event.what === 'step' || event.what === 'down' || !random.chance(0.3)) return [event];
  return [event, { at: event.at + random.int(500, 4_000), what: 'step', by: random.pick(steps) }];
}

function redisEventOf(random: Random, steps: readonly [number, ...number[]]): RedisEvent {
  const at = random.int(500, 40_000);
  switch (random.int(0, 6)) {
    case 0:
      return { at, what: 'flush' };
    case 1:
      return { at, what: 'evict' };
    case 2:
      return { at, what: 'failover' };
    case 3:
      return { at, what: 'restart' };
    case 4:
      return { at, what: 'restart empty' };
    case 5:
      return { at, what: 'down', during: random.pick([100, 2_000, 40_000]) };
    default:
      return { at, what: 'step', by: random.pick([-1, 1]) * random.pick(steps) };
  }
}

/** One, or two in a row: what a killed process left unsynced is only lost when the power goes then. */
function disturbancesOf(random: Random): readonly Disturbance[] {
  const first = { ...whenOf(random), ...whatOf(random) };
  if (first.what !== 'kill' || !random.chance(0.3)) return [first];
  const cut = { what: 'power cut', leaves: random.pick(powerCuts) } as const;
  return [first, { events: random.int(1, random.pick([30, 300])), ...cut }];
}

function whatOf(random: Random) {
  const kind = random.next();
  if (kind < 0.45) return { what: 'kill' } as const;
  if (kind < 0.55) return { what: 'stop' } as const;
  if (kind < 0.8) return { what: 'freeze', during: random.pick([100, 400, 2_000, 40_000]) } as const;
  return { what: 'power cut', leaves: random.pick(powerCuts) } as const;
}

function whenOf(random: Random): When {
  if (random.chance(0.3)) return { events: random.int(1, random.pick([30, 200, 1_000])) };
  return {
    at: random.pick(tender),
    isDone: random.chance(0.5),
    nth: random.int(1, random.pick([1, 3, 10])),
    later: random.chance(0.5) ? 0 : random.int(1, random.pick([3, 15])),
  };
}
