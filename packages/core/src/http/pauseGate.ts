import type { Clock } from '../clock.js';

/** A gate that can be shut for a while. Waiters pass in order of arrival. */
export class PauseGate {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #until = -Infinity;
  #cancelTimer = (): void => undefined;

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

  /** Resolves when the gate is open, even if the pause was extended meanwhile. */
  pass(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      // Waiters that have not been resolved yet go first, even if the pause is over.
      if (this.remaining === 0 && this.#waiting.size === 0) {
        resolve();
        return;
      }
      const leave = (): void => {
        this.#waiting.delete(enter);
        signal?.removeEventListener('abort', onAbort);
        if (this.#waiting.size === 0) this.#cancelTimer();
      };
      const enter = (): void => {
        leave();
        resolve();
      };
      const onAbort = (): void => {
        leave();
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(enter);
      if (this.#waiting.size === 1) this.#wakeLater();
    });
  }

  #wakeLater(): void {
    this.#cancelTimer = this.#clock.after(this.remaining, () => {
      if (this.remaining > 0) this.#wakeLater();
      else for (const enter of this.#waiting) enter();
    });
  }
}
