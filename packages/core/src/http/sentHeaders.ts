/**
 * All headers of an attempt, each once: names are in lower case, which is all the same to a server. What a link has set under the name of a
 * secret one is not sent, nor what it has set to nothing.
 */
export function sentHeaders(
  headers: Readonly<Record<string, string | number | null | undefined>>,
  secret: Readonly<Record<string, string>>,
): Record<string, string> {
  const sent: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && value !== null) sent[name.toLowerCase()] = String(value);
  for (const [name, value] of Object.entries(secret)) sent[name.toLowerCase()] = value;
  return sent;
}
