import type { Clock } from '../clock.js';
import { SluiceError } from '../errors.js';
import { type Adapter, AdapterFault, type AttemptAnswer, type AttemptRequest } from './adapter/adapter.js';

interface SendOptions {
  readonly adapter: Adapter;
  readonly clock: Clock;
  readonly deadline: number;
  /** Ends it at once: the promise rejects with its signal's reason. The deadline ends it, too. */
  readonly stop: AbortController;
}

/**
 * Sends one attempt, and waits for its answer.
 *
 * @returns the answer, or why there is none: `late` if the deadline passed, whether or not the adapter stops at once.
 */
export function sendAttempt(
  request: AttemptRequest,
  { adapter, clock, deadline, stop }: SendOptions,
): Promise<AttemptAnswer | AdapterFault | 'late'> {
  return new Promise((resolve, reject) => {
    const cancelDeadline = clock.after(deadline, () => {
      resolve('late');
      stop.abort();
    });
    adapter.send({ ...request, signal: stop.signal }).then(
      (answer) => {
        cancelDeadline();
        // Of a body that does not count an adapter may answer what there was.
        if (stop.signal.aborted) reject(stop.signal.reason);
        else resolve(answer);
      },
      (error: unknown) => {
        cancelDeadline();
        if (stop.signal.aborted) reject(stop.signal.reason);
        else if (error instanceof AdapterFault) resolve(error);
        else if (error instanceof SluiceError) reject(error);
        else resolve(new AdapterFault('network'));
      },
    );
  });
}
