/**
 * Rows as a Parquet file.
 *
 * @module @sluice/exporters/parquet
 */

import { dirname, join, resolve } from 'node:path';
import { ConfigError, type Json, type Sink, SinkError } from '@sluice/core';
import {
  checkCount,
  checkOptions,
  chooseColumns,
  type Column,
  type SinkContext,
  type SinkPage,
  type SinkReport,
  type SinkWriter,
  type WalkEnd,
} from '@sluice/core/kit';
import {
  AppendFile,
  decodeFilePosition,
  withPath,
  type FilePosition,
  type FileSystem,
  fileSink,
  type FileTarget,
  nodeFileSystem,
  PartFile,
  splitLines,
} from '@sluice/core/node';
import { encodeParquet, type InexactColumns, loadParquetLibrary } from './parquet/encodeParquet.js';
import { typedRowFormat } from './parquet/stagedRows.js';

/** Options of {@link parquet}. */
export interface ParquetOptions extends Pick<FileTarget, 'path' | 'fileSystem'> {
  /** If the final name is taken: `fail` (the default) or `overwrite`. Rows can't be appended: the index comes last. */
  readonly ifExists?: 'fail' | 'overwrite' | undefined;
  /** The columns and their order. Default: the source's own. */
  readonly columns?: readonly string[] | undefined;
  /**
   * Max rows of a row group. Default 100,000. A group also ends after 16 MB of values as text, so that memory does not
   * depend on the size of the rows.
   */
  readonly rowGroup?: number | undefined;
  /**
   * Whether a value that the type of its column can't hold is an error before the file gets its name. Default `false`:
   * the whole column is text, and a warning says so.
   */
  readonly strictTypes?: boolean | undefined;
}

const defaultRowGroup = 100_000;

/**
 * A Parquet file, compressed with gzip. The rows are committed as JSON Lines in the folder `path.sluice`. At the end they
 * are encoded into `path.part`, which is renamed. If that is interrupted, the next run encodes them again.
 *
 * Types of columns: `text` is a string, `boolean` a boolean, `json` a string marked as JSON, `timestamp` microseconds in
 * UTC. `integer` is DECIMAL(38, 0), and `number` is DOUBLE, unless one of the column's values has more digits than these
 * hold, or a timestamp a year before 1 or after 9999: then the column is text, which a warning says, or an error with `strictTypes`. Nothing is rounded. An unpaired surrogate in text becomes U+FFFD.
 *
 * It needs the package `hyparquet-writer`.
 *
 * @example await exportTo(holdings, parquet({ path: 'holdings.parquet' })).run();
 * @throws ConfigError if the package is not installed, a column is unknown or the source never ends; SinkError if the
 * file can't be written, or a value does not fit its column.
 */
