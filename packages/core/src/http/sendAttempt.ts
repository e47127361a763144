import type { Clock } from '../clock.js';
import { SluiceError, ConfigError } from '../errors.js';
import { type Adapter, AdapterFault, type AttemptResponse, type AttemptRequest } from './adapter/adapter.js';

interface SendOptions {
  readonly adapter: Adapter;
  readonly clock: Clock;
  readonly deadline: number;
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
  { adapter, clock, deadline, stop }: SendOptions,
): Promise<AttemptResponse | AdapterFault> {
  return new Promise((resolve, reject) => {
    const cancelDeadline = clock.after(deadline, () => {
      resolve(new AdapterFault('late'));
      stop.abort();
    });
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

/** RFC 9110, 5.6.2. */
const headerName = /^[!#$%&'*+\-.^_`|~\w]+$/;
/** RFC 9110, 5.5: no control characters but the tab, and one byte each. */
const headerValue = /^[\t\x20-\x7E\x80-\xFF]*$/;

/** Whether a header can be sent as it is. */
export function isHeader(name: string, value: string): boolean {
  return headerName.test(name) && headerValue.test(value);
}

/**
 * All headers of an attempt, each once, with names in lower case. Links may have set any value. A secret header replaces
 * one of the same name. `undefined`, `null` and `false` remove a header.
 *
 * @throws ConfigError if a link has set an invalid header.
 */
export function joinHeaders(
  headers: Readonly<Record<string, string | number | boolean | null | undefined>>,
  secret: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const sent = new Map<string, string>();
  for (const [given, set] of Object.entries(headers)) {
    const key = given.toLowerCase();
    if (set === undefined || set === null || set === false) {
      sent.delete(key);
      continue;
    }
    // Values read from files often end with a line break.
    const text = String(set).trim();
    if (!isHeader(key, text))
      throw new ConfigError(
        `A link gave the request a header that cannot be sent (${JSON.stringify(given)}). Check its name and its value.`,
      );
    sent.set(key, text);
  }
  for (const [given, text] of Object.entries(secret)) sent.set(given.toLowerCase(), text);
  return Object.fromEntries(sent);
}
