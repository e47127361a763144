import { resolve } from 'node:path';
import { checkCount } from '../count.js';
import { ConfigError } from '../errors.js';
import type { RowEncoder, RowFormat } from '../sink/rowFormat.js';
import type { Sink, SinkPage, SinkReport, SinkWriter } from '../sink/sink.js';
import type { Json } from '../source/definition.js';
import { ByteBlocks, type Gzip } from './byteBlocks.js';
import { nodeFileSystem, type FileSystem } from './fileSystem.js';
import { PartFile } from './partFile.js';

/** Where and how a file is written. */
export interface FileTarget {
  /** Its final name. Until the end the rows are in `path.part` beside it. */
  readonly path: string;
  /** What to do where the final name is taken: `fail` (the default) touches nothing, `overwrite` replaces the file at the end. */
  readonly ifExists?: 'fail' | 'overwrite';
  /** Compresses with gzip. Default: when the name ends in `.gz`. */
  readonly gzip?: boolean | Gzip;
  /** Default: the machine's own. */
  readonly fileSystem?: FileSystem;
}

/**
 * Writes rows to a file. Its final name never holds a partial file: rows go to `path.part`, which takes the name at the end.
 *
 * @throws ConfigError if the path is empty or names a folder; on opening, SinkError if the target can't be written.
 */
export function fileSink<T>(format: RowFormat<T>, target: FileTarget): Sink<T> {
  if (target.path === '') throw new ConfigError('The path of the file is empty.');
  if (/[/\\]$/.test(target.path))
    throw new ConfigError(`The path ${target.path} ends like a folder's. Give the name of a file.`);
  const gzip = gzipOf(target);
  return {
    name: format.name,
    identity: { format: format.identity, gzip: gzip ? { pagesPerMember: gzip.pagesPerMember } : null },
    promises: 'exactly-once',
    check: async ({ schema, restart }) => {
      format.encoder(schema);
      await partFile(target).check(restart);
    },
    open: async (context) => {
      const encoder = format.encoder(context.schema);
      const file = partFile(target);
      await file.open(context);
      return new FileWriter(file, encoder, new ByteBlocks(gzip));
    },
  };
}

function partFile({ fileSystem = nodeFileSystem, path, ifExists = 'fail' }: FileTarget): PartFile {
  return new PartFile(fileSystem, resolve(path), ifExists);
}

/** A member of 10 pages costs 7 % more bytes than one single member would; smaller ones cost more, larger ones are lost in a crash. */
const defaultPagesPerMember = 10;

function gzipOf({ path, gzip = path.endsWith('.gz') }: FileTarget): Gzip | undefined {
  if (gzip === false) return undefined;
  const { pagesPerMember } = gzip === true ? { pagesPerMember: defaultPagesPerMember } : gzip;
  checkCount('gzip.pagesPerMember', pagesPerMember);
  return { pagesPerMember };
}

class FileWriter<T> implements SinkWriter<T> {
  readonly #file: PartFile;
  readonly #encoder: RowEncoder<T>;
  readonly #blocks: ByteBlocks;

  constructor(file: PartFile, encoder: RowEncoder<T>, blocks: ByteBlocks) {
    this.#file = file;
    this.#encoder = encoder;
    this.#blocks = blocks;
  }

  get isCommittable(): boolean {
    return this.#blocks.isEmpty;
  }

  async write({ items }: SinkPage<T>): Promise<void> {
    const text = this.#encoder.encode(items);
    await this.#append(await this.#blocks.add(this.#isNew ? this.#encoder.header + text : text));
  }

  flush(): Promise<Json> {
    return this.#file.flush();
  }

  async seal(): Promise<Json> {
    if (this.#isNew) await this.#append(await this.#blocks.add(this.#encoder.header));
    await this.#append(await this.#blocks.end());
    return this.flush();
  }

  async close(): Promise<SinkReport> {
    return { target: this.#file.path, bytes: await this.#file.publish() };
  }

  abort(_reason: unknown, { isResumable }: { readonly isResumable: boolean }): Promise<void> {
    return this.#file.abandon(isResumable);
  }

  get #isNew(): boolean {
    return this.#file.size === 0 && this.#blocks.isEmpty;
  }

  async #append(bytes: Uint8Array | undefined): Promise<void> {
    if (bytes) await this.#file.append(bytes);
  }
}
