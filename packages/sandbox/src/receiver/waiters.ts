/** Those who wait for a condition to hold. */
export class Waiters {
  #dismissal: Error | undefined;
  readonly #waiting = new Set<{ condition: () => boolean; resolve: () => void; reject: (reason: Error) => void }>();

  /** Resolves as soon as the condition holds; it is asked at once, and at each `tell`. */
  until(condition: () => boolean): Promise<void> {
    if (condition()) return Promise.resolve();
    if (this.#dismissal !== undefined) return Promise.reject(this.#dismissal);
    return new Promise((resolve, reject) => this.#waiting.add({ condition, resolve, reject }));
  }

  /** Something happened: asks all conditions. */
  tell(): void {
    for (const waiter of this.#waiting) {
      if (!waiter.condition()) continue;
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
  }

  /** Nothing will happen any more: rejects those who wait, and those who still come for what does not hold. */
  dismiss(reason: Error): void {
    this.#dismissal = reason;
    for (const { reject } of this.#waiting) reject(reason);
    this.#waiting.clear();
  }
}
