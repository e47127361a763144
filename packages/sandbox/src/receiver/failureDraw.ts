import { draws, fraction, hashText, pick, type Draw } from '../random.js';
import type { ReceiverFailure } from './receiverAnswer.js';

/** Seeded failures: they depend only on the seed, the `webhook-id` and its attempt, not on time or order. */
export interface ReceiverFailures {
  /** Share of the requests that fail, 0 to 1. */
  readonly share: number;
  /** Maximum number of consecutive failures of one `webhook-id`. Default 3; `Infinity`: only the share decides. */
  readonly max?: number;
  /** The failures, each equally often. Default: all that are a string, except `'never'`. */
  readonly kinds?: readonly ReceiverFailure[];
}

/** The number of a request with its `webhook-id`, and its failure. */
export interface Attempt {
  /** From 1. */
  readonly attempt: number;
  readonly failure: ReceiverFailure | undefined;
}

/** Counts attempts and draws their failures. */
export class FailureDraw {
  readonly #failures: Required<ReceiverFailures>;
  readonly #draw: Draw;
  readonly #sent = new Map<string, { attempts: number; failuresInARow: number }>();

  constructor(seed: number, failures: Required<ReceiverFailures>) {
    this.#failures = failures;
    this.#draw = draws(seed, 'delivery');
  }

  next(id: string): Attempt {
    let sent = this.#sent.get(id);
    if (sent === undefined) this.#sent.set(id, (sent = { attempts: 0, failuresInARow: 0 }));
    const attempt = ++sent.attempts;
    const { share, max, kinds } = this.#failures;
    const word = this.#draw(hashText(`${attempt} ${id}`));
    if (sent.failuresInARow >= max || fraction(word) >= share) {
      sent.failuresInARow = 0;
      return { attempt, failure: undefined };
    }
    sent.failuresInARow++;
    return { attempt, failure: pick(kinds, word) };
  }
}
