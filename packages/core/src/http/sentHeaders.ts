import { ConfigError } from '../errors.js';

/** RFC 9110, 5.6.2. */
const name = /^[!#$%&'*+\-.^_`|~\w]+$/;
/** RFC 9110, 5.5: no control characters but the tab, and one byte each. */
const value = /^[\t\x20-\x7E\x80-\xFF]*$/;

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
    if (!name.test(key) || !value.test(text))
      throw new ConfigError(
        `A link gave the request a header that can not be sent (${JSON.stringify(given)}). Check its name and its value.`,
      );
    sent.set(key, text);
  }
  for (const [given, text] of Object.entries(secret)) sent.set(given.toLowerCase(), text);
  return Object.fromEntries(sent);
}
