import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDatabase, postgresPrograms } from '../../../test/kit/postgresServer.js';
import { byLine, ChangingForge, keptOf, type TableEntry } from '../../core/test/define/changingForge.js';
import { configFolder, run } from './config/configFolder.js';
import { readTable } from './readTable.js';

async function openForge(): Promise<{ readonly forge: ChangingForge; readonly folder: string }> {
  const forge = new ChangingForge(1);
  for (const name of ['a', 'b', 'c']) forge.add(name);
  await forge.listen();
  forge.advance(130_000);
  const folder = configFolder({
    'sluice.config.ts': `
      import { byCursor, bySince, defineApi, listing, rowOf } from '@sluice/core/define';
      const forge = defineApi({ name: 'forge', sources: {
        tables: listing({ path: '/tables', rows: 'items', columns: ['name'], key: ({ name }: any) => name,
          paging: byCursor({ param: 'after', at: 'next?' }) }),
        entries: listing({
          each: rowOf({
            source: 'tables',
            params: ({ name }: { name: string }) => ({ table: name }),
          }),
          fields: { table: '{table}' },
          path: '/tables/{table}', responses: { 404: 'skip', 410: 'skip' },
          rows: 'items', columns: ['table', 'id', 'text', 'updated_at'], version: '1',
          pageSize: { param: 'n', default: 8, max: 8 },
          paging: bySince({ param: 'since', field: 'updated_at', type: 'instant' }),
          key: ({ table, id }: any) => table + '/' + id,
        }),
      } });
      export default { plugins: [forge({ baseUrl: '${forge.baseUrl}' })], defaults: { rate: 'unlimited' } };`,
  });
  return { forge, folder };
}

const args = (to: string, ...more: string[]): string[] => [
  'export',
  'forge.entries',
  '--incremental',
  '--state',
  'entries.state',
  '--to',
  to,
  ...more,
];

function entriesIn(folder: string, name: string): TableEntry[] {
  const lines = readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as TableEntry);
}

test(
  'A5 sluice export --incremental continues each parent from its own mark, and walks a new one completely',
  { tags: ['slow'] },
  async () => {
    const { forge, folder } = await openForge();
    expect(await run(args('1.jsonl', '--concurrency', '2'), folder)).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/ new rows in \d+ pages -> 1\.jsonl/),
    });
    forge.tables.get('b')!.change();
    forge.advance(130_000);
    const before = forge.asked.length;
    expect((await run(args('2.jsonl'), folder)).stderr).toMatch(/^1 new rows? in /);
    expect(forge.pagesAfter(before).every((each) => each.includes('since='))).toBe(true);
    forge.add('d', 10);
    forge.advance(130_000);
    expect((await run(args('3.jsonl'), folder)).code).toBe(0);
    expect(entriesIn(folder, '3.jsonl').every(({ table }) => table === 'd')).toBe(true);
    const kept = keptOf(...['1.jsonl', '2.jsonl', '3.jsonl'].map((name) => entriesIn(folder, name)));
    expect(kept).toEqual(forge.rows.sort(byLine));
  },
);

test('A5 sluice export --incremental names a parent that it skips, whose rows come the next time', async () => {
  const { forge, folder } = await openForge();
  forge.say = ({ pathname }) => (pathname.endsWith('/b') ? { status: 404, body: {} } : undefined);
  expect(await run(args('1.jsonl', '--progress', 'none'), folder)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('skipped "b" of forge.tables, so its rows are missing'),
  });
  forge.say = () => undefined;
  expect((await run(args('2.jsonl'), folder)).code).toBe(0);
  expect(entriesIn(folder, '2.jsonl').every(({ table }) => table === 'b')).toBe(true);
  expect(keptOf(entriesIn(folder, '1.jsonl'), entriesIn(folder, '2.jsonl'))).toEqual(forge.rows.sort(byLine));
});

test(
  'A5 sluice export --incremental --since starts all parents there, and a table keeps their marks itself',
  { tags: ['slow'] },
  async () => {
    const { forge, folder } = await openForge();
    expect((await run(args('1.jsonl'), folder)).code).toBe(0);
    forge.advance(500_000);
    const since = new Date(forge.now).toISOString();
    for (const name of ['a', 'c']) forge.tables.get(name)!.change();
    forge.advance(130_000);
    expect((await run(args('2.jsonl', '--since', since), folder)).stderr).toMatch(/^2 new rows in /);
    // No mark has moved.
    expect((await run(args('3.jsonl'), folder)).stderr).toMatch(/^2 new rows in /);
    const merged = ['export', 'forge.entries', '--incremental', '--to', 'forge.sqlite#entries', '--mode', 'merge'];
    expect((await run(merged, folder)).code).toBe(0);
    forge.change(9);
    forge.add('e', 5);
    forge.advance(130_000);
    const before = forge.asked.length;
    expect((await run(merged, folder)).code).toBe(0);
    expect(forge.pagesAfter(before).filter((each) => !each.includes('since='))).toHaveLength(1);
    const rows = readTable(
      join(folder, 'forge.sqlite'),
      "SELECT \"table\" || '/' || id || ' ' || text AS line FROM entries",
    );
    expect(rows.flat().toSorted()).toEqual(
      forge.rows.map(({ table, id, text }) => `${table}/${String(id)} ${text}`).toSorted(),
    );
  },
);

test.runIf(postgresPrograms !== undefined)(
  'E6 an increment whose file is lost with its disk is refused by its name, and --restart begins it again',
  { tags: ['slow'] },
  async () => {
    const { forge, folder } = await openForge();
    const { url } = await openDatabase();
    const stored = args('1.jsonl', '--state', `${url}?name=entries`, '--commit-every', '1', '--progress', 'none');
    forge.say = ({ pathname }) => (pathname.endsWith('/c') ? { status: 403, body: {} } : undefined);
    expect(await run(stored, folder)).toMatchObject({ code: 1, stderr: expect.stringContaining('rows committed') });
    forge.say = () => undefined;
    rmSync(join(folder, '1.jsonl.part'));
    const requests = forge.asked.length;
    for (let again = 0; again < 2; again += 1)
      expect(await run(stored, folder)).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/^sluice: [^\n]*1\.jsonl\.part no longer exists[^\n]* --restart[^\n]*\n$/),
      });
    expect(forge.asked).toHaveLength(requests);
    expect((await run([...stored, '--restart'], folder)).code).toBe(0);
    expect(entriesIn(folder, '1.jsonl').toSorted(byLine)).toEqual(forge.rows.sort(byLine));
  },
);
