import { parquetMetadata } from 'hyparquet';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ColumnType, createSource, exportTo, memoryState, type RowSchema, type Source } from '@sluice/core';
import { type FileSystem, fileState, nodeFileSystem } from '@sluice/core/node';
import { startSandbox } from '@sluice/sandbox';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { casesOf, someOf } from '../../../scripts/testEffort.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { loadParquetLibrary } from '../src/parquet/encodeParquet.js';
import { parquet, type ParquetOptions } from '../src/parquet.js';
import { queryDuck, readWithDuck } from './duckdb.js';
import { readParquet } from './readParquet.js';
import { killExportChild, runExportChild } from './runExportChild.js';
import { sandboxClient } from './sandboxClient.js';

type Row = Readonly<Record<string, unknown>>;

/** A source of pages of one partition, as they are. */
function sourceOf(
  pages: readonly (readonly Row[])[],
  schema: RowSchema<Row>,
  onRequest: () => void = () => undefined,
): Source<Row> {
  return createSource<Row>({
    name: 'test.rows',
    identity: null,
    schema,
    fetch: ({ at }) => {
      onRequest();
      const nth = at && 'cursor' in at ? Number(at.cursor) : 0;
      const rows = pages[nth] ?? [];
      const next = nth + 1 < pages.length ? ({ cursor: String(nth + 1) } as const) : 'end';
      // A walk compares what it received as JSON, which a BigInt does not have.
      return Promise.resolve({ rows, received: rows.map((_, at) => [nth, at]), next });
    },
  });
}

function schemaOf(types: Readonly<Record<string, ColumnType>>): RowSchema<Row> {
  return { columns: Object.keys(types), types };
}

async function exported(
  rows: readonly Row[],
  schema: RowSchema<Row>,
  options: Partial<ParquetOptions> = {},
): Promise<string> {
  const path = join(temporaryFolder(), 'rows.parquet');
  await exportTo(sourceOf([rows], schema), parquet({ path, ...options })).run();
  return path;
}

const allTypes = schemaOf({
  ...({ name: 'text', amount: 'integer', price: 'number' } as const),
  ...({ listed: 'boolean', at: 'timestamp', traits: 'json' } as const),
});