export function parquet<T extends object>(options: ParquetOptions): Sink<T> {
  checkOptions('parquet()', options, {
    path: 'text',
    fileSystem: true,
    ifExists: true,
    columns: true,
    rowGroup: true,
    strictTypes: true,
  });
  const { columns, ifExists = 'fail', rowGroup = defaultRowGroup, fileSystem = nodeFileSystem } = options;
  checkCount('rowGroup', rowGroup);
  const asked: string = ifExists;
  if (asked === 'append')
    throw new ConfigError(`Rows can't be appended to ${options.path}: its index comes last.`, { option: 'ifExists' });
  const format = typedRowFormat<T>(columns);
  const target = fileSink(format, { path: options.path, ifExists, fileSystem });
  const path = resolve(options.path);
  const newPart = (): Promise<PartFile> => PartFile.at(fileSystem, path, ifExists);
  const folder = `${path}.sluice`;
  const rowsPath = join(folder, 'rows.jsonl');
  const rowsSink = fileSink(format, { path: rowsPath, fileSystem });
  const checkSource = ({ schema, isEndless }: SinkContext<T>): readonly Column[] => {
    if (isEndless)
      throw new ConfigError(
        `${options.path} would never be complete: a Parquet file ends with an index, and this source never ends. Write JSON Lines.`,
      );
    return chooseColumns(columns, schema, 'Parquet file');
  };
  return {
    name: 'parquet',
    identity: { format: 'parquet', columns: columns ? [...columns] : null, rowGroup },
    target: path,
    delivery: 'exactly-once',
    withoutPartition: (sinkPosition, partition) => rowsSink.withoutPartition?.(sinkPosition, partition) ?? null,
    finished: async (sinkPosition) => {
      const at = decodeEncodedEnd(sinkPosition);
      return at && target.finished?.({ ...at });
    },
    check: async (context) => {
      checkSource(context);
      await loadParquetLibrary();
      await target.check?.(context);
      // The folder is created when the sink opens.
      if ((await withPath(fileSystem.kind(folder), folder, 'inspected')) !== 'absent') await rowsSink.check?.(context);
    },
    open: async (context) => {
      const typed = checkSource(context);
      const library = await loadParquetLibrary();
      const { resumeAt, restart, signal, warn } = context;
      const part = await newPart();
      const rows = new CommittedRows(rowsPath, rowsSink, fileSystem);
      const encoded = resumeAt && decodeEncodedEnd(resumeAt.sinkPosition);
      if (encoded) {
        await part.resumeSealed(encoded);
        return new ParquetFile(rows, part, () => Promise.resolve(part));
      }
      // An interrupted run may have begun to encode: that starts over.
      await part.create(restart || resumeAt !== undefined);
      try {
        await rows.open(context);
      } catch (error) {
        await part.abandon(false).catch(() => undefined);
        throw error;
      }
      const encode = (to: PartFile, asText: InexactColumns): Promise<InexactColumns> =>
        encodeParquet(library, rows.lines(), {
          columns: typed,
          asText,
          rowGroup,
          signal,
          append: (bytes) => to.append(bytes),
        });
      return new ParquetFile(rows, part, async () => {
        const inexact = await encode(part, new Map());
        if (inexact.size === 0) return part;
        for (const { name, type } of typed) {
          const row = inexact.get(name);
          if (row === undefined) continue;
          if (options.strictTypes) throw notStrict({ name, type }, row);
          warn?.(
            `${describeValue({ name, type }, row)}, so the whole column is text in ${path}. Strict types refuse that.`,
          );
        }
        await part.abandon(false);
        const second = await newPart();
        await second.create(false);
        await encode(second, inexact);
        return second;
      });
    },
  };
}

function describeValue({ name, type }: Column, row: number): string {
  const why =
    type === 'integer'
      ? 'more than the 38 digits of a DECIMAL'
      : type === 'timestamp'
        ? 'a year before 1 or after 9999'
        : 'more digits than a DOUBLE keeps';
  return `Row ${row.toLocaleString('en')} has a value in ${name} with ${why}`;
}

function notStrict(column: Column, row: number): SinkError {
  return new SinkError(
    `${describeValue(column, row)}, and types are strict. Declare the column as text, or change the value with pipePages(map(…)), and restart. Or leave out strict types: what was committed is kept, and the whole column will be text.`,
    { details: { row, column: column.name, type: column.type, option: 'strictTypes' } },
  );
}

/** Commits rows, and encodes them once they are complete. */
class ParquetFile<T> implements SinkWriter<T> {
  readonly #rows: CommittedRows<T>;
  #part: PartFile;
  readonly #encode: () => Promise<PartFile>;

  /** @param encode all rows; resolves to the file that has them. */
  constructor(rows: CommittedRows<T>, part: PartFile, encode: () => Promise<PartFile>) {
    this.#rows = rows;
    this.#part = part;
    this.#encode = encode;
  }

  write(page: SinkPage<T>): Promise<void> {
    return this.#rows.writer.write(page);
  }

  flush(): Promise<Json> {
    return this.#rows.writer.flush();
  }

