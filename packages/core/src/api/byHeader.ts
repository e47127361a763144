import { checkOptions } from '../checks.js';
import { cursorOf, type Paging } from './paging.js';
import { placing, type RequestPlace } from './requestPlace.js';

/** Options of {@link byHeader}: where a request has the token, and which header of a response has the next one. */
export type HeaderOptions = RequestPlace & {
  /** The header's name, e.g. `x-continuation-token`. */
  readonly header: string;
};

/**
 * Paging by a token (cursor) in a header of each response. A response without the header, or with an empty one, ends
 * the listing, so a misspelt name ends every listing after its first page. For an address in the `Link` header, use
 * `byLink`.
 *
 * In browsers, a server of another origin must expose the header (`Access-Control-Expose-Headers`), or the first page
 * seems to be the only one.
 *
 * @example
 * byHeader({ header: 'x-continuation-token', param: 'continuationToken' })
 *
 * @throws ConfigError if the place in the request is invalid.
 */
export function byHeader(options: HeaderOptions): Paging {
  checkOptions('byHeader()', options, { param: 'text?', into: 'text?', header: 'text' });
  const { header, ...place } = options;
  const { identity, params, fields, put } = placing(place);
  const name = header.toLowerCase();
  return {
    identity: { by: 'header', header: name, ...identity },
    params,
    fields,
    reads: [name],
    request: (first, from) => put(first, cursorOf(from)),
    next({ headers, read }) {
      const token = read.cursor(headers[name], `the ${name} header`);
      return token === undefined ? 'end' : { cursor: token };
    },
  };
}
