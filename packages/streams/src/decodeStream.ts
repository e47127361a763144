import type { Answer, DocumentReader, FoundRows } from '@sluice/core';
import type { EvmStream } from './evmStream.js';

/**
 * Where an answer of the streams' listing holds what.
 *
 * Tolerant, since the reference and the live service differ: `result` may be a list, one record, `null` or absent. A `cursor` that is
 * `null`, empty or absent ends the listing; a short page does not.
 */
export const inStreamPage = {
  rows: ({ body, read }: Answer): FoundRows => {
    const document = read.recordWith(['result', 'cursor', 'total'], body, '');
    return { rows: read.rows(document['result']), at: 'result' };
  },
  cursor: ({ body, read }: Answer): string | undefined => read.cursor(read.record(body, '')['cursor'], 'cursor'),
  /** Only for show, so that a wrong one is none. */
  total: ({ body, read }: Answer): number | undefined => {
    const { total } = read.record(body, '');
    return typeof total === 'number' && Number.isSafeInteger(total) && total >= 0 ? total : undefined;
  },
};

/** @throws DecodeError with the place in the document; the same answer would come again, so it is not retried. */
export function decodeStream(value: unknown, path: string, read: DocumentReader): EvmStream {
  const row = read.record(value, path);
  if (!hasId(row)) throw read.fault(`${path}.id`, 'it is neither text nor a number that arrives whole');
  return row;
}

/** The other fields have no promised type, so nothing about them can be wrong. A rounded number may be the id of two streams. */
function hasId(row: Record<string, unknown>): row is Record<string, unknown> & { id: string | number } {
  const { id } = row;
  return typeof id === 'string' ? id !== '' : Number.isSafeInteger(id);
}
