import { checkOptions } from '../../checks.js';
import { byCursor } from './byCursor.js';
import type { Paging } from './paging.js';
import { type BodyPlace, parsePlace, type QueryPlace } from '../requests/requestPlace.js';

/** Options of {@link byHeader}: where a request has the token, and which header of a response has the next one. */
export type HeaderOptions = (Omit<QueryPlace, 'header'> | Omit<BodyPlace, 'header'>) & {
  /** The header's name, e.g. `x-continuation-token`. */
  readonly header: string;
};

/**
 * Paging by a token (cursor) in a header of each response. A response without the header, or with an empty one, ends
 * the listing, so a misspelt name ends every listing after its first page. For an address in the `Link` header, use
 * `byLink`. If requests also have it in a header: `byCursor({ header, at: ({ headers }) => headers['x-token'] })`.
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
  const name = header.toLowerCase();
  return {
    ...byCursor({ ...place, at: ({ headers }) => headers[name] }),
    identity: { by: 'header', header: name, ...parsePlace(place).identity },
    reads: [name],
  };
}
