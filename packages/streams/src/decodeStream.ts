import type { ReadableResponse, FoundRows } from '@sluice/core/define';
import type { DocumentReader } from '@sluice/core/define';
import type { EvmStream } from './evmStream.js';

/**
 * Reads a page of the listing. The reference and the live service differ, so `result` may be a list, one record, `null`
 * or absent. A `cursor` that is `null`, empty or absent ends the listing; a short page does not.
 */
export const inStreamPage = {
  rows: ({ body, read }: ReadableResponse): FoundRows => {
    const document = read.recordWith(['result', 'cursor', 'total'], body, '');
    return { rows: read.rows(document['result']), at: 'result?' };
  },
  cursor: ({ body, read }: ReadableResponse): string | undefined =>
    read.cursor(read.record(body, '')['cursor'], 'cursor'),
  /** Only displayed and compared, so an invalid total is ignored. */
  total: ({ body, read }: ReadableResponse): number | undefined => {
    const { total } = read.record(body, '');
    return typeof total === 'number' && Number.isSafeInteger(total) && total >= 0 ? total : undefined;
  },
};

/** @throws DecodeError with the path in the document. It is not retried: a retry would get the same response. */
export function decodeStream(value: unknown, path: string, read: DocumentReader): EvmStream {
  const row = read.record(value, path);
  if (!hasId(row)) throw read.fault(`${path}.id`, 'it is neither text nor a safe integer');
  return row;
}

/** Other fields are not checked. An unsafe integer is refused, because rounding can give two streams the same id. */
function hasId(row: Record<string, unknown>): row is Record<string, unknown> & { id: string | number } {
  const { id } = row;
  return typeof id === 'string' ? id !== '' : Number.isSafeInteger(id);
}
