/** Text without any of the secrets, as they are and percent-encoded. The library's own messages never hold one; other text might. */
export function scrubbed(text: string, secrets: Iterable<string>): string {
  const forms = [...secrets].flatMap((secret) => [secret, encodeURIComponent(secret)]);
  return forms
    .filter((form) => form !== '')
    .sort((a, b) => b.length - a.length)
    .reduce((clean, form) => clean.replaceAll(form, '[hidden]'), text);
}
