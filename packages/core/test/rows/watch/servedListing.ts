import { createSource, type Source } from '../../../src/index.js';
import type { Row } from './listing.js';

/** The listing of a {@link RestlessServer}. */
export function servedListing(url: string): Source<Row> {
  return createSource<Row>({
    name: 'test.served',
    identity: null,
    schema: { columns: ['id', 'status'], key: ({ id }) => id },
    async fetch({ at, signal }) {
      const answer = await fetch(`${url}/?from=${at && 'cursor' in at ? at.cursor : '0'}`, { signal });
      return answer.json() as Promise<{ rows: Row[]; next: { cursor: string } | 'end' }>;
    },
  });
}
