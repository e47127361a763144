import { byCursor, listing } from '@sluice/core/define';
import { decodeStream, inStreamPage } from './decodeStream.js';
import { evmStreamSchema } from './evmStream.js';

/** Options of `client.streams.list`. */
export interface ListStreamsOptions {
  /** Rows per page, an integer from 1 to 100, the API's maximum. Default 100. */
  readonly pageSize?: number;
  /** The walk ends after this many rows. Default: no limit. */
  readonly maxRows?: number;
  /** A listing with more pages than this is an error. Default: no limit. */
  readonly maxPages?: number;
}

/**
 * All EVM streams of the project that the API key belongs to.
 *
 * @see the API's reference: GET /streams/evm
 */
export const streamListing = listing({
  ...evmStreamSchema,
  description: 'All EVM streams of the project that the key belongs to.',
  path: '/streams/evm',
  pageSize: { param: 'limit', default: 100, max: 100 },
  paging: { ...byCursor({ param: 'cursor', at: inStreamPage.cursor }), reads: [] },
  rows: inStreamPage.rows,
  responses: { 400: 'expired-cursor' },
  total: inStreamPage.total,
  decode: decodeStream,
  version: '1',
});
