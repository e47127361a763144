import type { ReadableResponse, FoundRows, Paging } from '@sluice/core/define';
import type { DocumentReader } from '@sluice/core/define';
import { nftHoldingSchema, textFields, type NftHolding } from './nftHolding.js';

/**
 * Finds the rows: `result` may be a list, one record, `null` or absent, as reference and live service differ.
 *
 * @throws DecodeError with the path in the document. It is not retried: a retry would get the same response.
 */
export function findNfts({ body, read }: ReadableResponse): FoundRows {
  const document = read.recordWith(['result', 'cursor', 'hasNextPage'], body, '');
  return { rows: read.rows(document['result']), at: 'result?' };
}

/** `hasNextPage` says whether more rows follow; without it, the cursor does. More rows without a cursor: by offset. */
export const nftPaging: Paging = {
  identity: 'cursor, or else offset',
  params: ['cursor', 'offset'],
  reads: [],
  namesNext: true,
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

const isTextField = new Set<string>(textFields);

/** Checks the text fields of a row. Other fields are kept as they are. */
export function decodeNft(value: unknown, path: string, read: DocumentReader): NftHolding {
  const row = read.recordWith(nftHoldingSchema.columns, value, path);
  // Reading the fields that a row has takes a fraction of the time of looking for each of them.
  for (const field in row) {
    const text = row[field];
    if (typeof text === 'string' || text === null || text === undefined || !isTextField.has(field)) continue;
    // The API documents text. A safe integer is accepted too, because it has lost no digits.
    if (typeof text !== 'number' || !Number.isSafeInteger(text)) throw read.fault(`${path}.${field}`, 'it is not text');
    row[field] = String(text);
  }
  return row;
}
