import { writeFileSync } from 'node:fs';
import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { nftHoldingSchema, type NftHolding } from '@sluice/aptos';
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { openDatabase, postgresPrograms } from '../../../test/kit/postgresServer.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { countFigures, type ReportRow, findSubject, subjects } from '../src/commands/report/figures.js';
import { reportPage } from '../src/commands/report/page.js';
import { TopCounts } from '../src/commands/report/topCounts.js';
import { main } from '../src/program.js';
import { exportArgs } from './interruptedExport.js';
import { settingsFor, sluice } from './runSluice.js';
import { testEnvironment } from './testEnvironment.js';

/** Runs `sluice report` in a folder. */
async function report(folder: string, ...args: readonly string[]) {
  const environment = testEnvironment({ folder });
  const code = await main(['report', ...args], environment);
  return { code, stdout: environment.written.stdout(), stderr: environment.written.stderr() };
}

/** The texts of the cells of a report's tables, by section. */
function tablesOf(page: string): Record<string, string[][]> {
  const sections = [...page.matchAll(/<section>\n<h2>([^<]*)<\/h2>([^]*?)<\/section>/g)];
  return Object.fromEntries(
    sections.map(([, title = '', content = '']) => [
      title,
      [...content.matchAll(/<tr>(.*)<\/tr>/g)].map(([, row = '']) =>
        [...row.matchAll(/<t[hd][^>]*>([^<]*)/g)].map(([, cell = '']) => cell),
      ),
    ]),
  );
}

