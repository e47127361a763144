import { documentReader, type DocumentReader, type FetchedPage } from '@sluice/core';
import { nftHoldingSchema, textFields, type NftHolding } from './nftHolding.js';

/**
 * Reads one answer of the wallets' endpoint.
 *
 * Tolerant, since the reference and the live service differ: `result` may be a list, one record, `null` or absent; `hasNextPage`
 * decides about the end where it is there, and the cursor where it is not.
 *
 * @throws DecodeError with the place in the document; the same answer would come again, so it is not retried.
 */
export function decodeNftPage(body: unknown, route: string): FetchedPage<NftHolding> {
  const read = documentReader(route);
  const document = read.recordWith(['result', 'cursor', 'hasNextPage'], body, '');
  const rows = read.rows(document['result']).map((row, index) => decodeNft(read, row, `result[${index}]`));
  return { rows, next: nextOf(read, document) };
}

function nextOf(read: DocumentReader, document: Record<string, unknown>): FetchedPage<NftHolding>['next'] {
  const hasNextPage = document['hasNextPage'] ?? undefined;
  if (hasNextPage !== undefined && typeof hasNextPage !== 'boolean')
    throw read.fault('hasNextPage', 'it is neither true nor false');
  if (hasNextPage === false) return 'end';
  const cursor = read.cursor(document['cursor'], 'cursor');
  if (cursor !== undefined) return { cursor };
  return hasNextPage ? 'by-offset' : 'end';
}

/** Checks a row's text and passes it on as it is, with all that it has besides. */
function decodeNft(read: DocumentReader, value: unknown, path: string): NftHolding {
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
