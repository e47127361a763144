import { expect, test } from 'vitest';
import type { Position } from '../../../src/index.js';
import { startHoldings } from '../../sandboxSource.js';

/** The rows and pages of each part that is begun. */
function countsOf({ begun, done, rows, pages }: Position): unknown {
  const partitions = Object.entries(begun).map(([partition, at]) => [partition, { rows: at.rows, pages: at.pages }]);
  return { rows, pages, partitions, done };
}

test(
  'P7 a walk that goes on from any of its positions counts on from there, in all and in each part',
  { tags: ['slow'] },
  async () => {
    const { list, sandbox } = await startHoldings({ holdings: 700 });
    const half = Math.ceil(sandbox.owners.length / 2);
    const source = list({ pageSize: 50, partitions: [sandbox.owners.slice(0, half), sandbox.owners.slice(half)] });
    const positions: Position[] = [];
    for await (const { position } of source.pages()) positions.push(position);
    expect(positions.length).toBeGreaterThan(10);
    for (const [at, startAt] of positions.entries()) {
      const later: Position[] = [];
      for await (const { position } of source.pages({ startAt })) later.push(position);
      expect(later.map(countsOf)).toEqual(positions.slice(at + 1).map(countsOf));
    }
  },
);
