/** Longer tags are ignored: servers refuse requests with more than 8 to 16 KiB of headers. */
const longestTag = 8192;

/** RFC 9110, 8.8.3, without the bytes beyond ASCII, which platforms decode differently. */
const form = /^(?:W\/)?"[\x21\x23-\x7e]*"$/;

/**
 * The entity tag of a response, to be sent as `If-None-Match`. That header compares weakly (RFC 9110, 13.1.2), so a
 * weak tag is as good as a strong one.
 *
 * @returns `undefined` if there is none, or it is too long or malformed
 */
export function entityTagOf(headers: Readonly<Record<string, string>>): string | undefined {
  const tag = headers['etag'];
  return tag !== undefined && tag.length <= longestTag && form.test(tag) ? tag : undefined;
}

/** Whether two tags name the same content, whatever its compression: servers mark the variants, e.g. `"1a-gzip"`. */
export function isSameTag(one: string, other: string): boolean {
  return dropVariant(one) === dropVariant(other);
}

function dropVariant(tag: string): string {
  return tag.replace(/^W\//, '').replace(/--?(?:gzip|br|deflate|zstd)"$/, '"');
}

/** Whether a request lets the server answer that nothing changed. Links may have set or removed its headers. */
export function isConditional(headers: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(headers).some(
    ([name, value]) => /^if-(none-match|modified-since)$/i.test(name) && Boolean(value),
  );
}

/** The tag that a request sent, if it is one. */
export function sentTag(headers: Readonly<Record<string, unknown>>): string | undefined {
  const [, tag] = Object.entries(headers).find(([name]) => name.toLowerCase() === 'if-none-match') ?? [];
  return typeof tag === 'string' && form.test(tag) ? tag : undefined;
}
