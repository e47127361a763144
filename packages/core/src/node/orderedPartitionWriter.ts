import { CheckpointError } from '../errors.js';
import type { Json } from '../source/definition.js';
import { isCount, isRecord } from '../values.js';
import { type AppendFile, decodeFilePosition, type FilePosition, startOfFile } from './appendFile.js';
import type { ByteBlocks } from './byteBlocks.js';
import type { TargetFile } from './partFile.js';
import type { SegmentFolder } from './segmentFolder.js';
import { settleAll } from './settleAll.js';

interface PartitionBuffer {
  readonly blocks: ByteBlocks;
  /** Holds its bytes until the partitions before it are complete. */
  segment: AppendFile | undefined;
  isEnded: boolean;
}

/**
 * Writes the pages of partitions that are walked in parallel into one file, in plan order.
 *
 * Pages of the first unfinished partition go into the file. Those of later ones go into segments, each copied into the
 * file once all partitions before it are complete. So the file is the same at any concurrency.
 *
 * A position contains the lengths of the file and of every segment, so they are truncated consistently. Files that the
 * next position no longer names are removed one commit later: the last checkpoint may still need them.
 */
export class OrderedPartitionWriter {
  readonly #file: TargetFile;
  readonly #folder: SegmentFolder;
  readonly #newBlocks: () => ByteBlocks;
  readonly #buffers = new Map<number, PartitionBuffer>();
  /** The first unfinished partition, and where it starts in the file. */
  #front = 0;
  #frontAt = startOfFile;
  #commits = 0;
  /** Files that the last position names. */
  #namedFiles: readonly string[] = [];
  /** Files that the position before it names, and the last one does not. */
  #outdatedFiles: readonly string[] = [];

  constructor(file: TargetFile, folder: SegmentFolder, newBlocks: () => ByteBlocks) {
    this.#file = file;
    this.#folder = folder;
    this.#newBlocks = newBlocks;
  }

  /** Begins after what the file has. */
  begin(): void {
    this.#frontAt = this.#file.sinkPosition;
  }

  get isEmpty(): boolean {
    return this.#front === 0 && this.#file.size === 0 && (this.#buffers.get(0)?.blocks.isEmpty ?? true);
  }

  /** Writes one page of a partition. */
  async write(partition: number, texts: readonly string[], endsPartition: boolean): Promise<void> {
    const buffer = this.#buffer(partition);
    await this.#append(partition, buffer, await buffer.blocks.add(texts));
    if (endsPartition) await this.#end(partition, buffer);
  }

