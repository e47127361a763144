import { dirname, resolve } from 'node:path';
import { checkCount, checkOptions, checkText } from '../checks.js';
import { CheckpointError, ConfigError, SinkError } from '../errors.js';
import type { RowEncoder, RowFormat, Sink, SinkContext, SinkPage, SinkReport, SinkWriter } from '../rows/sink/sink.js';
import type { Json } from '../rows/source/definition.js';
import { checkAppendable } from './files/appendable.js';
import { AppendFile, decodeFilePosition, isDamage, startOfFile } from './files/appendFile.js';
import { ByteBlocks, type Gzip } from './files/byteBlocks.js';
import { withPath } from './files/diskFault.js';
import { EndlessFile } from './files/endlessFile.js';
import { nodeFileSystem, type FileSystem } from './files/fileSystem.js';
import { followLink, PartFile, type IfExists, type TargetFile } from './files/partFile.js';
import { decodeCopied, positionAt, OrderedPartitionWriter, removePartition } from './files/orderedPartitionWriter.js';
import { SegmentFolder } from './files/segmentFolder.js';
import { settleAll } from './files/settleAll.js';

/** Where and how a file is written. */
export interface FileTarget {
  /** The final name. Until the end the rows are in `path.part` next to it. What a link leads to is written. */
  readonly path: string;
  /**
   * If the final name is taken: `fail` (the default) changes nothing, `overwrite` replaces the file at the end, `append`
   * copies it first and replaces it at the end by one with its rows and the new ones. Not for compressed files, nor for
   * sources that never end.
   */
  readonly ifExists?: IfExists | undefined;
  /** Compresses with gzip. Default: if the name ends in `.gz`. */
  readonly gzip?: boolean | Gzip | undefined;
  /** Default: the machine's own. */
  readonly fileSystem?: FileSystem | undefined;
}

/** The names of these options. */
const fileTargetNames = {
  path: true,
  ifExists: true,
  gzip: true,
  fileSystem: true,
} as const satisfies Readonly<Record<keyof FileTarget, true>>;

/**
 * Writes rows to a file, in plan order at any concurrency. Its final name never holds a partial file: rows go to
 * `path.part`, which is renamed at the end. Rows that wait for other partitions are in `path.sluice` until then.
 *
 * @throws ConfigError if the path is empty or names a folder; on opening, SinkError if the target can't be written.
 */
export function fileSink<T>(format: RowFormat<T>, target: FileTarget): Sink<T> {
  checkOptions('fileSink()', target, { ...fileTargetNames, path: 'text' });
  checkText('The path of the file', target.path);
  if (/[/\\]$/.test(target.path))
    throw new ConfigError(`The path ${target.path} ends like a folder's. Give the name of a file.`);
  const gzip = readGzip(target);
  const { fileSystem = nodeFileSystem } = target;
  const isAppended = target.ifExists === 'append';
  const locate = (): Promise<string> => followLink(fileSystem, resolve(target.path));
  if (isAppended && gzip)
    throw new ConfigError(`Rows can't be appended to ${target.path}, because it is compressed.`, {
      option: 'ifExists',
    });
  const checkContext = ({ isEndless, increment }: SinkContext<T>): void => {
    if (isAppended && increment === 'all')
      throw new ConfigError(
        `All rows would be appended to those of ${target.path}, and be there twice.`,
        { option: 'ifExists' },
        [{ kind: 'allow', option: 'ifExists' }],
      );
    if (isEndless && gzip)
      throw new ConfigError(
        `${target.path} would be compressed, but an endless source never completes the last block. Write it uncompressed.`,
      );
    if (isEndless && isAppended)
      throw new ConfigError(
        `${target.path} can't be appended to by a source that never ends: it has its final name from the start.`,
        { option: 'ifExists' },
      );
  };
  return {
    name: format.name,
    identity: {
      format: format.identity,
      gzip: gzip ? { pagesPerMember: gzip.pagesPerMember } : null,
      ...(isAppended && { isAppended }),
    },
    target: resolve(target.path),
    delivery: 'exactly-once',
    withoutPartition: removePartition,
    finished: async (sinkPosition) => {
      const path = await locate();
      const at = decodeFilePosition(sinkPosition);
      if (target.ifExists === 'overwrite') return undefined;
      // Others may append to the same file.
      if (await AppendFile.isAt(fileSystem, path, at, isAppended)) return { target: path, bytes: at.bytes };
      const hasOthers = isAppended && (await withPath(fileSystem.kind(path), path, 'inspected')) === 'file';
      if (hasOthers && !(await AppendFile.isAt(fileSystem, path, startOfFile))) throw changedSince(path);
      return undefined;
    },
    check: async (context) => {
      const { schema, restart, stateFolder, isEndless } = context;
      const encoder = format.encoder(schema);
      checkContext(context);
      const path = await locate();
      if (isAppended) await checkAppendable(fileSystem, path, encoder);
      await createTarget({ ...target, path }, { isEndless }, encoder).check(restart);
      await checkVolume(fileSystem, path, stateFolder);
    },
    open: async (context) => {
      const encoder = format.encoder(context.schema);
      checkContext(context);
      const { resumeAt, increment, hasMark, warn } = context;
      const path = await locate();
      const hasRows = isAppended && !resumeAt && (await checkAppendable(fileSystem, path, encoder));
      if (hasRows && increment && !hasMark)
        warn?.(
          `${target.path} has rows, and no export with this definition and these parameters has left a mark: all rows are appended. Those that the file has are there twice then.`,
        );
      const file = createTarget({ ...target, path }, context, encoder);
      const folder = new SegmentFolder(fileSystem, `${resolve(target.path)}.sluice`);
      const order = new OrderedPartitionWriter(file, folder, () => new ByteBlocks(gzip));
      if (resumeAt) await checkVolume(fileSystem, file.path, context.stateFolder);
      await openTarget(context, file, order);
      return new FileWriter(file, order, encoder, context.isEndless);
    },
  };
}

