import { draws, fraction, hashText, pick, type Draw } from '../random.js';
import type { ReceiverFailure } from './receiverAnswer.js';

/** Failures by seed: whether a request meets one depends on the seed, its `webhook-id` and its attempt, never on time or order. */
export interface ReceiverFailures {
  /** Which share of the requests fails, 0 to 1. */
  readonly share: number;
  /** How often one `webhook-id` fails in a row; the next attempt is served. Default 3; `Infinity`: as the share wants it. */
  readonly max?: number;
  /** What they fail with, each equally often. Default: all that a word is enough for, but `'never'`. */
  readonly kinds?: readonly ReceiverFailure[];
}

/** One request's place among those with its `webhook-id`, and the failure that it meets. */
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
