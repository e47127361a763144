import { exportTo } from '@sluice/core';
import { afterAll, describe, expect, test } from 'vitest';
import { Random } from '../../../../test/kit/random.js';
import { ChangingForge, type TableEntry } from '../../../core/test/api/changingForge.js';
import { ChangingTable, entriesOf, type Entry } from '../../../core/test/api/changingTable.js';
import type { TableMode } from '../../src/sqlite.js';
import { databaseKinds, Servers } from './databases.js';

const servers = new Servers();
afterAll(() => servers.close());

describe.each(databaseKinds(servers))('an incremental export into a table of $name', ({ open }) => {
  async function opened() {
    const random = new Random(3);
    const listed = new ChangingTable(() => random.next());
    for (let nth = 0; nth < 100; nth += 1) listed.change();
    await listed.listen();
    const database = await open();
    const increment = (mode: TableMode, full = false) => {
      const sink = database.sink<Entry>({ table: 'entries', mode, ...(mode === 'merge' && { key: ['id'] }) });
      return exportTo(entriesOf(listed), sink, { incremental: { full } }).run();
    };
    const texts = async () =>
      (await database.query('SELECT id, text FROM entries')).map(({ id, text }) => `${id} ${text}`);
    return { listed, increment, texts };
  }

  test('D3 A5 with merge equals the listing after each increment', async () => {
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
});