function countsBy(rows: Iterable<NftHolding>, of: (row: NftHolding) => string | null | undefined): Map<string, number> {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const key = of(row);
    if (key !== null && key !== undefined && key !== '') counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

describe('U5 sluice report', () => {
  test(
    'U5 says the same of files and tables of all kinds, and that is what the API has',
    { tags: ['slow'] },
    async () => {
      await using sandbox = await startSandbox({ holdings: 1100, owners: 4, nasty: 0 });
      const folder = temporaryFolder();
      const environment = { env: settingsFor(sandbox), cwd: folder };
      const server = postgresPrograms === undefined ? undefined : await openDatabase();
      const targets = [
        ...['nfts.csv', 'nfts.csv.gz', 'nfts.jsonl', 'nfts.ndjson.gz', 'nfts.sqlite#nfts', 'nfts.parquet'],
        ...(server ? [`${server.url}?table=public.nfts`] : []),
      ];
      for (const to of targets) expect(await sluice(exportArgs(sandbox, to), environment)).toMatchObject({ code: 0 });
      const pages = new Map<string, Record<string, string[][]>>();
      for (const [at, file] of targets.entries()) {
        const to = `report${String(at)}.html`;
        expect(await report(folder, file, '--to', to)).toEqual({
          code: 0,
          stdout: '',
          stderr: `1,100 holdings of ${file} -> ${to}\n`,
        });
        const page = await readFile(join(folder, to), 'utf8');
        expect(page).not.toContain('tester');
        pages.set(file, tablesOf(page));
      }
      const [first, ...others] = [...pages.values()];
      expect(first?.['Columns']).toHaveLength(nftHoldingSchema.columns.length);
      for (const other of others) expect(other).toEqual(first);

      const rows = [...sandbox.holdingsOf(sandbox.owners)];
      const collections = countsBy(rows, ({ collection_name: name }) => name);
      const largest = [...collections].toSorted(([a, one], [b, other]) => other - one || (a < b ? -1 : 1)).slice(0, 20);
      expect(first?.['The largest collections']?.map(([name, count]) => [name, count])).toEqual(
        largest.map(([name, count]) => [name, String(count)]),
      );
      const months = countsBy(rows, ({ last_transaction_timestamp: at }) => at?.slice(0, 7));
      const shown = first?.['Holdings by the time of their last change']?.map(([name]) => name ?? '') ?? [];
      const perYear = countsBy(rows, ({ last_transaction_timestamp: at }) => at?.slice(0, 4));
      expect(shown).toEqual([...(months.size > 36 ? perYear : months).keys()].toSorted());
      expect(first?.['Columns']?.map(([name]) => name)).toEqual(nftHoldingSchema.columns);
    },
  );

  test('U5 texts of any kind stay text, and the page needs nothing but itself', { tags: ['slow'] }, async () => {
    const folder = temporaryFolder();
    const hostile = [
      '<img src=x onerror=alert(1)>',
      '</title><script>alert(1)</script>',
      `"><svg onload='alert(1)'>`,
      '&lt;b&gt;',
      'right\u202eto left',
      'null\u0000 and \u001b[31m',
      "'; DROP TABLE nfts; --",
      'https://evil.example/x.css',
    ];
    const columns = ['name', 'collection_name', 'owner_address', 'last_transaction_timestamp'];
    const lines = hostile.map((text) =>
      ['n', text, text, '2026-03-01T00:00:00Z'].map((cell) => `"${cell.replaceAll('"', '""')}"`).join(','),
    );
    const file = `<b>'"&.csv`;
    await writeFile(join(folder, file), `${[columns.join(','), ...lines].join('\n')}\n`);
    expect(await report(folder, file, '--to', 'report.html')).toMatchObject({ code: 0 });
    const page = await readFile(join(folder, 'report.html'), 'utf8');
    const known =
      'html|head|meta|title|style|body|header|main|h1|h2|p|dl|dt|dd|div|section|table|tr|th|td|span|i|!doctype';
    expect(page.match(new RegExp(`<(?!/?(?:${known})[ >])[^]{0,20}`, 'g'))).toBeNull();
    expect(page).not.toMatch(/\son\w+=[^&]*>|src=(?!x onerror=alert\(1\)&gt;)|href=|url\(|@import|javascript:/);
    // eslint-disable-next-line no-control-regex -- none of them may be there
    expect(page).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
    expect(
      tablesOf(page)
        ['The largest collections']?.map(([name]) => name)
        .toSorted(),
    ).toEqual(
      [
        '&lt;img src=x onerror=alert(1)&gt;',
        '&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;',
        '&quot;&gt;&lt;svg onload=&#39;alert(1)&#39;&gt;',
        '&amp;lt;b&amp;gt;',
        'right\\u202eto left',
        'null␀ and ␛[31m',
        '&#39;; DROP TABLE nfts; --',
        'https://evil.example/x.css',
      ].toSorted(),
    );
    expect(page).toContain("default-src 'none'; style-src 'unsafe-inline'");
    expect(page).toContain('prefers-color-scheme: dark');
  });

  test('U5 names the columns that are empty in all rows, and those that the file does not have', async () => {
    const folder = temporaryFolder();
    await writeFile(
      join(folder, 'some.csv'),
      'collection_name,table_type,name,last_transaction_timestamp\nCats,,a,\n,,b,yesterday\n',
    );
    const { code, stdout } = await report(folder, 'some.csv', '--to', '-');
    expect(code).toBe(0);
    expect(stdout).toContain('How many rows have a value. Empty in all rows: table_type.');
    expect(stdout).toContain('1 collection in all. 1 holding has no collection.');
    expect(stdout).toContain('2 holdings have no time.');
    const missing = nftHoldingSchema.columns.filter(
      (column) => !['collection_name', 'table_type', 'name', 'last_transaction_timestamp'].includes(column),
    );
    expect(stdout).toContain(`<p>${missing.join(', ')}</p>`);
    expect(tablesOf(stdout)['Columns']).toEqual([
      ['collection_name', '1', '50.0 %'],
      ['table_type', '0', '0.0 %'],
      ['name', '2', '100.0 %'],
      ['last_transaction_timestamp', '1', '50.0 %'],
    ]);
  });

  test('U5 rows of JSON may lack fields, and may have some that no source declares', async () => {
    const folder = temporaryFolder();
    const lines = [
      '\ufeff{"collection_name":"Cats"}',
      '',
      '{"owner_address":"0x1","__proto__":1}\r',
      '{"owner_address":null}',
    ];
    await writeFile(join(folder, 'some.jsonl'), lines.join('\n'));
    const { code, stdout } = await report(folder, 'some.jsonl', '--to', '-');
    expect([code, tablesOf(stdout)['Columns']]).toEqual([
      0,
      [
        ['collection_name', '1', '33.3 %'],
        ['owner_address', '1', '33.3 %'],
        ['__proto__', '1', '33.3 %'],
      ],
    ]);
    expect(stdout).toContain('1 wallet in all. 2 holdings have no wallet.');
  });

  test.runIf(postgresPrograms !== undefined)(
    'U5 a table that is not there is an error without the password',
    async () => {
      const { url, query } = await openDatabase();
      const folder = temporaryFolder();
      await query(
        'CREATE TABLE orders (id text, connection text, "to?tal" numeric); CREATE TABLE "nfts" (collection_name text)',
      );
      const environment = { env: { PGPASSWORD: 'hunter22hunter' }, cwd: folder };
      for (const [name, message] of [
        [`${url}?table=hunter22hunter`, /has no table "\[hidden\]"/],
        [`${url}x?table=nfts`, /database "db_\w+x" does not exist/],
        [`${url}?table=a..b`, /has a dot with nothing before or after it/],
        [`${url}?table=orders`, /has the columns id, connection, to\?tal\. A report needs/],
      ] as const) {
        const { code, stderr } = await sluice(['report', name], environment);
        expect(code, stderr).not.toBe(0);
        expect(stderr).toMatch(message);
        expect(stderr).not.toContain('hunter22hunter');
      }
      expect(await sluice(['report', `${url}?table=nfts`], environment)).toMatchObject({ code: 0 });
      const page = await readFile(join(folder, 'nfts.html'), 'utf8');
      expect(page).toContain(`<h1>0 holdings in ${new URL(url).host}${new URL(url).pathname}#nfts</h1>`);
    },
  );

  test('U5 streams are counted by status; a file without rows is reported, too', async () => {
    await using sandbox = await startSandbox({ streams: 42 });
    const folder = temporaryFolder();
    const args = ['streams', 'export', '--to', 'streams.csv', '--rate', 'unlimited'];
    expect(await sluice(args, { env: settingsFor(sandbox), cwd: folder })).toMatchObject({ code: 0 });
    expect((await report(folder, 'streams.csv')).stderr).toBe('42 streams of streams.csv -> streams.html\n');
    const counts = tablesOf(await readFile(join(folder, 'streams.html'), 'utf8'))['Streams by status'] ?? [];
    expect(counts.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(42);

    writeFileSync(join(folder, 'empty.csv.gz'), gzipSync('collection_name,owner_address\n'));
    expect((await report(folder, 'empty.csv.gz')).stderr).toBe('0 holdings of empty.csv.gz -> empty.html\n');
  });

  test.each([
    ['prices.csv', 'coin,price\nbtc,1\n', /prices\.csv has the columns coin, price\. A report needs those of a source/],
    ['cut.csv', 'collection_name,name\n"Cats,a\n', /cut\.csv can't be read: /],
    ['cut.csv.gz', gzipSync('collection_name\nCats\n').subarray(0, 20), /cut\.csv\.gz can't be read: /],
    ['not.parquet', 'collection_name\n', /not\.parquet can't be read: /],
    ['not.sqlite', 'collection_name\n', /not\.sqlite can't be read: /],
    [
      'cut.jsonl',
      '{"collection_name":"Cats"}\n{"collection_name":"Ca',
      /cut\.jsonl can't be read: line 2 is not a JSON object/,
    ],
    ['list.jsonl', '[{"collection_name":"Cats"}]\n', /list\.jsonl can't be read: line 1 is not a JSON object/],
    ['bytes.jsonl', Buffer.from([0x22, 0xff, 0x22, 10]), /bytes\.jsonl can't be read: /],
    ['endless.jsonl', Buffer.alloc(64_000_001, 32), /can't be read: a line has more than 64,000,000 bytes/],
    ['empty.ndjson', '\n', /empty\.ndjson has no columns/],
    ['orders.jsonl', '{"id":"1","status":"paid","total":3}\n', /orders\.jsonl has the columns id, status, total\./],
    [
      'wide.jsonl',
      `{"collection_name":"Cats"}\n{${Array.from({ length: 1_000 }, (_, n) => `"f${String(n)}":1`).join(',')}}\n`,
      /The rows have more than 1,000 different fields/,
    ],
  ])('U5 refuses %s, and leaves nothing behind', async (file, content, message) => {
    const folder = temporaryFolder();
    await writeFile(join(folder, file), content);
    const { code, stderr } = await report(folder, file);
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
    expect(await readdir(folder)).toEqual([file]);
  });

  test('U5 refuses what it does not read, and replaces a report only when it is told to', async () => {
    const folder = temporaryFolder();
    expect(await report(folder, 'rows.xlsx')).toMatchObject({ code: 2 });
    for (const url of [
      'postgres://me:hunter22@host/db?table=nfts',
      'postgres://me@host/db?table=n&password=hunter22',
    ]) {
      const { code, stderr } = await report(folder, url);
      expect([code, stderr]).toEqual([2, expect.stringContaining('The table of the report has a password')]);
      expect(stderr).not.toContain('hunter22');
    }
    expect((await report(folder, 'rows.csv')).stderr).toContain('rows.csv does not exist.');
    await writeFile(join(folder, 'rows.csv'), 'collection_name\nCats\n');
    await writeFile(join(folder, 'rows.html'), 'mine');
    const refused = await report(folder, 'rows.csv');
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        'rows.html exists already, and was not touched. Give another name, or replace it with --if-exists overwrite.',
      ),
    });
    expect(await readFile(join(folder, 'rows.html'), 'utf8')).toBe('mine');
    await chmod(join(folder, 'rows.html'), 0o600);
    expect(await report(folder, 'rows.csv', '--if-exists', 'overwrite')).toMatchObject({ code: 0 });
    expect((await stat(join(folder, 'rows.html'))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(folder, 'rows.html'), 'utf8')).toContain('<title>1 holding in rows.csv</title>');
    expect((await readdir(folder)).toSorted()).toEqual(['rows.csv', 'rows.html']);
  });
});

describe('U5 counts in bounded memory', () => {
  test('U5 are exact up to the capacity', () => {
    const counts = new TopCounts(100);
    for (let n = 0; n < 10_000; n += 1) counts.add(`key ${String(n % 100)}`);
    expect(counts.size).toBe(100);
    expect(counts.error).toBe(0);
    expect(counts.top(2)).toEqual([
      { name: 'key 0', count: 100 },
      { name: 'key 1', count: 100 },
    ]);
  });

  test('U5 beyond it the frequent ones stay, and are too low by no more than the error', () => {
    const counts = new TopCounts(50);
    const exact = new Map<string, number>();
    const add = (key: string): void => {
      counts.add(key);
      exact.set(key, (exact.get(key) ?? 0) + 1);
    };
    for (let n = 0; n < 30_000; n += 1) {
      add(`rare ${String(n)}`);
      if (n % 3 === 0) add(`frequent ${String(n % 7)}`);
    }
    expect(counts.size).toBeUndefined();
    expect(counts.error).toBeLessThanOrEqual(40_000 / 50);
    const top = counts.top(7);
    expect(top.every(({ name }) => name.startsWith('frequent'))).toBe(true);
    for (const { name, count } of counts.top(1000)) {
      expect(count).toBeLessThanOrEqual(exact.get(name) ?? 0);
      expect(count).toBeGreaterThanOrEqual((exact.get(name) ?? 0) - counts.error);
    }
    expect(counts.top(Infinity).length).toBeLessThanOrEqual(100);
  });

  test(
    'U5 a report says that its counts are not exact, and shows years instead of many months',
    { tags: ['slow'] },
    async () => {
      const columns = ['collection_name', 'last_transaction_timestamp'];
      const subject = findSubject(columns) ?? subjects[0];
      if (!subject) throw new Error('There is no subject.');
      async function* rows(): AsyncGenerator<ReportRow> {
        for (let n = 0; n < 50_000; n += 1) {
          const at = new Date(Date.UTC(2015 + (n % 10), n % 12, 1));
          yield await Promise.resolve({ collection_name: `c${String(n)}`, last_transaction_timestamp: at });
        }
      }
      const figures = await countFigures(subject, columns, rows());
      expect(figures.time?.periods).toHaveLength(10);
      expect(figures.time?.periods[0]).toEqual({ name: '2015', count: 5_000 });
      const page = reportPage(figures, { name: 'many.csv', madeAt: new Date(0) });
      expect(page).toMatch(/Too many collections to count all\. .*Each count may be up to \d+ too low\./);
    },
  );
});
