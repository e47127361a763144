import { createReadStream, existsSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip, gunzipSync } from 'node:zlib';
import { isRecord } from '@sluice/core/kit';
import { splitLines } from '@sluice/core/node';
import { parse } from 'csv-parse';
import { parquetMetadataAsync, parquetReadObjects, parquetSchema } from 'hyparquet';
import type { Environment } from '../../environment/environment.js';
import { Failure, UsageError } from '../../errors/errors.js';
import { thrownText } from '../../errors/thrown.js';
import { openTable, tableName } from '../../target/tableTarget.js';
import { formatNumber } from '../../terminal/format.js';
import type { ReportRow } from './figures.js';

/** Bytes of a row of a text file: what is longer is not one of ours, and would fill the memory. */
const longestRow = 64_000_000;

/** Rows to be read once. */
export interface RowsToRead {
  readonly columns: readonly string[];
  readonly rows: AsyncIterable<ReportRow>;
}

/** What is read, in messages. */
export const called = 'The table of the report';

type Use<R> = (found: RowsToRead) => Promise<R>;

const kinds =
  'FILE.csv or FILE.jsonl (also with .gz), FILE.parquet, FILE.sqlite#TABLE or postgres://user@host/database?table=TABLE';

/** Reads the rows of a file or a table. @param use reads them, and does not keep them. */
export async function readRows<R>(name: string, environment: Environment, use: Use<R>): Promise<R> {
  const { signal } = environment;
  const table = tableName(name, called);
  const signalled: Use<R> = ({ columns, rows }) => use({ columns, rows: untilAborted(rows, signal) });
  if (table) return (await openTable(table, environment)).readRows(signalled);
  const path = resolve(environment.folder, name);
  const read = readers.find(([pattern]) => pattern.test(path))?.[1];
  if (!read) throw new UsageError(`${name} is not what sluice report reads: ${kinds}.`);
  if (!existsSync(path)) throw new Failure(`${name} does not exist.`);
  try {
    return await read(path, signalled);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Failure) throw error;
    throw new Failure(`${name} can't be read: ${thrownText(error)}`);
  }
}

type Reader = <R>(path: string, use: Use<R>) => Promise<R>;

async function* untilAborted(rows: AsyncIterable<ReportRow>, signal: AbortSignal): AsyncGenerator<ReportRow> {
  for await (const row of rows) {
    signal.throwIfAborted();
    yield row;
  }
}

/** The bytes of a file, decompressed if its name says so. */
async function withStream<R>(path: string, use: (stream: Readable) => Promise<R>): Promise<R> {
  const file = createReadStream(path);
  // An error of either reaches whoever reads the last one.
  const stream = /\.gz$/i.test(path) ? pipeline(file, createGunzip(), () => undefined) : file;
  try {
    return await use(stream);
  } finally {
    file.destroy();
    stream.destroy();
  }
}

const csvRows: Reader = (path, use) =>
  withStream(path, async (stream) => {
    const parser = pipeline(stream, parse({ bom: true, max_record_size: longestRow }), () => undefined);
    const records: AsyncIterator<unknown> = parser[Symbol.asyncIterator]();
    const header = await records.next();
    const columns = header.done ? [] : toTexts(header.value);
    async function* rows(): AsyncGenerator<ReportRow> {
      for (let next = await records.next(); !next.done; next = await records.next()) {
        const texts = toTexts(next.value);
        yield Object.fromEntries(columns.map((column, at) => [column, texts[at]]));
      }
    }
    return use({ columns, rows: rows() });
  });

function toTexts(record: unknown): string[] {
  return Array.isArray(record) ? record.map(String) : [];
}

/** The columns are those of the first row: rows may lack some, and the first ones may, too. */
const jsonRows: Reader = (path, use) =>
  withStream(path, async (stream) => {
    const rows = parseLines(stream);
    const first = await rows.next();
    async function* all(): AsyncGenerator<ReportRow> {
      if (first.done) return;
      yield first.value;
      yield* rows;
    }
    return use({ columns: first.done ? [] : Object.keys(first.value), rows: all() });
  });

async function* parseLines(stream: AsyncIterable<Buffer>): AsyncGenerator<ReportRow, undefined, undefined> {
  let number = 0;
  for await (const { bytes } of splitLines(boundLines(stream))) {
    number += 1;
    const line = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (line.trim() === '') continue;
    const row = parseRow(line);
    if (!row) throw new Error(`line ${formatNumber(number)} is not a JSON object`);
    yield row;
  }
}

async function* boundLines(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer, undefined, undefined> {
  let size = 0;
  for await (const chunk of stream) {
    const start = chunk.lastIndexOf('\n') + 1;
    size = (start === 0 ? size : 0) + chunk.length - start;
    if (size > longestRow) throw new Error(`a line has more than ${formatNumber(longestRow)} bytes`);
    yield chunk;
  }
}

function parseRow(line: string): ReportRow | undefined {
  try {
    const row: unknown = JSON.parse(line);
    return isRecord(row) ? row : undefined;
  } catch {
    return undefined;
  }
}

/** Our writer ends a row group after 16 MB, so one fits into memory. */
const parquetRows: Reader = async (path, use) => {
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
    return await use({ columns, rows: rows() });
  } finally {
    await handle.close();
  }
};

async function readBytes(handle: FileHandle, start: number, end: number): Promise<ArrayBuffer> {
  const bytes = new Uint8Array(end - start);
  const { bytesRead } = await handle.read(bytes, 0, bytes.length, start);
  return bytes.buffer.slice(0, bytesRead);
}

const readers: readonly (readonly [RegExp, Reader])[] = [
  [/\.csv(\.gz)?$/i, csvRows],
  [/\.(jsonl|ndjson)(\.gz)?$/i, jsonRows],
  [/\.parquet$/i, parquetRows],
];
