import { exportTo, type ExportOptions } from '@sluice/core';
import type { RunOptions } from '@sluice/core/kit';
import { expect, test } from 'vitest';
import { Random } from '../../../test/kit/random.js';
import { ChangingForge, type TableEntry } from '../../core/test/define/changingForge.js';
import { ChangingTable, entriesOf, type Entry } from '../../core/test/define/changingTable.js';
import type { TableMode } from '../src/sqlite.js';
import { describeDatabases } from './databases.js';
import { itemSource } from './items.js';

describeDatabases('an incremental export into a table of $name', ({ open }) => {
  async function opened() {
    const random = new Random(3);
    const listed = new ChangingTable(() => random.next());
    for (let nth = 0; nth < 100; nth += 1) listed.change();
    await listed.listen();
    const database = await open();
    const increment = (
      mode: TableMode | 'history',
      full = false,
      { signal, ...options }: ExportOptions & RunOptions = {},
    ) => {
      const sink = database.sink<Entry>({
        table: 'entries',
        mode,
        ...((mode === 'merge' || mode === 'history') && { key: ['id'] }),
      });
      return exportTo(entriesOf(listed), sink, { incremental: { full }, ...options }).run({
        ...(signal && { signal }),
      });
    };
    const texts = async () =>
      (await database.query('SELECT id, text FROM entries')).map(({ id, text }) => `${id} ${text}`);
    return { database, listed, increment, texts };
  }

  test('D3 A5 with merge equals the listing after each increment', { tags: ['slow'] }, async () => {
    const { listed, increment, texts } = await opened();
    for (let round = 0; round < 5; round += 1) {
      listed.now += 130_000;
      await increment('merge');
      expect((await texts()).toSorted()).toEqual(listed.rows.map(({ id, text }) => `${id} ${text}`).toSorted());
      for (let nth = 0; nth < 7; nth += 1) listed.change();
    }
  });

  test('D3 A5 with merge equals the listings of all parents after each increment, each from its mark', async () => {
    const forge = new ChangingForge(4);
    for (const name of ['a', 'b', 'c']) forge.add(name);
    await forge.listen();
    const database = await open();
    for (let round = 0; round < 4; round += 1) {
      forge.advance(130_000);
      const before = forge.asked.length;
      const sink = database.sink<TableEntry>({ table: 'entries', mode: 'merge', key: ['table', 'id'] });
      await exportTo(forge.source(), sink, { incremental: true, concurrency: 2 }).run();
      const fromStart = forge.pagesAfter(before).filter((each) => !each.includes('since='));
      expect(fromStart).toHaveLength(round === 0 ? 3 : 1);
      const rows = await database.query('SELECT "table", id, text FROM entries');
      expect(rows.map(({ table, id, text }) => `${table}/${id} ${text}`).toSorted()).toEqual(
        forge.rows.map(({ table, id, text }) => `${table}/${id} ${text}`).toSorted(),
      );
      forge.change(7);
      forge.add(`new${round}`, 9);
    }
  });

  const emptied = [
    'DROP TABLE entries',
    'DELETE FROM entries',
    'ALTER TABLE entries RENAME TO others',
    'DROP TABLE entries; CREATE TABLE entries (id text, text text, updated_at text)',
  ];
  test.each(emptied)('D3 A5 with merge has all rows again after %s', { tags: ['slow'] }, async (sql) => {
    const { listed, increment, texts, database } = await opened();
    await increment('merge');
    for (const statement of sql.split('; ')) await database.query(statement);
    listed.now += 130_000;
    listed.change();
    const warned: string[] = [];
    const onWarning = (message: string): void => void warned.push(message);
    const rowsOf = () => listed.rows.map(({ id, text }) => `${id} ${text}`).toSorted();
    await increment('merge', false, { onWarning });
    expect(warned).toEqual(['The rows of earlier increments are not in entries any more, so all rows are exported.']);
    expect((await texts()).toSorted()).toEqual(rowsOf());
    // From then on only what is new.
    listed.change();
    expect((await increment('merge', false, { onWarning })).rows).toBeLessThan(20);
    expect((await texts()).toSorted()).toEqual(rowsOf());
    expect(warned).toHaveLength(1);
  });

  test(
    'D3 A5 an increment that was interrupted before the table was dropped is not resumed',
    { tags: ['slow'] },
    async () => {
      const { listed, increment, texts, database } = await opened();
      await increment('merge');
      listed.now += 130_000;
      for (let nth = 0; nth < 60; nth += 1) listed.change();
      const stop = new AbortController();
      const onCommitted = (at?: { readonly rows: number }): void => void (at && at.rows > 0 && stop.abort());
      await expect(increment('merge', false, { commitEvery: 1, onCommitted, signal: stop.signal })).rejects.toThrow(
        'abort',
      );
      await database.query('DROP TABLE entries');
      await increment('merge').catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'checkpoint', details: { isLost: true } });
        return increment('merge', false, { restart: true });
      });
      expect((await texts()).toSorted()).toEqual(listed.rows.map(({ id, text }) => `${id} ${text}`).toSorted());
    },
  );

  test.each(['merge', 'history'] as const)(
    'D3 A5 all rows are exported if they are wanted after an interrupted increment: %s',
    { tags: ['slow'] },
    async (mode) => {
      const { listed, increment, texts, database } = await opened();
      listed.now += 130_000;
      await increment(mode);
      listed.now += 130_000;
      for (let nth = 0; nth < 60; nth += 1) listed.change();
      const stop = new AbortController();
      const onCommitted = (at?: { readonly rows: number }): void => void (at && at.rows > 0 && stop.abort());
      const interrupted = increment(mode, false, { commitEvery: 1, onCommitted, signal: stop.signal });
      await expect(interrupted).rejects.toThrow('abort');
      await database.query('DELETE FROM entries');
      const warned: string[] = [];
      await increment(mode, true, { onWarning: (message) => void warned.push(message) });
      expect(warned).toEqual([expect.stringContaining('did not finish, and began later than this one')]);
      expect((await texts()).toSorted()).toEqual(listed.rows.map(({ id, text }) => `${id} ${text}`).toSorted());
    },
  );

  test(
    'D3 A5 the rows of another export take the place of the increments with replace',
    { tags: ['slow'] },
    async () => {
      const { listed, increment, texts, database } = await opened();
      await increment('merge');
      const schema = { columns: ['id', 'text', 'updated_at'] } as const;
      const others = itemSource<Entry>(
        [[{ id: 1_000, text: 'other', updated_at: '2026-01-01T00:00:00Z' }]],
        {},
        schema,
      );
      await exportTo(others, database.sink({ table: 'entries', mode: 'replace' })).run();
      expect(await texts()).toEqual(['1000 other']);
      const warned: string[] = [];
      const onWarning = (message: string): void => void warned.push(message);
      await expect(increment('append')).rejects.toThrow(
        'All rows would be appended to those of the table, and be there twice.',
      );
      await increment('merge', false, { onWarning });
      expect(warned).toEqual(['The rows of earlier increments are not in entries any more, so all rows are exported.']);
      const all = [...listed.rows.map(({ id, text }) => `${id} ${text}`), '1000 other'];
      expect((await texts()).toSorted()).toEqual(all.toSorted());
    },
  );

  test(
    'A5 append keeps its mark while rows are taken out of the table, and not after it was dropped',
    { tags: ['slow'] },
    async () => {
      const { listed, increment, texts, database } = await opened();
      listed.now += 130_000;
      await increment('append');
      await database.query('DELETE FROM entries');
      listed.change();
      await increment('append');
      expect(await texts()).toHaveLength(1);
      await database.query('DROP TABLE entries');
      await increment('append');
      expect(await texts()).toHaveLength(listed.rows.length);
    },
  );

  test('D3 replace is refused, since the older rows would go, except for all rows', async () => {
    const { listed, increment, texts } = await opened();
    listed.now += 130_000;
    await expect(increment('replace')).rejects.toThrow('The rows of an increment would replace all others.');
    await increment('replace', true);
    expect(await texts()).toHaveLength(listed.rows.length);
  });

  test('A5 append takes what is new, and refuses all rows again', async () => {
    const { listed, increment, texts } = await opened();
    listed.now += 130_000;
    await increment('append');
    const first = await texts();
    listed.change();
    await increment('append');
    expect(await texts()).toHaveLength(first.length + 1);
    await expect(increment('append', true)).rejects.toThrow('and be there twice');
  });

  test('D3 A5 append warns of rows that may be there twice, as long as there is no mark', async () => {
    const { increment, database } = await opened();
    await database.query('CREATE TABLE entries (id text, text text, updated_at text)');
    const warned: string[] = [];
    const onWarning = (message: string): void => void warned.push(message);
    await database.query("INSERT INTO entries VALUES ('1', 'change', '2026-01-01T00:00:00Z')");
    await increment('append', false, { onWarning });
    expect(warned).toEqual([
      expect.stringMatching(/^entries has rows, and no export .* left a mark: all rows are app/),
    ]);
    await increment('append', false, { onWarning });
    expect(warned).toHaveLength(1);
  });

  test('D9 a history ends no version, and does not count the rows that an increment leaves out', async () => {
    const { listed, increment, texts } = await opened();
    listed.now += 130_000;
    await increment('history');
    const first = await texts();
    expect(await increment('history')).not.toHaveProperty('rowsNotRemoved');
    expect(await texts()).toEqual(first);
  });
});
