import { fork, type ChildProcess } from 'node:child_process';
import { createWriteStream, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { bundled } from '../../scripts/bundled.js';
import type { WorkerMessage, WorkerTask } from './messages.js';

interface Member {
  readonly process: ChildProcess;
  isStopped: boolean;
}

/** Ms until a worker that has died is started again, as a service manager does. */
const startAgainAfter = 100;

/** Worker processes. Whoever dies is replaced. What they print is kept. */
export class Crew {
  readonly #task: () => WorkerTask;
  readonly #onMessage: (message: WorkerMessage) => void;
  readonly #members = new Set<Member>();
  readonly #log: WriteStream;
  readonly logFile: string;
  #isEnding = false;

  constructor(folder: string, task: () => WorkerTask, onMessage: (message: WorkerMessage) => void) {
    this.#task = task;
    this.#onMessage = onMessage;
    this.logFile = join(folder, 'workers.log');
    this.#log = createWriteStream(this.logFile);
  }

  start(): void {
    if (this.#isEnding) return;
    const child = fork(bundled(new URL('worker.ts', import.meta.url)), [JSON.stringify(this.#task())], {
      silent: true,
    });
    const member: Member = { process: child, isStopped: false };
    this.#members.add(member);
    child.stdout?.pipe(this.#log, { end: false });
    child.stderr?.pipe(this.#log, { end: false });
    child.on('message', this.#onMessage);
    child.once('exit', () => {
      this.#members.delete(member);
      if (!this.#isEnding) setTimeout(() => this.start(), startAgainAfter);
    });
  }

  /** The workers that are not stopped. */
  get awake(): readonly Member[] {
    return [...this.#members].filter(({ isStopped }) => !isStopped);
  }

  kill(member: Member): void {
    member.process.kill('SIGKILL');
  }

  /** Stops a worker, and continues it after so many ms. */
  stop(member: Member, ms: number): void {
    member.isStopped = true;
    member.process.kill('SIGSTOP');
    setTimeout(() => {
      member.isStopped = false;
      member.process.kill('SIGCONT');
    }, ms);
  }

  /** Waits until all that were stopped have gone on, and ends all. */
  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(
      Array.from(this.#members, async ({ process }) => {
        const ended = new Promise((resolve) => process.once('exit', resolve));
        process.kill('SIGKILL');
        await ended;
      }),
    );
    await new Promise((resolve) => this.#log.end(resolve));
  }
}