describe('D4 in a Parquet file', () => {
  test('each column has its type, and DuckDB reads equal values', async () => {
    const full = {
      name: 'a "fox"\n🦊',
      amount: '-9007199254740993',
      price: 0.1,
      listed: false,
      at: '2024-02-29T23:59:59.123456Z',
      traits: { fur: ['red', null], text: 'a\ud800\\ud800' },
    };
    const none = { name: null, amount: null, price: null, listed: null, at: null, traits: null };
    const dated = { ...none, at: new Date(1), amount: 7n, price: '1.50', traits: 'text', name: ['a'] };
    const path = await exported([full, none, {}, dated], allTypes);
    expect(await readWithDuck(path)).toEqual({
      types: {
        name: 'VARCHAR',
        amount: 'DECIMAL(38,0)',
        price: 'DOUBLE',
        listed: 'BOOLEAN',
        at: 'TIMESTAMP WITH TIME ZONE',
        traits: 'JSON',
      },
      rows: [
        {
          name: full.name,
          amount: '-9007199254740993',
          price: 0.1,
          listed: false,
          at: '2024-02-29 23:59:59.123456+00',
          traits: '{"fur":["red",null],"text":"a\ufffd\\\\ud800"}',
        },
        none,
        none,
        { ...none, at: '1970-01-01 00:00:00.001+00', amount: '7', price: 1.5, traits: '"text"', name: '["a"]' },
      ],
    });
  });

  test('a second reader reads the same values', async () => {
    const at = '2024-02-29T23:59:59.123Z';
    const row = { name: 'a', amount: '12', price: 2.5, listed: true, at, traits: [1] };
    const path = await exported([row, {}], allTypes);
    const [first, second] = await readParquet(path);
    expect(first).toEqual({ ...row, amount: 12, at: new Date(at) });
    expect(second).toEqual({ name: null, amount: null, price: null, listed: null, at: null, traits: null });
  });

  test('an integer column is text if one of its values has more than 38 digits', async () => {
    const most = '9'.repeat(38);
    const wide = '1'.repeat(39);
    const fits = `-${most}`;
    const rows = [{ id: fits, supply: '5' }, { id: wide, supply: most }, { id: null }, { id: '7', supply: fits }];
    const path = await exported(rows, schemaOf({ id: 'integer', supply: 'integer' }));
    expect(await readWithDuck(path)).toEqual({
      types: { id: 'VARCHAR', supply: 'DECIMAL(38,0)' },
      rows: [
        { id: fits, supply: '5' },
        { id: wide, supply: most },
        { id: null, supply: null },
        { id: '7', supply: fits },
      ],
    });
  });

  test('a column that becomes text is a warning with its first such row, or an error if types are strict', async () => {
    const wide = '1'.repeat(78);
    const rows = [
      { amount: '1', price: 1, ratio: 1 },
      { amount: '2', price: '0.1000000000000000055', ratio: 2 },
      { amount: wide, price: '1e400', ratio: 0.5 },
      { amount: `-${wide}`, price: 2, ratio: 3 },
    ];
    const source = () => sourceOf([rows], schemaOf({ amount: 'integer', price: 'number', ratio: 'number' }));
    const path = join(temporaryFolder(), 'rows.parquet');
    const warned: string[] = [];
    const state = memoryState();
    const run = (strictTypes: boolean) =>
      exportTo(source(), parquet({ path, strictTypes }), {
        state,
        commitEvery: 1,
        onWarning: (said) => warned.push(said),
      }).run();
    await expect(run(true)).rejects.toMatchObject({
      code: 'sink',
      message: expect.stringMatching(
        /^Row 3 has a value in amount with more than the 38 digits of a DECIMAL, and types are strict\./,
      ),
      details: { row: 3, column: 'amount', type: 'integer' },
    });
    expect([existsSync(path), warned]).toEqual([false, []]);
    // The rows are kept.
    expect((await run(false)).resumedRows).toBe(4);
    expect(warned).toEqual([
      `Row 3 has a value in amount with more than the 38 digits of a DECIMAL, so the whole column is text in ${path}. Strict types refuse that.`,
      `Row 2 has a value in price with more digits than a DOUBLE keeps, so the whole column is text in ${path}. Strict types refuse that.`,
    ]);
    expect((await readWithDuck(path)).types).toEqual({ amount: 'VARCHAR', price: 'VARCHAR', ratio: 'DOUBLE' });
  });

  test.each([
    ['after 9999, in UTC only', '9999-12-31T23:59:59-14:00', '+010000-01-01T13:59:59.000Z'],
    ['after 9999', '+010000-01-01T00:00:00.000001Z', '+010000-01-01T00:00:00.000001Z'],
    ['before 1, in UTC only', '0001-01-01T00:00:00+00:01', '0000-12-31T23:59:00.000Z'],
    ['before Christ', '-000044-03-15T12:00:00Z', '-000044-03-15T12:00:00.000Z'],
  ])('a timestamp %s, which no reader takes, makes its column text, or is an error', async (_, at, text) => {
    const path = join(temporaryFolder(), 'rows.parquet');
    const edges = ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999999Z', '1969-12-31T23:59:59.5Z'];
    const rows = [...edges, at].map((at) => ({ at, edge: edges[0] }));
    const source = () => sourceOf([rows], schemaOf({ at: 'timestamp', edge: 'timestamp' }));
    await expect(exportTo(source(), parquet({ path, strictTypes: true })).run()).rejects.toThrow(
      /^Row 4 has a value in at with a year before 1 or after 9999, and types are strict\./,
    );
    const warned: string[] = [];
    await exportTo(source(), parquet({ path }), { onWarning: (said) => warned.push(said) }).run();
    expect(warned).toEqual([expect.stringContaining('so the whole column is text')]);
    const { types, rows: read } = await readWithDuck(path);
    expect(types).toEqual({ at: 'VARCHAR', edge: 'TIMESTAMP WITH TIME ZONE' });
    expect(read.map((row) => row['at'])).toEqual([
      '0001-01-01T00:00:00.000Z',
      '9999-12-31T23:59:59.999999Z',
      '1969-12-31T23:59:59.500Z',
      text,
    ]);
  });

  test('types that hold all values are strict without a word', async () => {
    const warned: string[] = [];
    const path = join(temporaryFolder(), 'rows.parquet');
    const rows = [{ amount: '9'.repeat(38), price: '1.50' }, { amount: '-0', price: 5e-324 }, {}];
    const source = sourceOf([rows], schemaOf({ amount: 'integer', price: 'number' }));
    const sink = parquet<Row>({ path, strictTypes: true });
    await exportTo(source, sink, { onWarning: (said) => warned.push(said) }).run();
    expect(warned).toEqual([]);
    expect((await readWithDuck(path)).types).toEqual({ amount: 'DECIMAL(38,0)', price: 'DOUBLE' });
  });

  test('a number column is text if a double would change one of its values', async () => {
    const rows = [
      { exact: '1.50', long: 0.5, huge: 1 },
      { exact: '-0.000', long: '0.1000000000000000055', huge: '1e400' },
      { exact: 5e-324, long: 2, huge: '-2.50' },
    ];
    const path = await exported(rows, schemaOf({ exact: 'number', long: 'number', huge: 'number' }));
    const { types, rows: read } = await readWithDuck(path);
    expect(types).toEqual({ exact: 'DOUBLE', long: 'VARCHAR', huge: 'VARCHAR' });
    expect(read).toEqual([
      { exact: 1.5, long: '0.5', huge: '1' },
      { exact: 0, long: '0.1000000000000000055', huge: `1${'0'.repeat(400)}` },
      { exact: 5e-324, long: '2', huge: '-2.50' },
    ]);
  });

  test.each<[string, ColumnType, unknown, RegExp]>([
    ['an integer', 'integer', '1.5', /amount is "1\.5", which is not an exact integer/],
    ['an integer beyond 2^53 as a number', 'integer', 2 ** 53, /"9007199254740992", which is not an exact integer/],
    ['a number', 'number', 'one', /"one", which is not a decimal number/],
    ['a boolean', 'boolean', 1, /"1", which is neither true nor false/],
    ['a timestamp', 'timestamp', '2024-02-29 23:59:59', /not an ISO 8601 timestamp with a zone/],
    ['JSON', 'json', () => 1, /has no JSON/],
    ['text', 'text', Symbol('a'), /amount is "symbol", which is not text/],
  ])('a value that is not %s is an error that names row and column', async (_what, type, value, message) => {
    const folder = temporaryFolder();
    const schema = { ...schemaOf({ id: 'text', amount: type }), key: ({ id }: Row) => String(id) };
    const source = sourceOf([[{ id: 'a' }, { id: 'b', amount: value }]], schema);
    const error: unknown = await exportTo(source, parquet({ path: join(folder, 'rows.parquet') }))
      .run()
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'sink', details: { column: 'amount', type } });
    expect(error).toHaveProperty('message', expect.stringMatching(/^Row 2 of this run, b, does not fit: /));
    expect(error).toHaveProperty('message', expect.stringMatching(message));
    expect(readdirSync(folder)).toEqual([]);
  });

  test('any rows are read as they were, from any number of row groups', { tags: ['slow'] }, async () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 40 });
    const rowOf = fc.record({
      name: fc.option(fc.oneof(text, fc.string({ unit: 'binary-ascii' }))),
      amount: fc.option(fc.bigInt({ min: -(10n ** 38n) + 1n, max: 10n ** 38n - 1n })),
      price: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
      listed: fc.option(fc.boolean()),
      at: fc.option(fc.bigInt({ min: -(10n ** 16n), max: 10n ** 16n })),
      traits: fc.option(fc.jsonValue()),
    });
    const instant = (micros: bigint): string => {
      const millis = (micros - (((micros % 1_000n) + 1_000n) % 1_000n)) / 1_000n;
      const rest = String(((micros % 1_000n) + 1_000n) % 1_000n).padStart(3, '0');
      return new Date(Number(millis)).toISOString().replace('Z', `${rest}Z`);
    };
    const columns = `name, amount::varchar amount, price, listed, epoch_us("at")::varchar "at", traits::varchar traits`;
    await fc.assert(
      fc.asyncProperty(fc.array(rowOf, { maxLength: 60 }), fc.integer({ min: 1, max: 25 }), async (rows, rowGroup) => {
        const sent = rows.map((row) => ({ ...row, at: row.at === null ? null : instant(row.at) }));
        const path = await exported(sent, allTypes, { rowGroup });
        const { rows: read } = await queryDuck(`select ${columns} from read_parquet('${path}')`);
        const expected = rows.map(({ name, amount, price, listed, at, traits }) => ({
          name,
          amount: amount === null ? null : String(amount),
          price: price === null ? null : price + 0,
          listed,
          at: at === null ? null : String(at),
          traits: traits === null ? null : JSON.stringify(traits),
        }));
        expect(read).toEqual(expected);
      }),
      { numRuns: casesOf(60) },
    );
  });

  test('a filter finds its rows by the statistics of the row groups', { tags: ['slow'] }, async () => {
    const rows = Array.from({ length: 200 }, (_, nth) => ({
      amount: BigInt(nth - 100) * 10n ** 30n,
      price: nth / 8,
      name: `${nth % 2 ? 'é' : '🦊'}${nth}`.repeat(9),
      at: new Date(nth * 86_400_000),
    }));
    const schema = schemaOf({ amount: 'integer', price: 'number', name: 'text', at: 'timestamp' });
    const path = await exported(rows, schema, { rowGroup: 10 });
    const conditions = [
      ['amount < -99000000000000000000000000000000', 1],
      ['price >= 24.875', 1],
      [`name = '${'é7'.repeat(9)}'`, 1],
      [`name > '${'é'.repeat(9)}'`, 100],
      [`"at" between '1970-01-03T00:00:00Z' and '1970-01-04T00:00:00Z'`, 2],
    ] as const;
    for (const [condition, count] of conditions) {
      const { rows: read } = await queryDuck(`select count(*)::int n from read_parquet('${path}') where ${condition}`);
      expect(read, condition).toEqual([{ n: count }]);
    }
  });
});

