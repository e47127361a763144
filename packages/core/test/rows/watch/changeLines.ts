import type { Change } from '../../../src/index.js';
import type { RowFormat } from '../../../src/kit.js';
import type { Row } from './listing.js';

/** Changes as lines of JSON. */
export const changeLines: RowFormat<Change<Row>> = {
  name: 'change lines',
  identity: 'change lines',
  encoder: () => ({ header: '', encode: (rows) => rows.map((each) => `${JSON.stringify(each)}\n`).join('') }),
};

/** The changes in a file of them. */
export function changesIn(text = ''): Change<Row>[] {
  const lines = text.split('\n');
  if (lines.pop() !== '') throw new Error('The last line of the file is cut short.');
  return lines.map((line): Change<Row> => JSON.parse(line));
}
