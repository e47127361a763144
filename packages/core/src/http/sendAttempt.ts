import type { Clock } from '../clock.js';
import { SluiceError } from '../errors.js';
import type { Adapter, AttemptAnswer, AttemptConfig } from './adapter/adapter.js';
import { AdapterFault } from './adapter/adapterFault.js';

export interface SendOptions {
  readonly adapter: Adapter;
  readonly clock: Clock;
  /** Ms until the last byte of the answer. */
  readonly deadline: number;
  /** Headers that nobody else gets to see. */
  readonly secret: Readonly<Record<string, string>>;
  /** Ends it at once: the promise rejects with its signal's reason. The deadline ends it, too. */
  readonly stop: AbortController;
}

/**
 * Sends one attempt with its credentials, and waits for its answer.
 *
 * @returns the answer, or why there is none: `late` if the deadline passed, whether or not the adapter stops at once.
 */
export function sendAttempt(
  config: AttemptConfig,
  { adapter, clock, deadline, secret, stop }: SendOptions,
): Promise<AttemptAnswer | AdapterFault | 'late'> {
  return new Promise((resolve, reject) => {
    const cancelDeadline = clock.after(deadline, () => {
      resolve('late');
      stop.abort();
    });
    // Beside the request, and not on it: what links, retries and errors can see never holds the credentials.
    adapter.send(sentConfig(config, stop.signal), secret).then(
      (answer) => {
        cancelDeadline();
        // Of a body that does not count an adapter may answer what there was.
        if (stop.signal.aborted) reject(stop.signal.reason);
        else resolve({ ...answer, config });
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

/** What an adapter needs to know of it. */
function sentConfig(config: AttemptConfig, signal: AbortSignal): AttemptConfig {
  const { url, method, headers } = config;
  const data: unknown = config.data;
  const sent: AttemptConfig = { headers, data, signal };
  if (url !== undefined) sent.url = url;
  if (method) sent.method = method;
  return sent;
}
