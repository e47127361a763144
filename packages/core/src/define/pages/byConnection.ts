import { checkOptions } from '../../checks.js';
import { ConfigError } from '../../errors.js';
import { kindOf } from '../../values.js';
import { byCursor } from './byCursor.js';
import type { Paging } from './paging.js';

/** Options of {@link byConnection}. */
export interface ConnectionOptions {
  /** Where the request's body has the cursor. Default `variables.after`. */
  readonly into?: string;
}

/**
 * Paging through a GraphQL connection: the query selects `pageInfo { hasNextPage endCursor }`, and has a variable for
 * the cursor.
 *
 * Only `hasNextPage` ends the listing: `true` without a cursor is an error, and so is a value that is neither `true` nor
 * `false`. As with `byCursor`, the API decides what happens to rows that move during a walk.
 *
 * @param connection the connection's path in the response, e.g. `data.search`. Parts that are missing are an error.
 *
 * @example
 * listing({
 *   method: 'POST',
 *   path: '/graphql',
 *   body: {
 *     query: 'query($query: String!, $after: String) { search(query: $query, type: REPOSITORY, first: 100, after: $after) { nodes { … } pageInfo { hasNextPage endCursor } } }',
 *     variables: { query: '{query}' },
 *   },
 *   responses: graphqlErrors(),
 *   paging: byConnection('data.search'),
 *   rows: 'data.search.nodes',
 *   columns: ['name'],
 * });
 *
 * @see https://relay.dev/graphql/connections.htm
 *
 * @throws ConfigError if a path is invalid. Later: DecodeError if a response does not say how to continue.
 */
export function byConnection(connection: string, options: ConnectionOptions = {}): Paging {
  checkOptions('byConnection()', options, { into: 'text?' });
  if (typeof connection !== 'string')
    throw new ConfigError(`The connection of byConnection() is ${kindOf(connection)}, and must be a path, as text.`);
  const { into = 'variables.after' } = options;
  const pageInfo = connection === '' ? 'pageInfo' : `${connection}.pageInfo`;
  return {
    ...byCursor({ into, at: `${pageInfo}.endCursor?`, more: `${pageInfo}.hasNextPage` }),
    identity: { by: 'connection', at: connection, into },
  };
}
