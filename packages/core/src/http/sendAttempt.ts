import type { Clock } from '../clock.js';
import { SluiceError } from '../errors.js';
import { abortable } from '../abortable.js';
import type { Adapter, AttemptAnswer, AttemptConfig } from './adapter/adapter.js';
import { AdapterFault } from './adapter/adapterFault.js';

export interface SendOptions {
  readonly adapter: Adapter;
  readonly clock: Clock;
  /** Ms until the last byte of the answer. */
  readonly deadline: number;
  /** Headers that nobody else gets to see. */
  readonly secret: Readonly<Record<string, string>>;
  /** Ends it at once: the promise rejects with `signal.reason`. */
  readonly signal: AbortSignal;
}

/**
 * Sends one attempt with its credentials, and waits for its answer.
 *
 * @returns the answer, or why there is none: `late` if the deadline passed.
 */
export async function sendAttempt(
  config: AttemptConfig,
  { adapter, clock, deadline, secret, signal }: SendOptions,
): Promise<AttemptAnswer | AdapterFault | 'late'> {
  const stopped = new AbortController();
  const stop = (): void => {
    stopped.abort();
  };
  signal.addEventListener('abort', stop, { once: true });
  const cancelDeadline = clock.after(deadline, stop);
  try {
    // Beside the request, and not on it: what links, retries and errors can see never holds the credentials.
    const { url, method, headers } = config;
    const data: unknown = config.data;
    const sent = {
      headers,
      data,
      signal: stopped.signal,
      ...(url !== undefined && { url }),
      ...(method && { method }),
    };
    const answer = await abortable(adapter.send(sent, secret), stopped.signal);
    return { ...answer, config };
  } catch (error) {
    signal.throwIfAborted();
    if (stopped.signal.aborted) return 'late';
    if (error instanceof SluiceError) throw error;
    return error instanceof AdapterFault ? error : new AdapterFault('network');
  } finally {
    cancelDeadline();
    signal.removeEventListener('abort', stop);
  }
}
