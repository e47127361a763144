import { checkOptions } from '../checks.js';
import { ConfigError } from '../errors.js';
import { kindOf } from '../values.js';
import { documentPath } from './documentPath.js';
import { cursorOf, type Paging } from './paging.js';
import { placing } from './requestPlace.js';

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
 *   body: ({ query }: { query: string }) => ({
 *     query: 'query($query: String!, $after: String) { search(query: $query, type: REPOSITORY, first: 100, after: $after) { nodes { … } pageInfo { hasNextPage endCursor } } }',
 *     variables: { query },
 *   }),
 *   errors: graphqlErrors(),
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
  const { params, fields, put } = placing({ into });
  const pageInfo = connection === '' ? 'pageInfo' : `${connection}.pageInfo`;
  const [more, cursor] = [`${pageInfo}.hasNextPage`, `${pageInfo}.endCursor?`].map(documentPath);
  return {
    identity: { by: 'connection', at: connection, into },
    params,
    fields,
    reads: [],
    request: (first, from) => put(first, cursorOf(from)),
    next({ body, read }) {
      const follows = more?.find(body, read);
      if (typeof follows !== 'boolean') throw read.fault(more?.text ?? '', 'it is neither true nor false');
      if (!follows) return 'end';
      const found = read.cursor(cursor?.find(body, read), cursor?.text ?? '');
      if (found === undefined) throw read.fault(cursor?.text ?? '', 'more rows follow, but there is no cursor');
      return { cursor: found };
    },
  };
}