describe('D7 a Parquet file', () => {
  test('has its rows in groups of bounded size', { tags: ['slow'] }, async () => {
    const sizesOf = (path: string): number[] => {
      const file = readFileSync(path);
      const bytes = file.buffer.slice(file.byteOffset, file.byteOffset + file.length);
      return parquetMetadata(bytes).row_groups.map(({ num_rows: rows }) => Number(rows));
    };
    const rows = Array.from({ length: 25 }, (_, id) => ({ id }));
    expect(sizesOf(await exported(rows, schemaOf({ id: 'integer' }), { rowGroup: 10 }))).toEqual([10, 10, 5]);
    const wide = Array.from({ length: 5 }, (_, id) => ({ id, text: 'x'.repeat(7_000_000) }));
    expect(sizesOf(await exported(wide, schemaOf({ id: 'integer', text: 'text' })))).toEqual([3, 2]);
    expect(sizesOf(await exported([], schemaOf({ id: 'integer' })))).toEqual([]);
  });

  test('without rows has its columns', async () => {
    const path = await exported([], schemaOf({ id: 'integer', name: 'text' }));
    expect(await readWithDuck(path)).toEqual({ types: { id: 'DECIMAL(38,0)', name: 'VARCHAR' }, rows: [] });
  });

  test('has the columns that are named, in that order, with awkward names too', async () => {
    const schema: RowSchema<Row> = {
      columns: ['a.b', 'constructor', '', 'ü "x"'],
      types: { '': 'integer', 'ü "x"': 'boolean' },
    };
    const rows: readonly Row[] = [{ 'a.b': 'x', '': 1, 'ü "x"': true }];
    const { types, rows: read } = await readWithDuck(
      await exported(rows, schema, { columns: ['ü "x"', 'constructor', 'a.b'] }),
    );
    expect(Object.keys(types)).toEqual(['ü "x"', 'constructor', 'a.b']);
    expect(read).toEqual([{ 'ü "x"': true, constructor: null, 'a.b': 'x' }]);
  });

  test('says how to install the package that it needs', async () => {
    const missing = 'hyparquet-writer-of-nobody';
    const loaded = loadParquetLibrary(() => import(missing) as Promise<never>);
    await expect(loaded).rejects.toMatchObject({
      code: 'config',
      message: expect.stringMatching(/hyparquet-writer, which is not installed.*npm install hyparquet-writer@/),
    });
    const broken = loadParquetLibrary(() => Promise.reject(new Error('broken')));
    await expect(broken).rejects.toThrow('broken');
  });

  test.each([
    ['a column is unknown', { columns: ['none'] }, /There is no column "none"/],
    ['a column is named twice', { columns: ['id', 'id'] }, /named twice/],
    ['a row group has no rows', { rowGroup: 0 }, /^rowGroup is 0: it must be a whole number of at least 1\.$/],
    ['the path names no file', { path: 'folder/' }, /ends like a folder's/],
    ['the path is empty', { path: '' }, /^The path of the file is empty\.$/],
  ])('is refused if %s', async (_what, options, message) => {
    await expect(
      exported([], schemaOf({ id: 'text' }), options).catch((error: unknown) => error),
    ).resolves.toMatchObject({ code: 'config', message: expect.stringMatching(message) });
  });

  test('is refused for a source that never ends, before any request', async () => {
    const source = sourceOf([[]], schemaOf({ id: 'text' }));
    const endless = { info: { ...source.info, isEndless: true as const }, pages: () => source.pages() };
    const folder = temporaryFolder();
    const run = exportTo(endless, parquet({ path: join(folder, 'rows.parquet') }), { state: memoryState() }).run();
    await expect(run).rejects.toThrow(/would never be complete.*Write JSON Lines/);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('is refused before any request if it can not be written', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'rows.parquet');
    const source = sourceOf([[{ id: 1 }]], schemaOf({ id: 'integer' }), () => expect.unreachable());
    const state = { ...memoryState(), folder: '/elsewhere' };
    const volumes: FileSystem = {
      ...nodeFileSystem,
      volume: (of) => Promise.resolve({ id: of === '/elsewhere' ? '2' : '1', kind: 'disk' }),
    };
    const run = (options: Partial<ParquetOptions>): Promise<unknown> =>
      exportTo(source, parquet({ path, ...options }), { state }).run();
    await expect(run({ fileSystem: volumes })).rejects.toThrow(/are on different file systems/);
    await expect(run({ path: join(folder, 'gone', 'rows.parquet') })).rejects.toThrow(/does not exist/);
    expect(readdirSync(folder)).toEqual([]);
    writeFileSync(`${path}.part`, 'mine');
    await expect(run({})).rejects.toThrow(/rows\.parquet\.part exists already/);
    expect(readdirSync(folder)).toEqual(['rows.parquet.part']);
  });

  test('is encoded at the end, and nothing else is left', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'rows.parquet');
    const seen: unknown[] = [];
    const source = sourceOf([[{ id: 1 }], [{ id: 2 }], [{ id: 3 }]], schemaOf({ id: 'integer' }), () => {
      seen.push([readdirSync(folder), existsSync(`${path}.part`) && readFileSync(`${path}.part`).length]);
    });
    await exportTo(source, parquet({ path })).run();
    expect(seen).toEqual(Array(3).fill([['rows.parquet.part', 'rows.parquet.sluice'], 0]));
    expect(readdirSync(folder)).toEqual(['rows.parquet']);
  });

  test('that appears while the export runs is not touched, and no row is lost', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'rows.parquet');
    const source = sourceOf([[{ id: 1 }], [{ id: 2 }]], schemaOf({ id: 'integer' }), () => {
      writeFileSync(path, 'mine');
    });
    await expect(exportTo(source, parquet({ path })).run()).rejects.toThrow(/appeared.*All rows are in .*\.part/);
    expect(readFileSync(path, 'utf8')).toBe('mine');
    expect(readdirSync(folder)).toEqual(['rows.parquet', 'rows.parquet.part']);
    expect((await readWithDuck(`${path}.part`)).rows).toEqual([{ id: '1' }, { id: '2' }]);
  });

  test('of an export that finished is not written again', async () => {
    const path = join(temporaryFolder(), 'rows.parquet');
    const state = memoryState();
    const source = sourceOf([[{ id: 1 }]], schemaOf({ id: 'integer' }));
    const first = await exportTo(source, parquet({ path }), { state }).run();
    const second = await exportTo(source, parquet({ path }), { state }).run();
    expect(second).toMatchObject({ finishedAt: expect.any(String), bytes: first.bytes });
    writeFileSync(path, 'another');
    await expect(exportTo(source, parquet({ path }), { state }).run()).rejects.toThrow(/exists already/);
  });

  test('replaces a file only if told to, when it is complete', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'rows.parquet');
    writeFileSync(path, 'the old file');
    const source = sourceOf([[{ id: 1 }]], schemaOf({ id: 'integer' }), () => {
      expect(readFileSync(path, 'utf8')).toBe('the old file');
    });
    await expect(exportTo(source, parquet({ path })).run()).rejects.toThrow(/exists already/);
    expect(readdirSync(folder)).toEqual(['rows.parquet']);
    await exportTo(source, parquet({ path, ifExists: 'overwrite' })).run();
    expect((await readWithDuck(path)).rows).toEqual([{ id: '1' }]);
  });

  test('D3 replaces what a link leads to, and the link stays', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'data'));
    writeFileSync(join(folder, 'data', 'november.parquet'), 'the old file');
    const path = join(folder, 'latest.parquet');
    symlinkSync('data/november.parquet', path);
    const source = sourceOf([[{ id: 1 }]], schemaOf({ id: 'integer' }));
    await exportTo(source, parquet({ path, ifExists: 'overwrite' })).run();
    expect(readlinkSync(path)).toBe('data/november.parquet');
    expect((await readWithDuck(path)).rows).toEqual([{ id: '1' }]);
    expect([readdirSync(folder), readdirSync(join(folder, 'data'))]).toEqual([
      ['data', 'latest.parquet'],
      ['november.parquet'],
    ]);
  });

  test(
    'that is cancelled while it is encoded stops after a row group, and is encoded again',
    { tags: ['slow'] },
    async () => {
      const folder = temporaryFolder();
      const path = join(folder, 'rows.parquet');
      const stop = new AbortController();
      let writes = 0;
      const stopping: FileSystem = {
        ...nodeFileSystem,
        open: async (name, mode) => {
          const file = await nodeFileSystem.open(name, mode);
          if (name !== `${path}.part`) return file;
          const write: typeof file.write = (bytes, position) => {
            writes += 1;
            stop.abort(new Error('enough'));
            return file.write(bytes, position);
          };
          return { ...file, write };
        },
      };
      // A group is written at once, so the second one is never encoded.
      const rows = Array.from({ length: 50 }, (_, id) => ({ id, text: randomBytes(100_000).toString('hex') }));
      const source = sourceOf([rows.slice(0, 20), rows.slice(20)], schemaOf({ id: 'integer', text: 'text' }));
      const state = fileState(`${path}.sluice`, { trustFileSystem: true });
      const run = exportTo(source, parquet({ path, rowGroup: 10, fileSystem: stopping }), { state, commitEvery: 1 });
      await expect(run.run({ signal: stop.signal })).rejects.toThrow('enough');
      expect(writes).toBe(1);
      expect(readdirSync(folder)).toEqual(['rows.parquet.sluice']);
      await exportTo(source, parquet({ path, rowGroup: 10 }), { state }).run();
      expect((await readParquet(path)).map(({ text }) => text)).toEqual(rows.map(({ text }) => text));
    },
  );
});

