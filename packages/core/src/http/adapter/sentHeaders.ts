import type { AttemptConfig } from './adapter.js';

/** All headers of an attempt. What a link has set under the name of a secret one is not sent. */
export function sentHeaders(
  { headers }: Pick<AttemptConfig, 'headers'>,
  secret: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const taken = new Set(Object.keys(secret).map((name) => name.toLowerCase()));
  const sent: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers.toJSON())) {
    if (!taken.has(name.toLowerCase())) sent[name] = String(value);
  }
  return Object.assign(sent, secret);
}
