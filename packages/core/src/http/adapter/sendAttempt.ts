import { afterRunning, type Clock } from '../../clock.js';
import { SluiceError } from '../../errors.js';
import { type Adapter, AdapterFault, type AttemptResponse, type AttemptRequest } from './adapter.js';

interface SendOptions {
  readonly adapter: Adapter;
  readonly clock: Clock;
  readonly deadline: number;
  /** Called if the process stood still at the deadline, which begins again then. */
  readonly onLate: () => void;
  /** Its signal is the request's. It aborts the attempt: the promise rejects with its reason. So does the deadline. */
  readonly stop: AbortController;
}

/**
 * Sends one attempt and waits for its response.
 *
 * @returns the response, or why there is none; after the deadline, whether or not the adapter stops at once
 */
export function sendAttempt(
  request: AttemptRequest,
  { adapter, clock, deadline, onLate, stop }: SendOptions,
): Promise<AttemptResponse | AdapterFault> {
  return new Promise((resolve, reject) => {
    const onDeadline = (): void => {
      resolve(new AdapterFault('late'));
      stop.abort();
    };
    const cancelDeadline = afterRunning(clock, deadline, onDeadline, { onLate });
    adapter.send(request).then(
      (response) => {
        cancelDeadline();
        // An adapter that reads only the beginning of a body may resolve in spite of the abort.
        if (stop.signal.aborted) reject(stop.signal.reason);
        else resolve(response);
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
