import { documentReader, type DocumentReader, type FetchedPage } from '@sluice/core';
import type { EvmStream } from './evmStream.js';

/**
 * Reads one answer of the streams' listing.
 *
 * Tolerant, since the reference and the live service differ: `result` may be a list, one record, `null` or absent. A `cursor` that is
 * `null`, empty or absent ends the listing; a short page does not.
 *
 * @throws DecodeError with the place in the document; the same answer would come again, so it is not retried.
 */
export function decodeStreamPage(body: unknown, route: string): FetchedPage<EvmStream> {
  const read = documentReader(route);
  const document = read.recordWith(['result', 'cursor', 'total'], body, '');
  const rows = read.rows(document['result']).map((row, index) => decodeStream(read, row, `result[${index}]`));
  const cursor = read.cursor(document['cursor'], 'cursor');
  return { rows, next: cursor === undefined ? 'end' : { cursor }, total: countOf(document['total']) };
}

function decodeStream(read: DocumentReader, value: unknown, path: string): EvmStream {
  const row = read.record(value, path);
  if (!hasId(row)) throw read.fault(`${path}.id`, 'it is neither text nor a number that arrives whole');
  return row;
}

/**
 * The other fields have no promised type, so nothing about them can be wrong. A number beyond 2^53 arrives rounded: it may be the id
 * of two streams.
 */
function hasId(row: Record<string, unknown>): row is Record<string, unknown> & { id: string | number } {
  const { id } = row;
  return typeof id === 'string' ? id !== '' : typeof id === 'number' && Math.abs(id) <= Number.MAX_SAFE_INTEGER;
}

/** Only for show, so that a wrong one is none. */
function countOf(total: unknown): number | undefined {
  return typeof total === 'number' && Number.isSafeInteger(total) && total >= 0 ? total : undefined;
}