  async seal(end: WalkEnd): Promise<Json> {
    await this.#rows.seal(end);
    this.#part = await this.#encode();
    return { encoded: await this.#part.flush() };
  }

  async close(): Promise<SinkReport> {
    const bytes = await this.#part.publish();
    // The file is published: that a leftover can't be removed is not an error of the export.
    await this.#rows.remove().catch(() => undefined);
    return { target: this.#part.path, bytes };
  }

  async abort(_reason: unknown, { isResumable }: { readonly isResumable: boolean }): Promise<void> {
    try {
      await this.#part.abandon(isResumable);
    } finally {
      await (isResumable ? this.#rows.close() : this.#rows.remove());
    }
  }
}

/** The rows until they are encoded: a file of JSON Lines in the folder `path.sluice`. */
class CommittedRows<T> {
  readonly #folder: string;
  readonly #file: string;
  readonly #sink: Sink<T>;
  readonly #fs: FileSystem;
  #writer: SinkWriter<T> | undefined;
  #end: FilePosition | undefined;

  constructor(path: string, sink: Sink<T>, fileSystem: FileSystem) {
    this.#folder = dirname(path);
    this.#file = path;
    this.#fs = fileSystem;
    this.#sink = sink;
  }

  get writer(): SinkWriter<T> {
    if (!this.#writer) throw new SinkError(`${this.#file} is closed.`);
    return this.#writer;
  }

  async open(context: SinkContext<T>): Promise<void> {
    if (await withPath(this.#fs.makeFolder(this.#folder), this.#folder, 'created'))
      await withPath(this.#fs.syncFolder(dirname(this.#folder)), this.#folder, 'created');
    try {
      this.#writer = await this.#sink.open(context);
    } catch (error) {
      await this.#removeFolder(this.#folder);
      throw error;
    }
  }

  async seal(end: WalkEnd): Promise<void> {
    this.#end = decodeFilePosition(await this.writer.seal(end));
  }

  /** All rows, as lines. */
  async *lines(): AsyncGenerator<string, void, undefined> {
    if (!this.#end) throw new SinkError(`${this.#file} is not complete.`);
    const file = await AppendFile.reopen(this.#fs, `${this.#file}.part`, this.#end);
    try {
      // Line by line, since the text of a line without other characters than ASCII takes half the memory.
      for await (const { bytes } of splitLines(file.read())) yield bytes.toString();
    } finally {
      await file.close();
    }
  }

  /** Closes the rows, which stay. */
  async close(): Promise<void> {
    await this.#writer?.abort(undefined, { isResumable: true });
  }

  /** Removes the rows, and the folder if it is empty. */
  async remove(): Promise<void> {
    if (this.#writer) await this.#writer.abort(undefined, { isResumable: false });
    else await this.#removeLeftovers();
    await this.#removeFolder(this.#folder);
  }

  /** The run that encoded the rows was killed before it removed them. */
  async #removeLeftovers(): Promise<void> {
    await withPath(this.#fs.unlink(`${this.#file}.part`), this.#file, 'removed');
    const segments = `${this.#file}.sluice`;
    if ((await withPath(this.#fs.kind(segments), segments, 'inspected')) === 'absent') return;
    for (const name of await withPath(this.#fs.list(segments), segments, 'inspected'))
      await withPath(this.#fs.unlink(join(segments, name)), segments, 'cleared');
    await this.#removeFolder(segments);
  }

  /** It stays if it contains something else, e.g. a checkpoint. */
  async #removeFolder(path: string): Promise<void> {
    await this.#fs.removeFolder(path).catch(() => undefined);
  }
}

/** Where the encoded file ends, in a position from `seal`; `undefined` for a position from `flush`. */
function decodeEncodedEnd(sinkPosition: Json): FilePosition | undefined {
  const isSealed = typeof sinkPosition === 'object' && sinkPosition !== null && 'encoded' in sinkPosition;
  return isSealed ? decodeFilePosition(sinkPosition['encoded']) : undefined;
}