  /** Makes all rows durable; resolves to the position to resume from. Syncs in parallel hardly take longer than one. */
  async flush(): Promise<Json> {
    // The checkpoint after the last flush is durable now, so only its files are needed.
    await settleAll(this.#outdatedFiles.map((name) => this.#folder.remove(name)));
    this.#commits += 1;
    for (const [partition, buffer] of this.#buffers)
      await this.#append(partition, buffer, await buffer.blocks.takeCompressed());
    const { copied } = this.#file;
    const [sinkPosition, segments, waiting] = await settleAll([
      this.#file.flush(),
      this.#flushSegments(),
      this.#flushWaiting(),
    ]);
    const named = [...this.#segmentNames(), ...(waiting ? [waiting.name] : [])];
    this.#outdatedFiles = this.#namedFiles.filter((name) => !named.includes(name));
    this.#namedFiles = named;
    return {
      ...sinkPosition,
      front: this.#front,
      frontAt: this.#frontAt,
      commits: this.#commits,
      segments,
      ...(waiting && { waiting }),
      ...(copied.bytes > 0 && { copied }),
    };
  }

  async #flushSegments(): Promise<Record<string, Json>> {
    const waiting = [...this.#buffers].filter(([partition]) => partition !== this.#front);
    const sinkPositions = waiting.map(async ([partition, { segment, isEnded }]): Promise<[string, Json]> => {
      const sinkPosition = segment ? await segment.flush() : startOfFile;
      return [String(partition), { ...sinkPosition, isEnded }];
    });
    return Object.fromEntries(await settleAll(sinkPositions));
  }

  /** Resumes at a position from `flush`; changes nothing before `cut`. @throws CheckpointError if segments differ. */
  async restore(sinkPosition: Json): Promise<void> {
    const { front, frontAt, commits, segments, waiting } = decodePosition(sinkPosition);
    this.#front = front;
    this.#frontAt = frontAt;
    this.#commits = commits;
    for (const [partition, { isEnded, ...end }] of Object.entries(segments)) {
      const segment = end.bytes > 0 ? await this.#folder.reopen(partition, end) : undefined;
      this.#buffers.set(Number(partition), { blocks: this.#newBlocks(), segment, isEnded });
    }
    if (waiting) await this.#loadWaiting(waiting);
    this.#namedFiles = [...this.#segmentNames(), ...(waiting ? [waiting.name] : [])];
  }

  /** Truncates what was written after the position. */
  async cut(): Promise<void> {
    for (const { segment } of this.#buffers.values()) await segment?.cut();
    await this.#folder.clear(this.#namedFiles);
  }

  /** Ends open partitions: the source need not say where the last one ends. */
  async end(): Promise<void> {
    for (const [partition, buffer] of [...this.#buffers].sort(([a], [b]) => a - b)) await this.#end(partition, buffer);
  }

  /** Closes the segments, and removes them unless they are kept for the next run. */
  async abandon(isKept: boolean): Promise<void> {
    for (const { segment } of this.#buffers.values()) await segment?.close().catch(() => undefined);
    if (!isKept) await this.close().catch(() => undefined);
  }

  /**
   * Renames a file that somebody else changed; resolves to its new name.
   *
   * @param path of the file or a segment.
   */
  setAside(path: string): Promise<string | undefined> {
    const buffer = [...this.#buffers.values()].find(({ segment }) => segment?.path === path);
    return (buffer?.segment ?? this.#file).setAside();
  }

  /** Removes the waiting rows of this run and earlier ones. */
  clear(): Promise<void> {
    return this.#folder.clear();
  }

  async close(): Promise<void> {
    if (this.#folder.isUsed) await this.clear();
  }

  #buffer(partition: number): PartitionBuffer {
    const known = this.#buffers.get(partition);
    if (known) return known;
    const buffer: PartitionBuffer = { blocks: this.#newBlocks(), segment: undefined, isEnded: false };
    this.#buffers.set(partition, buffer);
    return buffer;
  }

  async #append(partition: number, buffer: PartitionBuffer, contents: readonly (string | Uint8Array)[]): Promise<void> {
    for (const content of contents) {
      if (content.length === 0) continue;
      if (partition === this.#front) await this.#file.append(content);
      else await (buffer.segment ??= await this.#folder.create(String(partition))).append(content);
    }
  }

  async #end(partition: number, buffer: PartitionBuffer): Promise<void> {
    await this.#append(partition, buffer, await buffer.blocks.end());
    buffer.isEnded = true;
    if (partition === this.#front) await this.#advance();
  }

  async #advance(): Promise<void> {
    do {
      this.#buffers.delete(this.#front);
      this.#front += 1;
      this.#frontAt = this.#file.sinkPosition;
      const next = this.#buffers.get(this.#front);
      if (next?.segment) await this.#takeOver(String(this.#front), next.segment);
      if (next) next.segment = undefined;
    } while (this.#buffers.get(this.#front)?.isEnded);
  }

  async #takeOver(name: string, segment: AppendFile): Promise<void> {
    for await (const piece of segment.read()) await this.#file.append(piece);
    await segment.close();
    if (!this.#namedFiles.includes(name)) await this.#folder.remove(name);
  }

  #segmentNames(): string[] {
    return [...this.#buffers].flatMap(([partition, { segment }]) => (segment ? [String(partition)] : []));
  }

  async #flushWaiting(): Promise<WaitingPages | undefined> {
    const waiting = await this.#saveWaiting();
    await this.#folder.sync();
    return waiting;
  }

  /** Waiting pages are saved as text: a stop adds no boundary to the compressed data. */
  async #saveWaiting(): Promise<WaitingPages | undefined> {
    const waiting = [...this.#buffers].filter(([, { blocks }]) => !blocks.isEmpty);
    if (waiting.length === 0) return undefined;
    const texts = Object.fromEntries(waiting.map(([partition, { blocks }]) => [partition, blocks.waiting]));
    const name = `waiting-${this.#commits}`;
    const end = await this.#folder.save(name, JSON.stringify(texts));
    return { name, ...end, partitions: waiting.map(([partition]) => partition) };
  }

  async #loadWaiting({ name, partitions, ...end }: WaitingPages): Promise<void> {
    const texts: unknown = JSON.parse(await this.#folder.load(name, end));
    if (!isRecord(texts)) throw unreadableError();
    for (const partition of partitions) {
      const pages = texts[partition];
      if (!Array.isArray(pages)) throw unreadableError();
      const { blocks } = this.#buffer(partition);
      for (const page of pages) await blocks.add([String(page)]);
    }
  }
}

/** The position in a file with the rows of a single partition. */
export function positionAt(at: FilePosition): Json {
  return { ...at, front: 0, frontAt: startOfFile, commits: 0, segments: {} };
}

/**
 * The position as if one unfinished partition had not begun.
 *
 * @throws CheckpointError if the position can't be read, or the partition is finished.
 */
export function removePartition(sinkPosition: Json, partition: number): Json {
  const { front, frontAt, commits, segments, waiting } = decodePosition(sinkPosition);
  if (partition < front) throw unreadableError();
  const copied = decodeCopied(sinkPosition);
  const partitions = waiting?.partitions.filter((each) => each !== partition) ?? [];
  return {
    ...(partition === front ? frontAt : decodeFilePosition(sinkPosition)),
    front,
    frontAt,
    commits,
    segments: Object.fromEntries(Object.entries(segments).filter(([nth]) => nth !== String(partition))),
    ...(waiting && partitions.length > 0 && { waiting: { ...waiting, partitions } }),
    ...(copied.bytes > 0 && { copied }),
  };
}

/** The end of what was copied into the file before its first row. @throws CheckpointError if it can't be read. */
export function decodeCopied(sinkPosition: Json): FilePosition {
  const copied = isRecord(sinkPosition) ? sinkPosition['copied'] : undefined;
  return copied === undefined ? startOfFile : decodeFilePosition(copied);
}

type WaitingPages = FilePosition & { readonly name: string; readonly partitions: readonly number[] };

interface OrderedPosition {
  readonly front: number;
  readonly frontAt: FilePosition;
  readonly commits: number;
  readonly segments: Readonly<Record<string, FilePosition & { readonly isEnded: boolean }>>;
  readonly waiting: WaitingPages | undefined;
}

function decodePosition(sinkPosition: unknown): OrderedPosition {
  if (!isRecord(sinkPosition)) throw unreadableError();
  const { front, frontAt, commits, segments, waiting } = sinkPosition;
  if (!isCount(front) || !isCount(commits) || !isRecord(segments)) throw unreadableError();
  return {
    front,
    frontAt: decodeFilePosition(frontAt),
    commits,
    segments: Object.fromEntries(
      Object.entries(segments).map(([partition, segment]) => {
        const isEnded = isRecord(segment) && segment['isEnded'] === true;
        return [partition, { ...decodeFilePosition(segment), isEnded }];
      }),
    ),
    waiting: waiting === undefined ? undefined : decodeWaiting(waiting),
  };
}

function decodeWaiting(waiting: unknown): WaitingPages {
  if (!isRecord(waiting)) throw unreadableError();
  const { name, partitions } = waiting;
  if (typeof name !== 'string' || !Array.isArray(partitions)) throw unreadableError();
  return { name, ...decodeFilePosition(waiting), partitions: partitions.filter(isCount) };
}

function unreadableError(): CheckpointError {
  return new CheckpointError('The checkpoint does not say how to resume the partitions.', {}, [{ kind: 'restart' }]);
}
