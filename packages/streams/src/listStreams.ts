import { checkCount, createSource, type Endpoint, type Source } from '@sluice/core';
import { decodeStreamPage } from './decodeStreamPage.js';
import { evmStreamSchema, type EvmStream } from './evmStream.js';

/** What {@link listStreams} is asked for. */
export interface ListStreamsOptions {
  /** Rows a page, a whole number from 1 to 100, the API's maximum. Default 100. */
  readonly pageSize?: number;
  /** The walk ends after this many rows. Default: no bound. */
  readonly maxRows?: number;
  /** A listing with more pages than this is an error. Default: no bound. */
  readonly maxPages?: number;
}

const route = 'streams.list';
const largestPage = 100;

/**
 * All EVM streams of the project that the API key belongs to, as a source of rows.
 *
 * @throws ConfigError, before any request, if a size makes no sense.
 * @see the API's reference: GET /streams/evm
 */
export function listStreams(endpoint: Endpoint, options: ListStreamsOptions = {}): Source<EvmStream> {
  const { pageSize = largestPage, maxRows, maxPages } = options;
  checkCount('pageSize', pageSize, { most: largestPage });
  return createSource<EvmStream>({
    name: route,
    identity: { baseUrl: endpoint.baseUrl, pageSize, maxRows: maxRows ?? null },
    rowsIdentity: { baseUrl: endpoint.baseUrl, maxRows: maxRows ?? null },
    schema: evmStreamSchema,
    maxRows,
    maxPages,
    isSecret: (text) => endpoint.isSecret(text),
    keyFingerprint: (salt) => endpoint.keyFingerprint(salt),
    fetch: async ({ at, signal }) => {
      const query = { limit: pageSize, ...at };
      return decodeStreamPage(await endpoint.request({ route, path: '/streams/evm', query, signal }), route);
    },
  });
}
