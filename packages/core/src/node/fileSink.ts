import { dirname, resolve } from 'node:path';
import { checkCount } from '../checks.js';
import { ConfigError, SinkError } from '../errors.js';
import type { RowEncoder, RowFormat, Sink, SinkContext, SinkPage, SinkReport, SinkWriter } from '../sink/sink.js';
import type { Json } from '../source/definition.js';
import { AppendFile, decodeFilePlace, explained, isDamage } from './appendFile.js';
import { ByteBlocks, type Gzip } from './byteBlocks.js';
import { EndlessFile } from './endlessFile.js';
import { nodeFileSystem, type FileSystem } from './fileSystem.js';
import { PartFile, type TargetFile } from './partFile.js';
import { placeOfOnePart, OrderedPartitionWriter, placeWithoutPart } from './orderedPartitionWriter.js';
import { SegmentFolder } from './segmentFolder.js';
import { together } from './together.js';

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
 * Writes rows to a file, in the plan's order whatever the concurrency. Its final name never holds a partial file: rows go to
 * `path.part`, which takes the name at the end; those that must wait for others lie in `path.sluice` until then.
 *
 * @throws ConfigError if the path is empty or names a folder; on opening, SinkError if the target can't be written.
 */
export function fileSink<T>(format: RowFormat<T>, target: FileTarget): Sink<T> {
  if (target.path === '') throw new ConfigError('The path of the file is empty.');
  if (/[/\\]$/.test(target.path))
    throw new ConfigError(`The path ${target.path} ends like a folder's. Give the name of a file.`);
  const gzip = gzipOf(target);
  const { fileSystem = nodeFileSystem } = target;
  const checkEnd = (isEndless: boolean): void => {
    if (isEndless && gzip)
      throw new ConfigError(
        `${target.path} would be compressed, and what never ends has no end to its last block. Write it as it is.`,
      );
  };
  return {
    name: format.name,
    identity: { format: format.identity, gzip: gzip ? { pagesPerMember: gzip.pagesPerMember } : null },
    target: resolve(target.path),
    delivery: 'exactly-once',
    withoutPartition: placeWithoutPart,
    finished: async (sinkPosition) => {
      const path = resolve(target.path);
      const at = decodeFilePlace(sinkPosition);
      const isThere = target.ifExists !== 'overwrite' && (await AppendFile.isAt(fileSystem, path, at));
      return isThere ? { target: path, bytes: at.bytes } : undefined;
    },
    check: async ({ schema, restart, stateFolder, isEndless }) => {
      format.encoder(schema);
      checkEnd(isEndless);
      await (isEndless ? endlessFile(target, '', {}) : partFile(target)).check(restart);
      await checkVolume(fileSystem, resolve(target.path), stateFolder);
    },
    open: async (context) => {
      const encoder = format.encoder(context.schema);
      checkEnd(context.isEndless);
      const file = context.isEndless ? endlessFile(target, encoder.header, context) : partFile(target);
      const folder = new SegmentFolder(fileSystem, `${resolve(target.path)}.sluice`);
      const order = new OrderedPartitionWriter(file, folder, () => new ByteBlocks(gzip));
      if (context.resumeAt) await checkVolume(fileSystem, file.path, context.stateFolder);
      await openTarget(context, file, order);
      return new FileWriter(file, order, encoder);
    },
  };
}

/**
 * Rows and state go back together after a crash only if one disk holds both.
 *
 * @throws SinkError if they lie on two.
 */
async function checkVolume(fileSystem: FileSystem, path: string, stateFolder: string | undefined): Promise<void> {
  if (stateFolder === undefined) return;
  const [target, state] = await together(
    [dirname(path), stateFolder].map((folder) => explained(fileSystem.volume(folder), folder, 'looked at')),
  );
  if (target?.id === state?.id) return;
  throw new SinkError(
    `${path} and its state in ${stateFolder} lie on different file systems, so a power cut could part them. Keep the state beside the file.`,
  );
}

function partFile({ fileSystem = nodeFileSystem, path, ifExists = 'fail' }: FileTarget): PartFile {
  return new PartFile(fileSystem, resolve(path), ifExists);
}

function endlessFile(
  { fileSystem = nodeFileSystem, path, ifExists = 'fail' }: FileTarget,
  header: string,
  { recommit }: Pick<SinkContext<never>, 'recommit'>,
): EndlessFile {
  return new EndlessFile(fileSystem, resolve(path), {
    ...{ ifExists, header },
    recommit: async (at) => recommit?.(placeOfOnePart(at)),
  });
}

