import { type Client, type Clock, createClient } from '@sluice/core';
import type { Limiter } from '@sluice/core/kit';
import { aptos, type AptosApi } from '@sluice/aptos';
import { streams, type StreamsApi } from '@sluice/streams';
import type { FileSystem } from '@sluice/core/node';
import { MountedDisk } from './disk.js';
import type { Adapter } from '../../packages/core/src/http/adapter/adapter.js';
import type { SimulatedDisk } from '../../packages/core/test/node/simulatedDisk.js';
import type { Claims } from '../../packages/core/src/node/claims.js';
import { simulatedClaims } from '../../packages/core/test/node/simulatedExport.js';
import type { Random } from '../../test/kit/random.js';
import type { Scenario } from './scenario.js';
import type { Life, Schedule } from './schedule.js';
import { addresses, apiKey } from './services.js';
import { epoch } from './platform.js';

/** A process of a world: production code, with what it finds around itself. */
export interface Process {
  readonly life: Life;
  readonly client: Client & { readonly aptos: AptosApi; readonly streams: StreamsApi };
  readonly disk: MountedDisk;
  readonly fileSystem: FileSystem;
  readonly claims: Claims;
  readonly clock: Clock;
  readonly random: () => number;
  readonly adapter: () => Adapter;
  /** Aborted when somebody stops it, as SIGINT does. */
  readonly signal: AbortSignal;
  readonly stop: () => void;
}

/** The reason with which work rejects that was stopped. */
export class Stopped extends Error {}

/** What processes share. */
export interface Surroundings {
  readonly schedule: Schedule;
  readonly random: Random;
  readonly scenario: Pick<Scenario, 'limit' | 'disk'>;
  readonly disk: SimulatedDisk;
  readonly adapterOf: (life: Life) => Adapter;
  /** Processes that run, by their names. */
  readonly running: ReadonlyMap<string, Life>;
  /** Ms by which the wall clock is off now. */
  readonly wallOffset: () => number;
}

/**
 * Starts a process. Nothing is asked or read yet.
 *
 * @param limiter that of several processes. Default: its own.
 */
export function startProcess(life: Life, world: Surroundings, limiter?: Limiter): Process {
  const { schedule, random, scenario } = world;
  const clock = clockOf(life, world);
  const next = (): number => random.next();
  const adapter = (): Adapter => world.adapterOf(life);
  const disk = new MountedDisk(world.disk, { schedule, random, faults: scenario.disk, life });
  const client = createClient({
    apiKey,
    clock,
    random: next,
    adapter,
    ...(limiter ? { limiter } : { rateLimit: scenario.limit }),
  })
    .use(aptos({ baseUrl: addresses.aptos }))
    .use(streams({ baseUrl: addresses.streams }));
  const { fileSystem } = disk;
  const stopping = new AbortController();
  const stop = (): void => {
    schedule.current = life;
    stopping.abort(new Stopped('stopped'));
  };
  return {
    life,
    client,
    disk,
    fileSystem,
    claims: claimsOf(life, world),
    clock,
    random: next,
    adapter,
    signal: stopping.signal,
    stop,
  };
}

/** The clock of a process: it stands still while code runs. */
export function clockOf(life: Life, { schedule, wallOffset }: Pick<Surroundings, 'schedule' | 'wallOffset'>): Clock {
  return {
    now: () => epoch + Math.floor(schedule.now + wallOffset()),
    monotonic: () => schedule.now,
    after: (ms, callback) => (life.isAlive ? schedule.after(ms, 'timer', callback, life) : () => undefined),
  };
}

/** The claims of the machine, as one of its processes sees them. */
export function claimsOf(life: Life, { running }: Pick<Surroundings, 'running'>): Claims {
  return simulatedClaims(life.claims, (text) =>
    [life, ...running.values()].some(({ isAlive, claims }) => isAlive && claims.has(text)),
  );
}
