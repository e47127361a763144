import { isPast, isRepeated, type Phase } from './phases.js';

/**
 * When a process dies at an operation. Only a write can be half done: half of its bytes. Other operations are complete
 * then.
 */
export type Moment = 'before' | 'half-way' | 'after';

/** The operation at which a process dies. */
export interface FailPoint {
  readonly phase: Phase;
  /** Pages that the run has written by then. */
  readonly afterPages: number;
  /**
   * Which operation of the phase it is from there on, from 1. In a phase that a run passes once: its end if it has
   * fewer.
   */
  readonly nth: number;
  readonly moment: Moment;
}

/** Counts operations up to a fail point. */
export class Countdown {
  readonly #point: FailPoint;
  #seen = 0;

  constructor(point: FailPoint) {
    this.#point = point;
  }

  /** Called at each operation: when to die at it, if at all. */
  next(phase: Phase, pagesWritten: number): Moment | undefined {
    const { phase: aim, afterPages, nth, moment } = this.#point;
    if (phase !== aim) return this.#isBegun && !isRepeated(aim) && isPast(phase, aim) ? 'before' : undefined;
    if (pagesWritten < afterPages) return undefined;
    this.#seen += 1;
    return this.#seen === nth ? moment : undefined;
  }

  /** Called when nothing is left to do: whether that ends the phase. */
  get isOverdue(): boolean {
    return this.#isBegun && !isRepeated(this.#point.phase);
  }

  get #isBegun(): boolean {
    return this.#seen > 0;
  }
}
