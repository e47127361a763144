import type { FileSystem, WritableFile } from '@sluice/core/node';
import { diskError } from '../../packages/core/test/node/simulatedDisk/diskCalls.js';
import type { SimulatedDisk } from '../../packages/core/test/node/simulatedDisk.js';
import type { RestartMode } from '../../packages/core/test/node/simulatedDisk/survivors.js';
import type { Random } from '../../test/kit/random.js';
import type { Life, Schedule } from './schedule.js';

/** What goes wrong with a disk, as shares of its calls. */
export interface DiskFaults {
  /** A call fails with EIO before or after it has done its work, a sync as well as a write. */
  readonly io: number;
  /** A write fails with ENOSPC. */
  readonly full: number;
}

/** What a machine without power leaves of a disk; most often some of what was not synced. */
export const powerCuts = ['all', 'dropped', 'names', 'bytes', 'torn', 'torn', 'torn'] as const;
/** What a killed process leaves, besides. */
export const restarts = ['killed', ...powerCuts] as const;

/** Calls that were with the system when the process died. */
type Waiting = Set<() => Promise<unknown>>;

/**
 * A disk as one process sees it: a call takes effect at one moment and is answered at a later one. If the process dies in between, it has
 * taken effect and nobody was told.
 */
export class MountedDisk {
  readonly fileSystem: FileSystem;
  readonly #schedule: Schedule;
  readonly #random: Random;
  readonly #faults: DiskFaults;
  readonly #life: Life;
  readonly #waiting: Waiting = new Set();
  readonly #opened = new Map<object, string>();

  constructor(disk: SimulatedDisk, world: { schedule: Schedule; random: Random; faults: DiskFaults; life: Life }) {
    this.#schedule = world.schedule;
    this.#random = world.random;
    this.#faults = world.faults;
    this.#life = world.life;
    const files = this.#answering(disk, '');
    this.fileSystem = {
      ...files,
      open: async (path, mode) => this.#watched(this.#answering(await files.open(path, mode), path), path),
    };
  }

  /** The paths of files that the process has opened and not closed. */
  get opened(): readonly string[] {
    return [...this.#opened.values()];
  }

  #watched(file: WritableFile, path: string): WritableFile {
    const handle = {};
    this.#opened.set(handle, path);
    return {
      ...file,
      close: () => {
        this.#opened.delete(handle);
        return file.close();
      },
    };
  }

  /** The process died. What was with the system may still be done, or not. */
  async abandon(): Promise<void> {
    for (const call of this.#waiting) if (this.#random.chance(0.5)) await call().catch(() => undefined);
  }

  /** The same methods, each answered later. `path` is that of an open file. */
  #answering<T extends object>(target: T, path: string): T {
    const methods = Object.entries(target).filter(([, method]) => typeof method === 'function');
    const answering = methods.map(([name, method]) => [
      name,
      (...args: readonly unknown[]) => {
        const at = path === '' ? args.filter((arg) => typeof arg === 'string').join(' ') : path;
        return this.#call(name, `disk ${name} ${at}`, () => Reflect.apply(method, target, args));
      },
    ]);
    return { ...target, ...Object.fromEntries(answering) };
  }

  #call(name: string, label: string, call: () => Promise<unknown>): Promise<unknown> {
    const random = this.#random;
    return new Promise((resolve, reject) => {
      if (!this.#life.isAlive) return;
      this.#waiting.add(call);
      this.#schedule.after(0.01 + random.next() * 0.5, label, () => {
        this.#waiting.delete(call);
        const fault = this.#faultOf(name, label);
        const done = fault === undefined || fault.after ? call() : Promise.reject(fault.error);
        const answered = (settle: () => void): void => {
          this.#schedule.after(this.#timeOf(name), `${label} done`, settle, this.#life);
        };
        done.then(
          (value) => {
            answered(() => {
              if (fault) reject(fault.error);
              else resolve(value);
            });
          },
          (error: unknown) => {
            answered(() => {
              reject(error instanceof Error ? error : new Error(String(error)));
            });
          },
        );
      });
    });
  }

  #faultOf(name: string, label: string): { error: Error; after: boolean } | undefined {
    const random = this.#random;
    if (name === 'write' && random.chance(this.#faults.full))
      return { error: diskError('ENOSPC', label), after: false };
    // What has been closed is closed, whatever its system says; and a name that is looked up is not changed.
    if (name !== 'close' && random.chance(this.#faults.io))
      return { error: diskError('EIO', label), after: random.chance(0.3) };
    return undefined;
  }

  /** Ms. A disk that has much to do lets a sync wait for long. */
  #timeOf(name: string): number {
    if (!name.startsWith('sync')) return this.#random.next() * 0.2;
    return this.#random.next() * (this.#random.chance(0.05) ? 400 : 5);
  }
}

/** The disk that the next process finds. */
export function restarted(disk: SimulatedDisk, how: (typeof restarts)[number], random: Random): SimulatedDisk {
  const mode: RestartMode = how === 'torn' ? { seed: random.int(0, 2 ** 31) } : how;
  return disk.restart(mode);
}
