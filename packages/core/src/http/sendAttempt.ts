import type { Clock } from '../clock.js';
import { SluiceError, ConfigError } from '../errors.js';
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

/** RFC 9110, 5.6.2. */
const headerName = /^[!#$%&'*+\-.^_`|~\w]+$/;
/** RFC 9110, 5.5: no control characters but the tab, and one byte each. */
const headerValue = /^[\t\x20-\x7E\x80-\xFF]*$/;

/**
 * All headers of an attempt, each once: names are in lower case, which is all the same to a server. What a link has set under the name of a
 * secret one is not sent, nor what it has set to nothing.
 *
 * @throws ConfigError if a link has set what no server would take for a header.
 */
export function sentHeaders(
  headers: Readonly<Record<string, string | number | boolean | null | undefined>>,
  secret: Readonly<Record<string, string>>,
): Record<string, string> {
  const sent = new Map<string, string>();
  for (const [given, set] of Object.entries(headers)) {
    const key = given.toLowerCase();
    if (set === undefined || set === null || set === false) {
      sent.delete(key);
      continue;
    }
    // A line end behind it is what reading it from a file leaves.
    const text = String(set).trim();
    if (!headerName.test(key) || !headerValue.test(text))
      throw new ConfigError(
        `A link gave the request a header that can not be sent (${JSON.stringify(given)}). Check its name and its value.`,
      );
    sent.set(key, text);
  }
  for (const [given, text] of Object.entries(secret)) sent.set(given.toLowerCase(), text);
  return Object.fromEntries(sent);
}
