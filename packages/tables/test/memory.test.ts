import { fork } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { bundled } from '../../../scripts/bundled.js';
import { describeDatabases } from './databases.js';

const script = new URL('children/exportMany.ts', import.meta.url);

/** The peak RSS, in bytes, of an export of so many rows through a heap of so many MB; NaN if they do not fit in. */
async function peakOf(place: string, rows: number, heap = 64): Promise<number> {
  const child = fork(bundled(script), [place, String(rows)], { execArgv: [`--max-old-space-size=${heap}`] });
  const [peak]: unknown[] = await Promise.race([once(child, 'message'), once(child, 'exit')]);
  return Number(peak);
}

describeDatabases('$name', ({ open }) => {
  test(
    'D6 a million rows take no more memory than 100,000, but for less than 32 bytes each',
    { tags: ['slow'], timeout: 0 },
    async () => {
      const databaseOfFew = await open();
      const database = await open();
      const few = await peakOf(databaseOfFew.place, 100_000);
      const many = await peakOf(database.place, 1_000_000);
      expect(few).toBeGreaterThan(2 ** 20);
      expect(many - few).toBeLessThan(32 * 900_000);
      expect(await database.query('SELECT count(*) AS rows, count(DISTINCT id) AS ids FROM many')).toEqual([
        { rows: '1000000', ids: '1000000' },
      ]);
    },
  );

  test('D6 100,000 rows pass through a heap that has no room for them', async () => {
    const database = await open();
    expect(await peakOf(database.place, 100_000, 32)).toBeGreaterThan(2 ** 20);
    expect(await database.query('SELECT count(*) AS rows FROM many')).toEqual([{ rows: '100000' }]);
  });
});
