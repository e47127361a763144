import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { bundled } from '../../scripts/bundled.js';
import { hasContainers, inContainer, programIn } from '../../test/kit/container.js';

/** What a contender is to do. */
export interface ContenderTask {
  /** The names of the folder to lock, and of the log. */
  readonly folder: string;
  readonly log: string;
  /** Ms that it holds the lock. */
  readonly hold: number;
  readonly breakLock: boolean;
}

/** What it says. */
export type ContenderMessage = 'ready' | 'inside' | 'done' | `failed: ${string}`;

/** The command line of a program that sees `base` there, or elsewhere. */
export type Seat = (base: string, program: (base: string) => string[]) => string[];

const alone: Seat = (base, program) => program(base);
const inOne: Seat = (base, program) => inContainer('one', program(base));
/** As containers mostly are: with a network and a path of its own. */
const apart: Seat = (base, program) =>
  inContainer('two', ['unshare', '-n', ...program('/mnt')], `mount --bind '${base}' /mnt &&`);

/** The four of a race: two are process 1 of hosts of the same name. */
export const seats: readonly Seat[] = hasContainers ? [alone, inOne, inOne, apart] : [alone, alone, alone, alone];

/** A process that locks folders. It ends with this one. */
export class Contender {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #pid: number;
  /** Settles when it is gone. */
  readonly #gone: Promise<unknown>;

  private constructor(name: string, child: ChildProcess, pid: number, gone: Promise<unknown>) {
    this.name = name;
    this.#child = child;
    this.#pid = pid;
    this.#gone = gone;
  }

  /** `base` has the folders and logs of all its races; nobody else has its name. */
  static async start(name: string, seat: Seat, base: string): Promise<Contender> {
    const script = bundled(new URL('contender.ts', import.meta.url));
    const [program = '', ...args] = seat(base, (seen) => [process.execPath, script, name, seen]);
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    const gone = once(child, 'exit');
    const [isReady] = await Promise.race([once(child, 'message'), gone.then(() => [])]);
    if (isReady === undefined) throw new Error(`${program} ended at once.`);
    return new Contender(name, child, seat === alone ? (child.pid ?? NaN) : programIn(child), gone);
  }

  get isGone(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Resolves when it has had the lock, is gone, or has failed. */
  compete(task: ContenderTask, onInside: () => void): Promise<ContenderMessage | 'gone'> {
    return new Promise((resolve) => {
      const settle = (outcome: ContenderMessage | 'gone'): void => {
        this.#child.off('message', hear);
        resolve(outcome);
      };
      const hear = (message: ContenderMessage): void => (message === 'inside' ? onInside() : settle(message));
      this.#child.on('message', hear);
      void this.#gone.then(() => settle('gone'));
      this.#child.send(task);
    });
  }

  /** Stops it, or lets it go on. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    if (!this.isGone) process.kill(this.#pid, name);
  }

  /** Resolves when it is gone. */
  async kill(): Promise<void> {
    if (!this.isGone) process.kill(this.#pid, 'SIGKILL');
    await this.#gone;
  }
}