async function openTarget(
  { resumeAt, restart }: SinkContext<never>,
  file: TargetFile,
  order: OrderedPartitionWriter,
): Promise<void> {
  try {
    if (!resumeAt) {
      await file.create(restart);
      // The name was free, so what waits beside it is left from a run that is gone.
      await order.clear();
    } else if (resumeAt.isSealed) {
      await file.goOnSealed(decodeFilePlace(resumeAt.sinkPosition));
      await order.clear();
    } else {
      // All is looked at before anything is touched: what does not fit is left as it was.
      await file.goOn(decodeFilePlace(resumeAt.sinkPosition));
      await order.restore(resumeAt.sinkPosition);
      await file.cut();
      await order.cut();
    }
  } catch (error) {
    const isKept = resumeAt !== undefined;
    await order.abandon(isKept);
    await file.abandon(isKept).catch(() => undefined);
    throw error;
  }
}

/** A member of 10 pages costs 7 % more bytes than one single member would; smaller ones cost more, larger ones are lost in a crash. */
const defaultPagesPerMember = 10;

function gzipOf({ path, gzip = path.endsWith('.gz') }: FileTarget): Gzip | undefined {
  if (gzip === false) return undefined;
  const { pagesPerMember } = gzip === true ? { pagesPerMember: defaultPagesPerMember } : gzip;
  checkCount('gzip.pagesPerMember', pagesPerMember);
  return { pagesPerMember };
}

const rowsPerText = 10;

class FileWriter<T> implements SinkWriter<T> {
  readonly #file: TargetFile;
  readonly #order: OrderedPartitionWriter;
  readonly #encoder: RowEncoder<T>;

  constructor(file: TargetFile, order: OrderedPartitionWriter, encoder: RowEncoder<T>) {
    this.#file = file;
    this.#order = order;
    this.#encoder = encoder;
  }

  async write({ items, partition, endsPartition }: SinkPage<T>): Promise<void> {
    const header = partition === 0 && this.#order.isEmpty ? this.#encoder.header : '';
    // All of them before the first one is written: of a page with a row that has no text there is nothing in the file.
    await this.#unlessDamaged(this.#order.write(partition, [header, ...this.#texts(items)], endsPartition));
  }

  /** The text of a page, a few rows at a time. A text of the whole is large, and to make room for large ones costs more than to fill it. */
  #texts(items: readonly T[]): string[] {
    const texts: string[] = [];
    for (let at = 0; at < items.length; at += rowsPerText)
      texts.push(this.#encoder.encode(items.slice(at, at + rowsPerText)));
    return texts;
  }

  flush(): Promise<Json> {
    return this.#unlessDamaged(this.#order.flush());
  }

  async seal(): Promise<Json> {
    if (this.#order.isEmpty) await this.#order.write(0, [this.#encoder.header], true);
    await this.#unlessDamaged(this.#order.end());
    return this.flush();
  }

  async close(): Promise<SinkReport> {
    const bytes = await this.#unlessDamaged(this.#file.publish());
    // The file is in place: what can't be cleared away beside it is no fault of the export's.
    await this.#order.close().catch(() => undefined);
    return { target: this.#file.path, bytes };
  }

  /** Where nothing is left to go on from, the damaged file gets another name, so that the next run can start over. */
  async #unlessDamaged<R>(work: Promise<R>): Promise<R> {
    try {
      return await work;
    } catch (error) {
      if (!isDamage(error) || error.details['isSound'] === true) throw error;
      const { path, damaged } = error.details;
      const kept = await this.#order.setAside(String(path));
      const keptAs = kept === undefined ? '' : ` It is kept as ${kept}.`;
      throw new SinkError(
        `${String(path)} ${String(damaged)}.${keptAs} Find out who, then run it again: the export starts over.`,
        { details: { path, damaged, isLost: true, ...(kept !== undefined && { kept }) } },
      );
    }
  }

  async suspend(): Promise<SinkReport> {
    const bytes = this.#file.size;
    await this.#order.abandon(true);
    await this.#file.abandon(true);
    return { target: this.#file.path, bytes };
  }

  async abort(_reason: unknown, { isResumable }: { readonly isResumable: boolean }): Promise<void> {
    let isKept = true;
    try {
      isKept = await this.#file.abandon(isResumable);
    } finally {
      await this.#order.abandon(isKept);
    }
  }
}
