import { checkOptions } from '../../checks.js';
import type { ReceivedResponse } from '../../http/response/responses.js';
import { isList, isRecord, kindOf } from '../../values.js';

/** Options of {@link graphqlErrors}. */
export interface GraphqlErrorOptions {
  /**
   * Accepts a response with both `data` and errors, without the rows that are `null`. Then the walk is incomplete: a
   * watch concludes no removals from it, and the client emits a warning. Default `false`.
   */
  readonly allowPartial?: boolean;
}

/** The meaning of a response with errors. */
export interface GraphqlMeaning {
  readonly kind: 'rate-limited' | 'partial' | 'retry' | 'final';
  readonly message: string;
}

/**
 * Finds the errors of GraphQL, mostly with status 200, for `responses`: a response with a non-empty `errors` fails.
 *
 * It knows the codes of common servers, in `extensions.code` or `type`. `THROTTLED`, `RATE_LIMITED` and the like pause
 * the API like a 429, also with `allowPartial`. `INTERNAL_SERVER_ERROR`, `SERVICE_UNAVAILABLE` and `TIMEOUT` are
 * retried like a 503. Any other error is final.
 *
 * @example
 * listing({
 *   method: 'POST',
 *   path: '/graphql',
 *   body: { query: 'query ($after: String) { users(after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }' },
 *   responses: graphqlErrors({ allowPartial: true }),
 *   paging: byConnection('data.users'),
 *   rows: 'data.users.nodes',
 *   columns: ['id'],
 * });
 *
 * @see https://spec.graphql.org/October2021/#sec-Errors
 */
export function graphqlErrors(
  options: GraphqlErrorOptions = {},
): (response: Pick<ReceivedResponse, 'body'>) => GraphqlMeaning | undefined {
  checkOptions('graphqlErrors()', options, { allowPartial: 'a boolean?' });
  const { allowPartial = false } = options;
  return ({ body }) => {
    if (!isRecord(body)) return undefined;
    const { errors, data } = body;
    if (errors === undefined || errors === null || (isList(errors) && errors.length === 0)) return undefined;
    const all = isList(errors) ? errors : [errors];
    const codes = all.slice(0, maxErrors).map(readCode);
    return { kind: classifyErrors(codes, allowPartial && isRecord(data)), message: describeErrors(all) };
  };
}

/** How many errors are read. A server may send one for each row. */
const maxErrors = 1_000;

const limits = new Set(['THROTTLED', 'RATELIMITED', 'RATELIMIT', 'RATELIMITEXCEEDED', 'TOOMANYREQUESTS']);
const temporary = new Set(['INTERNALSERVERERROR', 'SERVICEUNAVAILABLE', 'TIMEOUT', 'GATEWAYTIMEOUT']);

function classifyErrors(codes: readonly string[], isPartial: boolean): GraphqlMeaning['kind'] {
  if (codes.some((code) => limits.has(code))) return 'rate-limited';
  if (isPartial) return 'partial';
  return codes.length > 0 && codes.every((code) => temporary.has(code)) ? 'retry' : 'final';
}

/** The code of an error, without case and separators, which differ between servers. */
function readCode(error: unknown): string {
  if (!isRecord(error)) return '';
  const { extensions, type } = error;
  const code = (isRecord(extensions) ? extensions['code'] : undefined) ?? type;
  return typeof code === 'string' ? code.replace(/[-_ ]/g, '').toUpperCase() : '';
}

function describeErrors([first, ...others]: readonly unknown[]): string {
  const message = isRecord(first) ? first['message'] : first;
  const text = typeof message === 'string' ? message : `its message is ${kindOf(message)}`;
  return others.length === 0 ? text : `${text} (and ${others.length} more)`;
}
