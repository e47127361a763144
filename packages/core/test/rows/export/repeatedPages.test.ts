import { expect, test } from 'vitest';
import { createSource, exportTo, memoryState, type Source } from '../../../src/index.js';
import { recordingSink } from '../sink/recordingSink.js';

interface Row {
  readonly id: number;
}

/** Pages 0 to 6, then 4 to 6 again and again. Each cursor is a new one, so that only the rows can tell. */
function circling(filter?: (row: Row) => boolean): Source<Row> {
  let asked = 0;
  return createSource<Row>({
    name: 'circling',
    identity: null,
    schema: { columns: ['id'] },
    ...(filter && { filter }),
    fetch({ at }) {
      asked += 1;
      const place = at && 'cursor' in at ? Number(at.cursor.split(' ')[0]) : 0;
      const page = place < 7 ? place : 4 + ((place - 4) % 3);
      return Promise.resolve({
        rows: [{ id: 2 * page }, { id: 2 * page + 1 }],
        next: { cursor: `${place + 1} ${asked}` },
      });
    },
  });
}

test.each([
  ['all rows', undefined, 14],
  ['the rows that a filter keeps', ({ id }: Row) => id % 2 === 0, 7],
])(
  'P4 a page that came again is refused by each later run, before its rows are taken: %s',
  async (_, filter, count) => {
    const state = memoryState();
    const sink = recordingSink<Row>();
    for (let run = 0; run < 3; run += 1) {
      const exporting = exportTo(circling(filter), sink, { state }).run();
      await expect(exporting).rejects.toMatchObject({ code: 'no-progress' });
      expect(sink.rows).toHaveLength(count);
    }
  },
);
