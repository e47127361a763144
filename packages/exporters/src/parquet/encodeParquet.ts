import { gzipSync } from 'node:zlib';
import { ConfigError } from '@sluice/core';
import type { Column } from '@sluice/core/kit';
import type { ByteWriter, ParquetWriter, SchemaElement } from 'hyparquet-writer';
import { parquetTypes, unreadable } from './parquetTypes.js';

/** The library that encodes Parquet. */
export interface ParquetLibrary {
  readonly ParquetWriter: typeof ParquetWriter;
  readonly ByteWriter: typeof ByteWriter;
}

/** Loads the library, an optional peer. @throws ConfigError if it is not installed. */
export async function loadParquetLibrary(
  load: () => Promise<ParquetLibrary> = () => import('hyparquet-writer'),
): Promise<ParquetLibrary> {
  try {
    return await load();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
    throw new ConfigError(
      'A Parquet file needs the package hyparquet-writer, which is not installed. Install it: npm install hyparquet-writer@0.17',
      { package: 'hyparquet-writer' },
    );
  }
}

/** What {@link encodeParquet} needs besides the rows. */
export interface ParquetEncoding {
  readonly columns: readonly Column[];
  /** Columns that are written as text. */
  readonly asText: InexactColumns;
  /** Max rows of a row group. A group also ends after 16 MB of text, so its rows fit into memory. */
  readonly rowGroup: number;
  readonly append: (bytes: Uint8Array) => Promise<void>;
  /** Aborted between two row groups. */
  readonly signal: AbortSignal;
}

/** Columns with a value that their Parquet type can't hold exactly, each with the first row that has one, from 1. */
export type InexactColumns = ReadonlyMap<string, number>;

const maxTextOfGroup = 16 * 1024 * 1024;

/**
 * Encodes rows one row group at a time. If it returns any columns, the bytes are useless, and the rows have to be encoded
 * again with these columns as text.
 *
 * @param lines of `typedRowFormat`.
 */
export async function encodeParquet(
  { ByteWriter, ParquetWriter }: ParquetLibrary,
  lines: AsyncIterable<string>,
  { columns, asText, rowGroup, append, signal }: ParquetEncoding,
): Promise<InexactColumns> {
  const types = columns.map(({ name, type }) => {
    const { text, [type]: own = text } = parquetTypes;
    return asText.has(name) ? { ...text, value: own.asText ?? text.value } : own;
  });
  const bytes = new ByteWriter();
  const flush = async (): Promise<void> => {
    await append(bytes.getBytes());
    bytes.index = 0;
  };
  const schema = columns.map(({ name }, nth): SchemaElement => {
    const { element } = types[nth] ?? parquetTypes.text;
    return { name, repetition_type: 'OPTIONAL', ...element };
  });
  const writer = new ParquetWriter({
    writer: Object.assign(bytes, { flush, finish: flush }),
    schema: [{ name: 'rows', num_children: columns.length }, ...schema],
    codec: 'GZIP',
    // The fastest level: smaller than Snappy, and in native code also faster than Snappy in JavaScript.
    compressors: { GZIP: (page) => gzipSync(page, { level: 1 }) },
    createdBy: 'sluice',
  });
  const inexact = new Map<string, number>();
  let before = 0;
  let group: unknown[][] = columns.map(() => []);
  let rows = 0;
  let size = 0;
  const write = async (): Promise<void> => {
    signal.throwIfAborted();
    await writer.write({
      // A bound of JSON is a whole document, so the footer would grow with every group.
      columnData: columns.map(({ name }, nth) => ({
        name,
        data: group[nth] ?? [],
        statistics: types[nth] !== parquetTypes.json,
      })),
      rowGroupSize: rows,
    });
    group = columns.map(() => []);
    rows = 0;
    size = 0;
  };
  for await (const line of lines) {
    const cells = decodeCells(line, columns.length);
    const read = cells.map((column, at) => {
      const type = types[at] ?? parquetTypes.text;
      return column.map((cell) => (cell === null ? null : type.value(cell)));
    });
    for (const [at, { name }] of columns.entries()) {
      const misfit = read[at]?.indexOf(undefined) ?? -1;
      if (misfit >= 0 && !inexact.has(name)) inexact.set(name, before + misfit + 1);
    }
    const count = read[0]?.length ?? 0;
    before += count;
    if (inexact.size > 0) {
      signal.throwIfAborted();
      // The other rows may show more such columns, so that one more pass is enough.
      group = columns.map(() => []);
      continue;
    }
    const sizeOfRow = line.length / count;
    for (let from = 0, taken = 0; from < count; from += taken) {
      taken = Math.min(count - from, rowGroup - rows, Math.ceil((maxTextOfGroup - size) / sizeOfRow));
      for (const [at, values] of read.entries()) group[at]?.push(...values.slice(from, from + taken));
      rows += taken;
      size += taken * sizeOfRow;
      if (rows >= rowGroup || size >= maxTextOfGroup) await write();
    }
  }
  if (inexact.size > 0) return inexact;
  if (rows > 0) await write();
  for (const [nth, type] of types.entries()) Object.assign(schema[nth] ?? {}, type.inFooter);
  await writer.finish();
  return inexact;
}

/** The values of a line, by column. */
function decodeCells(line: string, columns: number): readonly (readonly unknown[])[] {
  const cells: unknown = JSON.parse(line);
  if (!Array.isArray(cells) || cells.length !== columns || !cells.every(Array.isArray)) throw unreadable();
  return cells;
}
