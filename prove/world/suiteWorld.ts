import { simulatedDisk, type SimulatedDisk } from '../../packages/core/test/node/simulatedDisk.js';
import { Random } from '../../test/kit/random.js';
import { type DiskFaults, MountedDisk, restarted, restarts } from './disk.js';
import type { Platform } from './platform.js';
import { clockOf, claimsOf, type Process } from './processes.js';
import { Life, Schedule, Stuck } from './schedule.js';
import { Trace } from './trace.js';

/** What a sink or a state store finds around itself. */
export type ProcessOfMachine = Pick<Process, 'fileSystem' | 'claims' | 'clock' | 'random'>;

const noFaults: DiskFaults = { io: 0, full: 0 };
const wallOffset = (): number => 0;

/** The machine on which a check of a suite runs. Its processes come and go, its disk stays. It has the folder `/data`. */
export class Machine {
  readonly #schedule: Schedule;
  readonly #random: Random;
  readonly #running = new Map<string, Life>();
  readonly #mounted: MountedDisk[] = [];
  #disk: SimulatedDisk = simulatedDisk();

  constructor(schedule: Schedule, random: Random) {
    this.#schedule = schedule;
    this.#random = random;
    this.#disk.putFolder('/data');
  }

  /** Starts a process, which runs beside the others until all crash. */
  start(): ProcessOfMachine {
    const schedule = this.#schedule;
    const random = this.#random;
    const life = new Life(`process ${this.#mounted.length + 1}`);
    this.#running.set(life.name, life);
    const mounted = new MountedDisk(this.#disk, { schedule, random, faults: noFaults, life });
    this.#mounted.push(mounted);
    return {
      fileSystem: mounted.fileSystem,
      claims: claimsOf(life, { running: this.#running }),
      clock: clockOf(life, { schedule, wallOffset }),
      random: () => random.next(),
    };
  }

  /** All processes die at once: they are killed, or the power is cut, as the seed says. */
  async crash(): Promise<void> {
    for (const life of this.#running.values()) life.isAlive = false;
    for (const mounted of this.#mounted.splice(0)) await mounted.abandon();
    this.#disk = restarted(this.#disk, this.#random.pick(restarts), this.#random);
  }

  /** What a file would have after a power cut; nothing if it would not be there. */
  durable(path: string): Uint8Array {
    return this.#disk.restart('dropped').bytes(path) ?? new Uint8Array();
  }
}

/** The world in which one check of a suite runs. */
export class SuiteWorld {
  readonly #schedule: Schedule;
  readonly #random: Random;
  readonly #platform: Platform;

  constructor(seed: string, platform: Platform) {
    this.#platform = platform;
    this.#random = new Random(`${seed} suite`);
    // A check drives several processes from outside, so nobody can tell whose code runs.
    this.#schedule = new Schedule(new Trace({ keep: false }), new Random(`${seed} order`), platform.turn, {
      hasOwners: false,
    });
  }

  machine(): Machine {
    return new Machine(this.#schedule, this.#random);
  }

  /** Runs a check to its end. Answers what is wrong, if anything is. */
  async play(check: () => Promise<void>): Promise<string | undefined> {
    let ended: { readonly error?: unknown } | undefined;
    this.#platform.enter({ schedule: this.#schedule, random: this.#random, wallOffset });
    try {
      check().then(
        () => (ended = {}),
        (error: unknown) => (ended = { error }),
      );
      await this.#schedule.until(() => ended !== undefined);
    } catch (error) {
      if (!(error instanceof Stuck)) throw error;
      return error.message;
    } finally {
      this.#platform.leave();
    }
    if (!ended || !('error' in ended)) return undefined;
    return ended.error instanceof Error ? ended.error.message : String(ended.error);
  }
}
