import type { Answer, DocumentReader, FoundRows, Paging } from '@sluice/core';
import { nftHoldingSchema, textFields, type NftHolding } from './nftHolding.js';

/**
 * The rows in an answer of the wallets' endpoint.
 *
 * Tolerant, since the reference and the live service differ: `result` may be a list, one record, `null` or absent.
 *
 * @throws DecodeError with the place in the document; the same answer would come again, so it is not retried.
 */
export function findNfts({ body, read }: Answer): FoundRows {
  const document = read.recordWith(['result', 'cursor', 'hasNextPage'], body, '');
  return { rows: read.rows(document['result']), at: 'result' };
}

/**
 * `hasNextPage` decides about the end where it is there, and the cursor where it is not. Where more rows follow without a cursor, the
 * listing goes on by offset.
 */
export const nftPaging: Paging = {
  identity: 'cursor, or else offset',
  params: ['cursor', 'offset'],
  request: ({ path, query }, at) => ({ path, query: { ...query, ...at } }),
  next({ body, read }) {
    const document = read.record(body, '');
    const hasNextPage = document['hasNextPage'] ?? undefined;
    if (hasNextPage !== undefined && typeof hasNextPage !== 'boolean')
      throw read.fault('hasNextPage', 'it is neither true nor false');
    if (hasNextPage === false) return 'end';
    const cursor = read.cursor(document['cursor'], 'cursor');
    if (cursor !== undefined) return { cursor };
    return hasNextPage ? 'by-offset' : 'end';
  },
};

/** Checks a row's text and passes it on as it is, with all that it has besides. */
export function decodeNft(value: unknown, path: string, read: DocumentReader): NftHolding {
  const row = read.recordWith(nftHoldingSchema.columns, value, path);
  for (const field of textFields) {
    const text = row[field];
    if (typeof text === 'string' || text === null || text === undefined) continue;
    // A number where text is promised still says the same, as long as it arrived whole.
    if (typeof text !== 'number' || !Number.isSafeInteger(text)) throw read.fault(`${path}.${field}`, 'it is not text');
    row[field] = String(text);
  }
  return row;
}