/** Its rows would be there twice, unless none of the last ones is left. */
function changedSince(path: string): CheckpointError {
  return new CheckpointError(
    `${path} was changed or replaced since the finished export appended its rows, so nobody knows whether it has them.`,
    { path },
    [{ kind: 'restart' }],
  );
}

/** After a crash, rows and state are consistent only on the same disk. @throws SinkError if they are not on one. */
async function checkVolume(fileSystem: FileSystem, path: string, stateFolder: string | undefined): Promise<void> {
  if (stateFolder === undefined) return;
  const [target, state] = await settleAll(
    [dirname(path), stateFolder].map((folder) => withPath(fileSystem.volume(folder), folder, 'inspected')),
  );
  if (target?.id === state?.id) return;
  throw new SinkError(
    `${path} and its state in ${stateFolder} are on different file systems, so a power cut could separate them. Keep the state next to the file.`,
  );
}

function createTarget<T>(
  { fileSystem = nodeFileSystem, path, ifExists = 'fail' }: FileTarget,
  { isEndless, recommit, uncommitted }: Pick<SinkContext<T>, 'isEndless' | 'recommit' | 'uncommitted'>,
  encoder: RowEncoder<T>,
): TargetFile {
  if (!isEndless) return new PartFile(fileSystem, path, ifExists);
  return new EndlessFile(fileSystem, path, {
    ifExists: ifExists === 'overwrite' ? ifExists : 'fail',
    header: encoder.header,
    uncommitted: uncommitted && (() => encodeAll(uncommitted(), encoder)),
    recommit: async (at) => recommit?.(positionAt(at)),
  });
}

async function* encodeAll<T>(
  pages: AsyncIterable<readonly T[]>,
  encoder: RowEncoder<T>,
): AsyncGenerator<string, void, undefined> {
  yield encoder.header;
  for await (const rows of pages) yield* encodeRows(rows, encoder);
}

async function openTarget(
  { resumeAt, restart }: Pick<SinkContext<never>, 'resumeAt' | 'restart'>,
  file: TargetFile,
  order: OrderedPartitionWriter,
): Promise<void> {
  try {
    if (!resumeAt) {
      await file.create(restart);
      // The name was free, so waiting rows are those of an earlier run that is gone.
      await order.clear();
      order.begin();
    } else if (resumeAt.isSealed) {
      const at = [decodeFilePosition(resumeAt.sinkPosition), decodeCopied(resumeAt.sinkPosition)] as const;
      await (file.resumeSealed ? file.resumeSealed(...at) : file.resume(...at));
      await order.clear();
    } else {
      // Everything is checked before anything is changed.
      await file.resume(decodeFilePosition(resumeAt.sinkPosition), decodeCopied(resumeAt.sinkPosition));
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

/** 10 pages cost 7 % more bytes than one single member; smaller members cost more, larger ones lose more in a crash. */
const defaultPagesPerMember = 10;

function readGzip({ path, gzip = path.endsWith('.gz') }: FileTarget): Gzip | undefined {
  if (gzip === false) return undefined;
  if (gzip !== true) checkOptions('gzip', gzip, { pagesPerMember: true });
  const { pagesPerMember } = gzip === true ? { pagesPerMember: defaultPagesPerMember } : gzip;
  checkCount('gzip.pagesPerMember', pagesPerMember);
  return { pagesPerMember };
}

const rowsPerText = 10;

/** Encodes a few rows at a time: large texts are slow to allocate. */
function* encodeRows<T>(items: readonly T[], encoder: RowEncoder<T>): Generator<string, void, undefined> {
  for (let at = 0; at < items.length; at += rowsPerText) yield encoder.encode(items.slice(at, at + rowsPerText));
}

class FileWriter<T> implements SinkWriter<T> {
  readonly #file: TargetFile;
  readonly #order: OrderedPartitionWriter;
  readonly #encoder: RowEncoder<T>;
  /** Committed at once: a checkpoint without a position says that the file is ours to replace, whatever it contains. */
  readonly start: Json | undefined;

  constructor(file: TargetFile, order: OrderedPartitionWriter, encoder: RowEncoder<T>, isEndless: boolean) {
    this.#file = file;
    this.#order = order;
    this.#encoder = encoder;
    this.start = isEndless ? positionAt(startOfFile) : undefined;
  }

  async write({ items, partition, endsPartition }: SinkPage<T>): Promise<void> {
    const header = partition === 0 && this.#order.isEmpty ? this.#encoder.header : '';
    // All are encoded before the first is written: if a row can't be encoded, nothing of its page is written.
    const texts = [header, ...encodeRows(items, this.#encoder)];
    await this.#unlessDamaged(this.#order.write(partition, texts, endsPartition));
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
    const bytes = await this.#unlessDamaged(this.#file.publish?.() ?? Promise.resolve(this.#file.size));
    // The file is published: that a leftover can't be removed is not an error of the export.
    await this.#order.close().catch(() => undefined);
    return { target: this.#file.path, bytes };
  }

  /** If nothing is left to resume, renames the damaged file, so that the next run can start over. */
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
