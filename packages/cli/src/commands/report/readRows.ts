import { createReadStream, existsSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip, gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse';
import { parquetMetadataAsync, parquetReadObjects, parquetSchema } from 'hyparquet';
import { Failure, UsageError } from '../../errors/errors.js';
import { thrownText } from '../../errors/thrown.js';
import { tableName } from '../../target/tableTarget.js';
import type { ReportRow } from './figures.js';

/** The rows of a file, to be read once. */
export interface RowFile {
  readonly columns: readonly string[];
  readonly rows: AsyncIterable<ReportRow>;
  readonly close: () => Promise<void>;
}

/** Opens a file of rows by its name. @param path for messages, and absolute or relative to the process. */
export async function openRows(name: string, resolved: (path: string) => string): Promise<RowFile> {
  const table = tableName(name);
  if (table?.kind === 'postgres')
    throw new UsageError('sluice report reads files: FILE.csv, FILE.csv.gz, FILE.sqlite#TABLE or FILE.parquet.');
  const path = resolved(table?.path ?? name);
  const opener = table ? () => sqliteRows(path, table.table) : findOpener(path);
  if (!opener)
    throw new UsageError(
      `${name} is not a file that sluice report reads: FILE.csv, FILE.csv.gz, FILE.sqlite#TABLE or FILE.parquet.`,
    );
  if (!existsSync(path)) throw new Failure(`${name} does not exist.`);
  try {
    const file = await opener();
    return { ...file, rows: readable(file.rows, name) };
  } catch (error) {
    throw unreadable(name, error);
  }
}

function findOpener(path: string): (() => Promise<RowFile>) | undefined {
  if (/\.csv(\.gz)?$/i.test(path)) return () => csvRows(path);
  return /\.parquet$/i.test(path) ? () => parquetRows(path) : undefined;
}

async function* readable(rows: AsyncIterable<ReportRow>, name: string): AsyncGenerator<ReportRow> {
  try {
    yield* rows;
  } catch (error) {
    throw unreadable(name, error);
  }
}

function unreadable(name: string, error: unknown): Error {
  if (error instanceof Failure || error instanceof UsageError) return error;
  return new Failure(`${name} can't be read: ${thrownText(error)}`);
}

async function csvRows(path: string): Promise<RowFile> {
  const file = createReadStream(path);
  const parser = parse({ bom: true });
  // An error of any of them reaches whoever reads the parser.
  const ended = (): void => undefined;
  if (/\.gz$/i.test(path)) pipeline(file, createGunzip(), parser, ended);
  else pipeline(file, parser, ended);
  const records: AsyncIterator<unknown> = parser[Symbol.asyncIterator]();
  const header = await records.next();
  const columns = header.done ? [] : toTexts(header.value);
  async function* rows(): AsyncGenerator<ReportRow> {
    for (let next = await records.next(); !next.done; next = await records.next()) {
      const texts = toTexts(next.value);
      yield Object.fromEntries(columns.map((column, at) => [column, texts[at]]));
    }
  }
  return {
    columns,
    rows: rows(),
    close: () => {
      file.destroy();
      parser.destroy();
      return Promise.resolve();
    },
  };
}

function toTexts(record: unknown): string[] {
  return Array.isArray(record) ? record.map(String) : [];
}

/** Our writer ends a row group after 16 MB, so one fits into memory. */
async function parquetRows(path: string): Promise<RowFile> {
  const handle = await open(path, 'r');
  try {
    const { size: byteLength } = await handle.stat();
    const file = { byteLength, slice: (start: number, end = byteLength) => readBytes(handle, start, end) };
    const metadata = await parquetMetadataAsync(file);
    const columns = parquetSchema(metadata).children.map(({ element }) => element.name);
    const compressors = { GZIP: (page: Uint8Array) => new Uint8Array(gunzipSync(page)) };
    async function* rows(): AsyncGenerator<ReportRow> {
      let rowStart = 0;
      for (const { num_rows: count } of metadata.row_groups) {
        const rowEnd = rowStart + Number(count);
        yield* await parquetReadObjects({ file, metadata, rowStart, rowEnd, compressors });
        rowStart = rowEnd;
      }
    }
    return { columns, rows: rows(), close: () => handle.close() };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function readBytes(handle: FileHandle, start: number, end: number): Promise<ArrayBuffer> {
  const bytes = new Uint8Array(end - start);
  const { bytesRead } = await handle.read(bytes, 0, bytes.length, start);
  return bytes.buffer.slice(0, bytesRead);
}

/** What is used of `node:sqlite`, and of packages with the same interface. */
interface SqliteModule {
  readonly DatabaseSync: new (path: string, options: { readonly readOnly: boolean }) => SqliteDatabase;
}

interface SqliteDatabase {
  prepare(sql: string): {
    setReadBigInts(isOn: boolean): void;
    all(...parameters: readonly string[]): readonly unknown[];
    iterate(): Iterator<unknown>;
  };
  close(): void;
}

async function sqliteRows(path: string, table: string): Promise<RowFile> {
  const { DatabaseSync } = await loadSqlite();
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    const found = db.prepare('SELECT name FROM pragma_table_info(?)').all(table).filter(isRow);
    const columns = found.map(({ name }) => String(name));
    if (columns.length === 0)
      throw new Failure(`${path} has no table ${JSON.stringify(table)}: name one as FILE#TABLE.`);
    const select = db.prepare(`SELECT * FROM "${table.replaceAll('"', '""')}"`);
    select.setReadBigInts(true);
    async function* rows(): AsyncGenerator<ReportRow> {
      const iterator = select.iterate();
      for (let next = iterator.next(); !next.done; next = iterator.next()) {
        const row: unknown = next.value;
        // A pending signal gets its turn.
        if (isRow(row)) yield await Promise.resolve(row);
      }
    }
    const close = (): Promise<void> => {
      db.close();
      return Promise.resolve();
    };
    return { columns, rows: rows(), close };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Node's own, unless the package is installed. @throws Failure if there is neither. */
async function loadSqlite(): Promise<SqliteModule> {
  // Specifiers in variables, since either may be absent.
  for (const name of ['@photostructure/sqlite', 'node:sqlite']) {
    const found: unknown = await import(name).catch(() => undefined);
    if (isSqlite(found)) return found;
  }
  throw new Failure(
    'To read SQLite, this version of Node needs a package: npm install @photostructure/sqlite@1. From Node 22.13 on, there is nothing to install.',
  );
}

function isSqlite(module: unknown): module is SqliteModule {
  return typeof module === 'object' && module !== null && 'DatabaseSync' in module;
}

function isRow(value: unknown): value is ReportRow {
  return typeof value === 'object' && value !== null;
}
