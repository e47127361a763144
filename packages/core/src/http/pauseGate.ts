import { sleep, type Clock } from '../clock.js';

/** A gate that can be shut for a while. */
export class PauseGate {
  readonly #clock: Clock;
  #until = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Shuts the gate for `ms` from now; it never shortens a pause. */
  shut(ms: number): void {
    this.#until = Math.max(this.#until, this.#clock.monotonic() + ms);
  }

  get remaining(): number {
    return Math.max(0, this.#until - this.#clock.monotonic());
  }

  /** Resolves when the gate is open, also if the pause grew in the meantime. */
  async pass(signal?: AbortSignal): Promise<void> {
    while (this.remaining > 0) await sleep(this.#clock, this.remaining, signal);
  }
}
