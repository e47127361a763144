import { hashText, type Draw } from './served/random.js';

/** How often a request was sent. */
interface Sent {
  readonly attempts: number;
  readonly faultsInARow: number;
}

interface FaultDrawOptions<F> {
  /** The fault for a random word; `another` is random too. */
  readonly pick: (word: number, another: number) => F | undefined;
  readonly maxInARow: number;
  /** How many requests are remembered, to bound memory. */
  readonly remembered: number;
}

/** Draws faults, depending only on the seed, the request and its attempt, not on time or order. */
export class FaultDraw<F> {
  readonly #draw: Draw;
  readonly #options: FaultDrawOptions<F>;
  readonly #sent = new Map<string, Sent>();

  constructor(draw: Draw, options: FaultDrawOptions<F>) {
    this.#draw = draw;
    this.#options = options;
  }

  /** The number of the next attempt of this request, from 1. */
  attempt(request: string): number {
    return (this.#sent.get(request)?.attempts ?? 0) + 1;
  }

  /** Counts an attempt and returns its fault, if any. */
  next(request: string): F | undefined {
    const { pick, maxInARow, remembered } = this.#options;
    const attempts = this.attempt(request);
    const inARow = this.#sent.get(request)?.faultsInARow ?? 0;
    const word = this.#draw(hashText(`${attempts} ${request}`));
    const fault = inARow < maxInARow ? pick(word, this.#draw(word)) : undefined;
    // Deleted first, so that the map is in the order of the latest attempts.
    this.#sent.delete(request);
    this.#sent.set(request, { attempts, faultsInARow: fault === undefined ? 0 : inARow + 1 });
    const [oldest] = this.#sent.keys();
    if (oldest !== undefined && this.#sent.size > remembered) this.#sent.delete(oldest);
    return fault;
  }
}
