import { testSource } from '@sluice/testing';
import { exportTo, type Page, type Position } from '@sluice/core';
import { describe, expect, test } from 'vitest';
import { recordingSink } from '../../../core/test/rows/sink/recordingSink.js';
import { sourceOfRun, type StoredRow } from '../../src/index.js';
import { folder, mergedRows, sharedDisk, smallTable, TableRun, type Table } from './tableRun.js';

async function finished(table: Table) {
  const disk = sharedDisk();
  const run = new TableRun(table);
  await run.finish(disk);
  return disk;
}

describe('the source of a finished run', () => {
  testSource({
    test,
    factory: async () => {
      const disk = await finished(smallTable);
      const source = await sourceOfRun(folder, { fileSystem: disk });
      return { source: () => source };
    },
  });

  test('K7 has the pages as they were fetched, empty and equal ones included', async () => {
    const empty = Array.from({ length: 150 }, () => []);
    const equal = [[{ id: 'a' }], [{ id: 'a' }], [{ id: 'a' }]];
    const table: Table = [[[...equal, [{ id: 'b' }, { id: 'c' }]]], [[[{ id: 'd' }], []], [[]]]];
    const source = await sourceOfRun(folder, { fileSystem: await finished(table) });
    const pages: (readonly unknown[])[] = [];
    for await (const { items } of source.pages()) pages.push(items);
    expect(pages).toEqual(table.flat(2));
    // The source itself would refuse so many empty pages, but an operator may have emptied them.
    const many = new TableRun([[[[{ id: 'a' }], ...empty, [{ id: 'b' }]]]]);
    const disk = sharedDisk();
    const run = await many.submit(disk);
    await storeWithoutWalk(run, many);
    expect(await mergedRows(disk)).toEqual([{ id: 'a' }, { id: 'b' }]);
  });

  test('K7 has the exact values, and their columns', async () => {
    const rows = [
      { id: 'a', amount: 9007199254740993n, at: new Date(1), of: { $bigint: '1' }, no: undefined },
      { id: 'b', amount: -0, of: [NaN, undefined, 1e21], text: '\ud800\n\u2028' },
    ];
    const disk = await finished([[[rows]]]);
    expect(await mergedRows(disk)).toStrictEqual(rows);
    const { info } = await sourceOfRun(folder, { fileSystem: disk });
    expect(info).toMatchObject({ name: 'test.rows', partitions: 1, schema: { columns: ['id'] } });
  });

  test.each([0, 1, 2, 5])(
    'P10 is compared with the totals of its partitions, also if it is resumed after %i pages',
    async (pages) => {
      const disk = sharedDisk();
      const run = new TableRun(smallTable);
      // The pieces have three rows and none, and four.
      run.answer = (partition) => ({ total: partition === 0 ? 5 : 0 });
      await run.finish(disk);
      const source = await sourceOfRun(folder, { fileSystem: disk });
      let startAt: Position = { before: 0, begun: {}, rows: 0, pages: 0 };
      let read = 0;
      for await (const { position } of source.pages()) if ((read += 1) <= pages) startAt = position;
      const walked: Page<StoredRow>[] = [];
      for await (const page of source.pages({ startAt })) walked.push(page);
      expect(walked.at(-1)?.position.totals).toEqual({ partitions: 3, short: 2, total: 10, listed: 7 });
      const warnings: string[] = [];
      const onWarning = (message: string): void => void warnings.push(message);
      const sink = recordingSink<StoredRow>();
      const report = await exportTo(source, sink, { onWarning }).run();
      expect(report).toMatchObject({ rows: 7, shortOfTotal: { total: 10, listed: 7 } });
      expect(warnings).toEqual([expect.stringContaining('total of rows is 10, but it listed 7 in 2 partitions')]);
      await expect(exportTo(source, sink, { requireTotal: true }).run()).rejects.toMatchObject({
        code: 'rows-missing',
        message: expect.not.stringContaining('start over') as string,
        advice: [],
      });
    },
  );

  test.each<[number, Table, string]>([
    [0, [[[[{ id: 'a' }, { id: 'b' }]], [[{ id: 'c' }, { id: 'd' }]]], [[[{ id: 'e' }]]]], '2'],
    [2, [[[[{ id: 'a' }, { id: 'b' }]], [[{ id: 'c' }, { id: 'd' }]]], [[[{ id: 'e' }]]]], '2'],
    [2, [[[[{ id: 'a' }, { id: 'b' }]], [[{ id: 'c' }]]], [[[{ id: 'd' }, { id: 'e' }]]]], '1'],
  ])('P10 names its only partition that is short of its total, resumed after %i pages', async (pages, table, which) => {
    const disk = sharedDisk();
    const run = new TableRun(table);
    run.answer = () => ({ total: 2 });
    await run.finish(disk);
    const source = await sourceOfRun(folder, { fileSystem: disk });
    let startAt: Position = { before: 0, begun: {}, rows: 0, pages: 0 };
    let read = 0;
    for await (const { position } of source.pages()) if ((read += 1) <= pages) startAt = position;
    let last: Position | undefined;
    for await (const { position } of source.pages({ startAt })) last = position;
    const name = `partition ${which} of the run, counted from 0`;
    expect(last?.totals).toEqual({ partitions: 3, short: 1, total: 2, listed: 1, which: name });
    await expect(exportTo(source, recordingSink<StoredRow>(), { requireTotal: true }).run()).rejects.toThrow(
      `rows: the API's total of rows is 2, but it listed 1 (${name}). A merge reads what the run has fetched: submit it again, to another folder`,
    );
  });

  test('P10 compares the different keys of each partition, and says how many rows came again', async () => {
    const disk = sharedDisk();
    // The second partition has its four rows by number only, and shares one with the first.
    const rows = (...ids: readonly number[]) => ids.map((id) => ({ id }));
    const run = new TableRun([[[rows(1, 2), rows(2, 3)]], [[rows(3, 4), rows(4, 3)]]]);
    run.definition = { schema: { columns: ['id'], key: (row) => Number(Reflect.get(row, 'id')) } };
    run.answer = (_, page) => ({ total: page === 0 ? 4 : 5 });
    await run.finish(disk);
    const source = await sourceOfRun(folder, { fileSystem: disk });
    const report = await exportTo(source, recordingSink<StoredRow>()).run();
    expect(report).toMatchObject({ rows: 8, repeatedRows: 3, shortOfTotal: { total: 8, listed: 5 } });
    await expect(exportTo(source, recordingSink<StoredRow>(), { requireTotal: true }).run()).rejects.toMatchObject({
      code: 'rows-missing',
    });
  });

  test('K7 refuses missing partitions', async () => {
    const disk = sharedDisk();
    const table = new TableRun();
    const run = await table.submit(disk);
    await table.runPartition(run, 0);
    await expect(sourceOfRun(folder, { fileSystem: disk })).rejects.toThrow(
      '2 of 3 partitions of rows are missing, the first is 1. Submit it again, and let workers finish it.',
    );
  });

  test('K7 refuses rows that are not those that were committed, before the first of their partition', async () => {
    const clean = await finished(smallTable);
    for (const path of clean.paths().filter((name) => name.endsWith('.jsonl'))) {
      const text = clean.text(path) ?? '';
      for (const changed of [text.replace(/\d"/, '9"'), text.slice(0, -1), '']) {
        const disk = clean.restart('all');
        disk.put(path, changed);
        const pages = (await sourceOfRun(folder, { fileSystem: disk })).pages();
        const partitions: number[] = [];
        const walk = async () => {
          for await (const { partition } of pages) partitions.push(partition);
        };
        await expect(walk()).rejects.toThrow('does not begin with the');
        expect(partitions).not.toContain(Number(/(\d+)-\w+\.jsonl$/.exec(path)?.[1]));
      }
      // Bytes behind the committed ones are somebody else's.
      const disk = clean.restart('all');
      disk.put(path, `${text}{"id":"more"}\n`);
      expect(await mergedRows(disk)).toEqual(smallTable.flat(3));
    }
  });

  /** Texts of records, by their partitions. Partition 1 has no rows. */
  type Records = readonly [string, string, string];
  test.each<[string, number, (records: Records, ofAnotherRun: Records) => string]>([
    ['of other fields', 1, ([, own]) => own.replace('"restarts":0', '"restarts":-1')],
    ['that is cut', 1, ([, own]) => own.slice(0, -20)],
    ['without content', 1, () => ''],
    ['of a partition without rows, by the name of another one', 0, ([, empty]) => empty],
    ['of a partition with rows, by the name of one without', 1, ([own]) => own],
    ['of the same partition in a run of the same plan', 1, (_, [, other]) => other],
  ])('K7 refuses a record %s', async (_, partition, changed) => {
    const path = (of: number): string => `${folder}/done/0/${of}.json`;
    const disk = await finished(smallTable);
    const other = await finished(smallTable);
    const [own, ofOther] = [disk, other].map((each): Records => {
      const [first = '', second = '', third = ''] = [0, 1, 2].map((of) => each.text(path(of)));
      return [first, second, third];
    });
    if (!own || !ofOther) return expect.unreachable();
    disk.put(path(partition), changed(own, ofOther));
    await expect(mergedRows(disk)).rejects.toThrow(
      /is damaged, or of another partition or run.*Restore it, or remove it and submit the run again/,
    );
    // As the error says.
    await disk.unlink(path(partition));
    await new TableRun(smallTable).finish(disk);
    expect(await mergedRows(disk)).toEqual(smallTable.flat(3));
  });

  test.each<[string, (row: number) => object]>([
    ['in the same order', (row) => ({ id: row })],
    ['in another one', (row) => ({ id: 5 - row })],
  ])('K7 refuses to continue in a partition that was fetched again since, %s', async (_, rowOf) => {
    const pagesOf = (rows: readonly object[]): Table => [[rows.map((row) => [row])]];
    const ids = [0, 1, 2, 3, 4, 5];
    const disk = await finished(pagesOf(ids.map((id) => ({ id }))));
    const source = await sourceOfRun(folder, { fileSystem: disk });
    const pages: Page<StoredRow>[] = [];
    for await (const page of source.pages()) pages.push(page);
    await disk.unlink(`${folder}/done/0/0.json`);
    await new TableRun(pagesOf(ids.map(rowOf))).finish(disk);
    const again = await sourceOfRun(folder, { fileSystem: disk });
    const { position: startAt } = pages[2] ?? expect.unreachable();
    await expect(again.pages({ startAt })[Symbol.asyncIterator]().next()).rejects.toThrow(
      'Partition 0 was fetched again since this export read its first 3 pages.',
    );
    // A partition that was read completely stays as it was.
    const rest: unknown[] = [];
    for await (const { items } of again.pages({ startAt: pages[5]?.position ?? startAt })) rest.push(items);
    expect(rest).toEqual([]);
  });
});

/** Commits the pages of its first partition without a walk, which would refuse them. */
async function storeWithoutWalk(run: Awaited<ReturnType<TableRun['submit']>>, { table }: TableRun): Promise<void> {
  const claim = await run.claim(0);
  if (typeof claim === 'string') return expect.unreachable();
  const position: Position = { before: 0, begun: {}, rows: 0, pages: 0 };
  for (const [index, items] of (table[0]?.[0] ?? []).entries())
    await claim.write({ items, index, position, partition: 0, endsPartition: false });
  expect(await claim.commit()).toBe('accepted');
  await claim.close();
}
