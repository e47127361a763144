/** A query parameter's value; `undefined` leaves the parameter out, an array repeats it. */
export type QueryValue = string | number | boolean | readonly string[] | undefined;
/** Query parameters by name; `undefined` is omitted. */
export type Query = Readonly<Record<string, QueryValue>>;

/** How arrays are encoded: `a[]=1&a[]=2` (default), `a=1&a=2`, `a[0]=1&a[1]=2` or `a=1,2`. */
export type ArrayFormat = 'brackets' | 'repeat' | 'indices' | 'comma';

/**
 * Writes a query string, without the question mark, percent-encoded as forms are (WHATWG URL, section 5.2).
 *
 * @example encodeQuery({ limit: 2, owner: ['a', 'b'] }, 'repeat') // 'limit=2&owner=a&owner=b'
 */
export function encodeQuery(query: Query, arrays: ArrayFormat): string {
  const encoded = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    if (typeof value !== 'object') encoded.append(name, String(value));
    else if (arrays === 'comma') encoded.append(name, value.join(','));
    else value.forEach((item, index) => encoded.append(arrayName(name, index, arrays), item));
  }
  return encoded.toString();
}

function arrayName(name: string, index: number, arrays: Exclude<ArrayFormat, 'comma'>): string {
  if (arrays === 'repeat') return name;
  return arrays === 'brackets' ? `${name}[]` : `${name}[${String(index)}]`;
}

/**
 * Whether a query can be sent as it is: an address of visible ASCII characters (RFC 9112, 3.2), without a fragment. So
 * it may have quotes and brackets, which a `URL` would encode.
 */
export function isSendableQuery(query: string): boolean {
  return /^[!"$-~]*$/.test(query);
}

/** A query as it was written, without one parameter. A question mark before it is kept while something follows. */
export function withoutParam(query: string, param: string): string {
  const kept = query
    .replace(/^\?/, '')
    .split('&')
    .filter((part) => !new URLSearchParams(part).has(param));
  const rest = kept.join('&');
  return rest === '' ? '' : `${query.startsWith('?') ? '?' : ''}${rest}`;
}
