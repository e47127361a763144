interface Waiting {
  readonly below: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Knows up to where numbered things are all settled, though they settle in any order. */
export class SettledMark {
  #next: number;
  readonly #ahead = new Set<number>();
  #waiting: Waiting[] = [];
  #failure: { readonly error: unknown } | undefined;

  /** @param next the first number that is not settled. */
  constructor(next: number) {
    this.#next = next;
  }

  /** All below are settled. */
  get next(): number {
    return this.#next;
  }

  settle(number: number): void {
    if (number < this.#next) return;
    this.#ahead.add(number);
    while (this.#ahead.delete(this.#next)) this.#next += 1;
    const isReached = ({ below }: Waiting): boolean => below <= this.#next;
    for (const { resolve } of this.#waiting.filter(isReached)) resolve();
    this.#waiting = this.#waiting.filter((each) => !isReached(each));
  }

  /** Nothing more will settle: whoever waits, now or later, is told why. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    for (const { reject } of this.#waiting) reject(this.#failure.error);
    this.#waiting = [];
  }

  /** Resolves when all below a number are settled. @throws why that will never be. */
  until(below: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#failure) reject(this.#failure.error);
      else if (below <= this.#next) resolve();
      else this.#waiting.push({ below, resolve, reject });
    });
  }
}
