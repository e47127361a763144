import { writeSync } from 'node:fs';
import type { ChildMessage } from './exportOrder.js';
import { Countdown, type FailPoint, type Moment } from './failPoint.js';
import { phaseOf, type FileRole, type Stage } from './operation.js';

/** The progress of this process's export, and where it dies. */
export class Life {
  stage: Stage = 'beginning';
  pagesWritten = 0;
  readonly #countdown: Countdown | undefined;

  constructor(point: FailPoint | undefined) {
    this.#countdown = point && new Countdown(point);
  }

  /** The operation at which this process must die, if any. */
  momentOf(call: string, file: FileRole): Moment | undefined {
    return this.#countdown?.next(phaseOf({ stage: this.stage, call, file }), this.pagesWritten);
  }

  /** Nothing is left to do. */
  async end(): Promise<void> {
    if (this.#countdown?.isOverdue) await this.die('at its very end');
  }

  /** Prints where to stdout, which outlives the process, and dies without clean-up. */
  die(where: string): Promise<never> {
    writeSync(1, `${JSON.stringify({ diesAt: where } satisfies ChildMessage)}\n`);
    process.kill(process.pid, 'SIGKILL');
    return new Promise(() => undefined);
  }
}
