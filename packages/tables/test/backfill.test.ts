import { exportTo, type ExportOptions, type ExportReport } from '@sluice/core';
import { expect, test } from 'vitest';
import { Random } from '../../../test/kit/random.js';
import { ChangingTable, entriesOf, type Entry } from '../../core/test/define/changingTable.js';
import { describeDatabases } from './databases.js';

const minute = 60_000;
const iso = (ms: number): string => new Date(ms).toISOString();

describeDatabases('an export of a range into a table of $name', ({ open }) => {
  async function opened() {
    const random = new Random(5);
    const listed = new ChangingTable(() => random.next());
    const first = listed.now;
    for (let nth = 0; nth < 200; nth += 1) listed.change();
    listed.now += 3 * minute;
    await listed.listen();
    const database = await open();
    const run = (incremental: ExportOptions['incremental'], more: ExportOptions = {}): Promise<ExportReport> => {
      const sink = database.sink<Entry>({ table: 'entries', mode: 'merge', key: ['id'] });
      return exportTo(entriesOf(listed), sink, { incremental, commitEvery: 1, ...more }).run();
    };
    /** Ends after its second commit with rows, as if the process were gone. */
    const killed = async (incremental: ExportOptions['incremental']): Promise<void> => {
      let commits = 0;
      const onCommitted = (at?: { readonly rows: number }): void => {
        commits += at && at.rows > 0 ? 1 : 0;
        if (commits === 2) throw new Error('killed');
      };
      await expect(run(incremental, { onCommitted })).rejects.toThrow('killed');
    };
    const texts = async (): Promise<string[]> =>
      (await database.query('SELECT id, text FROM entries')).map(({ id, text }) => `${id} ${text}`).toSorted();
    const expected = (from = -Infinity, until = Infinity): string[] =>
      listed.rows
        .filter(({ updated_at: at }) => Date.parse(at) >= from && Date.parse(at) < until)
        .map(({ id, text }) => `${id} ${text}`)
        .toSorted();
    const marks = () => database.query(`SELECT name, record FROM _sluice WHERE name LIKE 'record/mark-%'`);
    return { database, listed, first, run, killed, texts, expected, marks };
  }

  test(
    'A5 D3 windows that share an end give no row twice, also after kills, and are no mark',
    { tags: ['slow'] },
    async () => {
      const { listed, first, run, killed, texts, expected, marks } = await opened();
      // The ends are times of rows.
      const times = listed.rows.map(({ updated_at: at }) => Date.parse(at)).toSorted((a, b) => a - b);
      const ends = [first, times[20] ?? 0, times[40] ?? 0, listed.now];
      let added = 0;
      for (const [nth, end] of ends.slice(1).entries()) {
        const range = { from: iso(ends[nth] ?? 0), until: iso(end) };
        if (nth === 1) await killed(range);
        const { rows, changes } = await run(range);
        // The first one makes the table.
        if (nth > 0) expect(changes).toMatchObject({ added: rows, changed: 0, removed: 0 });
        added += rows;
        expect(await texts()).toEqual(expected(first, end));
      }
      expect(added).toBe(listed.rows.length);
      expect(await marks()).toEqual([]);
    },
  );

  test(
    'A5 D3 between two nights it changes what others have changed, and the next night has only what is new',
    { tags: ['slow'] },
    async () => {
      const { database, listed, first, run, killed, texts, expected, marks } = await opened();
      await run(true);
      const before = await marks();
      await database.query(`UPDATE entries SET text = 'spoilt'`);
      const middle = listed.rows.map(({ updated_at: at }) => Date.parse(at)).toSorted((a, b) => a - b)[30] ?? 0;
      const range = { from: iso(first), until: iso(middle) };
      await killed(range);
      await expect(run(true)).rejects.toThrow(`An export of the rows from ${range.from} until ${range.until} has not`);
      const { changes, resumedRows } = await run(range);
      expect(resumedRows).toBeGreaterThan(0);
      expect(changes).toMatchObject({ added: 0, changed: expected(first, middle).length, removed: 0 });
      expect(await marks()).toEqual(before);
      await run({ from: iso(middle), until: iso(listed.now) });
      expect(await texts()).toEqual(expected());
      listed.change();
      listed.now += 3 * minute;
      await killed({ full: true });
      await expect(run(range)).rejects.toThrow('An export of what is new has not finished');
      await run({ full: true });
      listed.change();
      listed.now += 3 * minute;
      expect((await run(true)).rows).toBeLessThan(20);
      expect(await texts()).toEqual(expected());
    },
  );

  test('A5 D3 into a table that was dropped ends a mark that stands for no row', { tags: ['slow'] }, async () => {
    const { database, listed, first, run, texts, expected } = await opened();
    await run(true);
    await database.query('DROP TABLE entries');
    const warned: string[] = [];
    const onWarning = (message: string): void => void warned.push(message);
    await run({ from: iso(first), until: iso(listed.now - 2 * minute) }, { onWarning });
    expect(warned).toEqual([
      'The rows of earlier increments are not in entries any more, so their mark does not count.',
    ]);
    await run(true);
    expect(await texts()).toEqual(expected());
  });
});