describe('D7 a Parquet export that is killed', () => {
  const holdings = 4_000;
  const rowGroup = 500;
  const concurrency = 2;

  const moments = [
    ['in a later row group', 'holdings.parquet.part', 3],
    ['while rows arrive', 'holdings.parquet.sluice/rows.jsonl.part', 3],
    ['in the first row group', 'holdings.parquet.part', 1],
  ] as const;

  test.each(someOf(moments))(
    '%s has each row once after the next run',
    { tags: ['slow'] },
    async (_when, stalled, write) => {
      await using sandbox = await startSandbox({ holdings, owners: 5 });
      const whole = join(temporaryFolder(), 'holdings.parquet');
      await using client = sandboxClient(sandbox);
      const source = client.aptos.nfts({ ownerAddresses: sandbox.owners, ownersPerRequest: 1 });
      await exportTo(source, parquet({ path: whole, rowGroup })).run();
      const folder = temporaryFolder();
      const path = join(folder, 'holdings.parquet');
      await killExportChild(sandbox, path, { concurrency, rowGroup, stallAt: { path: join(folder, stalled), write } });
      expect(existsSync(path)).toBe(false);
      const outcome = await runExportChild(sandbox, path, { concurrency, rowGroup });
      expect(outcome).toMatchObject({ rows: holdings, bytes: readFileSync(path).length });
      expect(readFileSync(path).equals(readFileSync(whole))).toBe(true);
      expect(readdirSync(folder).sort()).toEqual(['holdings.parquet', 'holdings.parquet.sluice']);
      expect(readdirSync(`${path}.sluice`).filter((name) => name.startsWith('rows'))).toEqual([]);
      const { rows } = await queryDuck(`select count(*)::int n from read_parquet('${path}')`);
      expect(rows).toEqual([{ n: holdings }]);
    },
  );
});
