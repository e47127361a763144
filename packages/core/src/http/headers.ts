import { ConfigError } from '../errors.js';

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
