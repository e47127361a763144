// The bare driver as fast as we can make it, while the next page arrives: statements with ten rows or COPY, 5,000 rows a
// transaction; Parquet by row groups. Columns have the types that Sluice gives them; the database checks values, if
// anybody does.
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import { DatabaseSync } from '@photostructure/sqlite';
import pg from 'pg';
import copyStreams from 'pg-copy-streams';
import { loadParquetLibrary, type ParquetLibrary } from '../../packages/exporters/src/parquet/encodeParquet.js';
import { columns, type HoldingsPage, type Job } from './contestant.js';
import { readAhead } from './readAhead.js';
import { adapterAxios } from './adapterAxios.js';

const pagesOfCommit = 50;
const rowsOfGroup = 24_000;

/** The types of PostgreSQL for columns that are not text. */
const types = new Map([
  ...['amount', 'property_version', 'last_transaction_version'].map((name) => [name, 'numeric'] as const),
  ['last_transaction_timestamp', 'timestamptz'],
  ['token_properties', 'json'],
]);
const texts = columns.slice(0, -1);

export async function exportHoldings(job: Job): Promise<number> {
  const { api, close } = adapterAxios();
  const rows = await writeTable(
    job,
    readAhead(job, async (path) => (await api.get<HoldingsPage>(job.url + path)).data),
  );
  await close();
  return rows;
}

function writeTable(job: Job, pages: AsyncIterable<HoldingsPage>): Promise<number> {
  if (job.format === 'parquet') return encoded(job, pages);
  return job.format === 'postgres' ? copied(job, pages) : inserted(job, pages);
}

async function inserted({ path }: Job, pages: AsyncIterable<HoldingsPage>): Promise<number> {
  rmSync(path, { force: true });
  const db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  db.exec(`CREATE TABLE rows (${columns.map((name) => `${name} TEXT`).join()})`);
  // Each page has a multiple of ten rows.
  const marks = `(${columns.map(() => '?').join()})`;
  const insert = db.prepare(`INSERT INTO rows VALUES ${new Array(10).fill(marks).join()}`);
  const rows = await inCommits(pages, (batch) => {
    db.exec('BEGIN');
    let cells: (string | null)[] = [];
    for (const row of batch) {
      cells.push(...cellsOf(row));
      if (cells.length < 10 * columns.length) continue;
      insert.run(...cells);
      cells = [];
    }
    db.exec('COMMIT');
    return Promise.resolve();
  });
  db.exec('PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = delete');
  db.close();
  return rows;
}

async function copied({ database }: Job, pages: AsyncIterable<HoldingsPage>): Promise<number> {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  const definitions = columns.map((name) => `${name} ${types.get(name) ?? 'text'}`);
  await client.query(`DROP TABLE IF EXISTS bare; CREATE TABLE bare (${definitions.join()})`);
  const rows = await inCommits(pages, async (batch) => {
    await client.query('BEGIN');
    // The text of one row is encoded in half the time of that of all.
    const bytes = Buffer.concat(batch.map((row) => Buffer.from(lineOf(row))));
    await pipeline(Readable.from([bytes]), client.query(copyStreams.from('COPY bare FROM STDIN')));
    await client.query('COMMIT');
  });
  await client.end();
  return rows;
}

/** Columns of a row group at a time, by the same library, with the types that Sluice gives them. */
async function encoded({ path }: Job, pages: AsyncIterable<HoldingsPage>): Promise<number> {
  const { ByteWriter, ParquetWriter } = await loadParquetLibrary();
  const file = openSync(path, 'w');
  const bytes = new ByteWriter();
  const flush = (): void => {
    writeSync(file, bytes.getBytes());
    bytes.index = 0;
  };
  const writer = new ParquetWriter({
    writer: Object.assign(bytes, { flush, finish: flush }),
    schema: [{ name: 'rows', num_children: columns.length }, ...columns.map(elementOf)],
    codec: 'GZIP',
    compressors: { GZIP: (page) => gzipSync(page, { level: 1 }) },
  });
  let group = columns.map((): unknown[] => []);
  const write = (): void => {
    const columnData = columns.map((name, nth) => ({
      name,
      data: group[nth] ?? [],
      statistics: !types.get(name)?.startsWith('json'),
    }));
    void writer.write({ columnData, rowGroupSize: group[0]?.length ?? 0 });
    group = columns.map((): unknown[] => []);
  };
  let rows = 0;
  for await (const { result } of pages) {
    for (const [nth, name] of columns.entries()) {
      const read = reads[types.get(name) ?? 'text'];
      const values = group[nth] ?? [];
      for (const row of result) values.push(read?.(row[name]));
    }
    rows += result.length;
    if ((group[0]?.length ?? 0) >= rowsOfGroup) write();
  }
  if ((group[0]?.length ?? 0) > 0) write();
  void writer.finish();
  closeSync(file);
  return rows;
}

type SchemaElement = ConstructorParameters<ParquetLibrary['ParquetWriter']>[0]['schema'][number];

/** The values of a column by its type, without microseconds. */
const reads: Readonly<Record<string, (value: unknown) => unknown>> = {
  text: (value) => value ?? null,
  json: (value) => (value === null || value === undefined ? null : JSON.stringify(value)),
  numeric: (value) => (typeof value === 'string' ? BigInt(value) : null),
  timestamptz: (value) => (typeof value === 'string' ? BigInt(Date.parse(value)) * 1_000n : null),
};
const decimal = { precision: 38, scale: 0 };
const elements: Readonly<Record<string, Omit<SchemaElement, 'name'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  json: { type: 'BYTE_ARRAY', logical_type: { type: 'JSON' } },
  numeric: { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, converted_type: 'DECIMAL', ...decimal },
  timestamptz: { type: 'INT64', converted_type: 'TIMESTAMP_MICROS' },
};

function elementOf(name: string): SchemaElement {
  return { name, repetition_type: 'OPTIONAL', ...elements[types.get(name) ?? 'text'] };
}

/** Text as it came, and the properties as JSON. */
function cellsOf(row: Record<string, unknown>): (string | null)[] {
  const cells = texts.map((name) => (row[name] as string | null | undefined) ?? null);
  const { token_properties: properties } = row;
  cells.push(properties === null || properties === undefined ? null : JSON.stringify(properties));
  return cells;
}

function lineOf(row: Record<string, unknown>): string {
  let line = '';
  for (const name of texts) line += `${escaped(row[name] as string | null | undefined)}\t`;
  const { token_properties: properties } = row;
  return `${line}${escaped(properties === null || properties === undefined ? null : JSON.stringify(properties))}\n`;
}

type Rows = HoldingsPage['result'];

async function inCommits(pages: AsyncIterable<HoldingsPage>, commit: (rows: Rows) => Promise<void>): Promise<number> {
  let [rows, count]: [Record<string, unknown>[], number] = [[], 0];
  let waiting = 0;
  for await (const { result } of pages) {
    rows.push(...result);
    count += result.length;
    waiting += 1;
    if (waiting < pagesOfCommit) continue;
    await commit(rows);
    [rows, waiting] = [[], 0];
  }
  if (rows.length > 0) await commit(rows);
  return count;
}

const special = /[\\\t\n\r\0]/;
const escapes: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\r': '\\r', '\0': '\uFFFD' };

function escaped(text: string | null | undefined): string {
  if (text === null || text === undefined) return '\\N';
  if (!special.test(text)) return text;
  return text.replaceAll('\\', '\\\\').replace(/[\t\n\r\0]/g, (found) => escapes[found] ?? found);
}
