import type { Clock } from '../clock.js';

/** A gate that can be shut for a while. Who waits passes in the order of coming. */
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

  /** Resolves when the gate is open, also if the pause grew in the meantime. */
  pass(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      // Whoever came before and has not been called yet goes first, even if the pause is over.
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
