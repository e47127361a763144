import { faultNames, faultsByName, type Fault, type FaultRates } from './faults.js';
import { draws, fraction, hashText, type Draw } from './random.js';

/** Draws faults by rate, depending only on the seed, the request and its attempt. */
export class FaultDraw {
  readonly #draw: Draw;
  readonly #shares: readonly (readonly [make: (word: number) => Fault, upTo: number])[];
  readonly #sent = new Map<string, { attempts: number; faultsInARow: number }>();

  constructor(seed: number, rates: FaultRates) {
    this.#draw = draws(seed, 'fault');
    let upTo = 0;
    this.#shares = faultNames.map((name) => [faultsByName[name], (upTo += rates[name] ?? 0)]);
  }

  /** The number of the next attempt of this request, from 1. */
  attempt(request: string): number {
    return (this.#sent.get(request)?.attempts ?? 0) + 1;
  }

  /** Counts an attempt and returns its fault, if any. */
  next(request: string): Fault | undefined {
    const attempts = this.attempt(request);
    const inARow = this.#sent.get(request)?.faultsInARow ?? 0;
    const word = this.#draw(hashText(`${attempts} ${request}`));
    const met = inARow < MOST_IN_A_ROW ? this.#shares.find(([, upTo]) => fraction(word) < upTo) : undefined;
    this.#remember(request, { attempts, faultsInARow: met === undefined ? 0 : inARow + 1 });
    return met?.[0](this.#draw(word));
  }

  #remember(request: string, sent: { attempts: number; faultsInARow: number }): void {
    // Deleted first, so that the map is in the order of the latest attempts.
    this.#sent.delete(request);
    this.#sent.set(request, sent);
    const [oldest] = this.#sent.keys();
    if (oldest !== undefined && this.#sent.size > REMEMBERED_REQUESTS) this.#sent.delete(oldest);
  }
}

const MOST_IN_A_ROW = 3;
const REMEMBERED_REQUESTS = 10_000;
