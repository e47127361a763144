import { CheckpointError } from '../../errors.js';
import type { Json } from '../../rows/source/definition.js';
import { isCount, isRecord } from '../../values.js';
import { type AppendFile, decodeFilePosition, type FilePosition, startOfFile } from './appendFile.js';
import type { ByteBlocks } from './byteBlocks.js';
import type { TargetFile } from './partFile.js';
import type { SegmentFolder } from './segmentFolder.js';
import { settleAll } from './settleAll.js';

/**
 * A file with the rows of consecutive partitions: those before `front` are complete, and `frontAt` is where the rows of
 * `front` begin. The target is one of them. The others wait until the partitions before them are complete.
 */
interface Segment {
  readonly first: number;
  front: number;
  frontAt: FilePosition;
  /** Absent without bytes. */
  file: Appended | undefined;
}

type Appended = Pick<AppendFile, 'append' | 'sinkPosition' | 'flush'>;

interface WaitingSegment extends Segment {
  file: AppendFile | undefined;
}

/**
 * Writes the pages of partitions that are walked in parallel into one file, in plan order.
 *
 * A page is appended to the segment with all partitions before it, or begins one. A segment that reaches the beginning of
 * the next one takes it over. So the file is the same at any concurrency, and there is at most one segment for each
 * unfinished partition, however many finished ones wait for a partition before them.
 *
 * A position contains the length of every segment, so they are truncated consistently. Files that the next position no
 * longer names are removed one commit later: the last checkpoint may still need them.
 */
export class OrderedPartitionWriter {
  readonly #file: TargetFile;
  readonly #folder: SegmentFolder;
  readonly #newBlocks: () => ByteBlocks;
  /** Of unfinished partitions. */
  readonly #blocks = new Map<number, ByteBlocks>();
  readonly #target: Segment;
  readonly #waiting = new Map<number, WaitingSegment>();
  #commits = 0;
  /** Files that the last position names. */
  #namedFiles: readonly string[] = [];
  /** Files that the position before it names, and the last one does not. */
  #outdatedFiles: readonly string[] = [];

  constructor(file: TargetFile, folder: SegmentFolder, newBlocks: () => ByteBlocks) {
    this.#file = file;
    this.#folder = folder;
    this.#newBlocks = newBlocks;
    this.#target = { first: 0, front: 0, frontAt: startOfFile, file };
  }

  /** Begins after what the file has. */
  begin(): void {
    this.#target.frontAt = this.#file.sinkPosition;
  }

  get isEmpty(): boolean {
    return this.#target.front === 0 && this.#file.size === 0 && (this.#blocks.get(0)?.isEmpty ?? true);
  }

  /** Writes one page of a partition. */
  async write(partition: number, texts: readonly string[], endsPartition: boolean): Promise<void> {
    await this.#append(partition, await this.#blocksOf(partition).add(texts));
    if (endsPartition) await this.#end(partition);
  }

  /** Makes all rows durable; resolves to the position to resume from. Syncs in parallel hardly take longer than one. */
  async flush(): Promise<Json> {
    this.#commits += 1;
    for (const [partition, blocks] of this.#blocks) await this.#append(partition, await blocks.takeCompressed());
    const { copied = startOfFile } = this.#file;
    const [sinkPosition, segments, waiting] = await settleAll([
      this.#file.flush(),
      this.#flushSegments(),
      this.#flushWaiting(),
      // The checkpoint after the last flush is durable now, so only its files are needed.
      settleAll(this.#outdatedFiles.map((name) => this.#folder.remove(name))),
    ]);
    const named = this.#namesWith(waiting);
    this.#outdatedFiles = this.#namedFiles.filter((name) => !named.includes(name));
    this.#namedFiles = named;
    const { front, frontAt } = this.#target;
    return {
      ...sinkPosition,
      front,
      frontAt,
      commits: this.#commits,
      segments,
      ...(waiting && { waiting }),
      ...(copied.bytes > 0 && { copied }),
    };
  }

  async #flushSegments(): Promise<Record<string, Json>> {
    const sinkPositions = [...this.#waiting.values()].map(
      async ({ first, front, frontAt, file }): Promise<[string, Json]> => {
        const sinkPosition = file ? await file.flush() : startOfFile;
        return [String(first), { ...sinkPosition, front, frontAt }];
      },
    );
    return Object.fromEntries(await settleAll(sinkPositions));
  }

  /** Resumes at a position from `flush`; changes nothing before `cut`. @throws CheckpointError if segments differ. */
  async restore(sinkPosition: Json): Promise<void> {
    const { front, frontAt, commits, segments, waiting } = decodePosition(sinkPosition);
    Object.assign(this.#target, { front, frontAt });
    this.#commits = commits;
    for (const [name, segment] of Object.entries(segments)) {
      const first = Number(name);
      const file = segment.bytes > 0 ? await this.#folder.reopen(name, segment) : undefined;
      this.#waiting.set(first, { first, front: segment.front, frontAt: segment.frontAt, file });
    }
    if (waiting) await this.#loadWaiting(waiting);
    this.#namedFiles = this.#namesWith(waiting);
  }

  /** Truncates what was written after the position. */
  async cut(): Promise<void> {
    for (const { file } of this.#waiting.values()) await file?.cut();
    await this.#folder.clear(this.#namedFiles);
  }

  /** Ends open partitions: the source need not say where the last one ends. */
  async end(): Promise<void> {
    const fronts = [this.#target, ...this.#waiting.values()].map(({ front }) => front);
    for (const partition of [...new Set([...fronts, ...this.#blocks.keys()])].sort((a, b) => a - b))
      await this.#end(partition);
  }

  /** Closes the segments, and removes them unless they are kept for the next run. */
  async abandon(isKept: boolean): Promise<void> {
    for (const { file } of this.#waiting.values()) await file?.close().catch(() => undefined);
    if (!isKept) await this.close().catch(() => undefined);
  }

  /**
   * Renames a file that somebody else changed; resolves to its new name.
   *
   * @param path of the file or a segment.
   */
  async setAside(path: string): Promise<string | undefined> {
    const segment = [...this.#waiting.values()].find(({ file }) => file?.path === path);
    return (segment?.file ?? this.#file).setAside?.();
  }

  /** Removes the waiting rows of this run and earlier ones. */
  clear(): Promise<void> {
    return this.#folder.clear();
  }

  async close(): Promise<void> {
    if (this.#folder.isUsed) await this.clear();
  }

  #blocksOf(partition: number): ByteBlocks {
    const known = this.#blocks.get(partition);
    if (known) return known;
    const blocks = this.#newBlocks();
    this.#blocks.set(partition, blocks);
    return blocks;
  }

  async #append(partition: number, contents: readonly (string | Uint8Array)[]): Promise<void> {
    for (const content of contents) {
      if (content.length === 0) continue;
      const segment = this.#segmentAt(partition);
      segment.file ??= await this.#folder.create(String(segment.first));
      await segment.file.append(content);
    }
  }

  /** The segment with all partitions that precede this one without a gap, which may be none. */
  #segmentAt(partition: number): Segment {
    if (this.#target.front === partition) return this.#target;
    for (const segment of this.#waiting.values()) if (segment.front === partition) return segment;
    const segment = { first: partition, front: partition, frontAt: startOfFile, file: undefined };
    this.#waiting.set(partition, segment);
    return segment;
  }

  async #end(partition: number): Promise<void> {
    await this.#append(partition, (await this.#blocks.get(partition)?.end()) ?? []);
    this.#blocks.delete(partition);
    const segment = this.#segmentAt(partition);
    segment.front += 1;
    segment.frontAt = segment.file?.sinkPosition ?? startOfFile;
    const next = this.#waiting.get(segment.front);
    if (next) await this.#takeOver(segment, next);
  }

  /** Appends a segment to the one that ends where it begins. */
  async #takeOver(segment: Segment, { first, front, frontAt, file }: WaitingSegment): Promise<void> {
    segment.front = front;
    // It still waits while it is read, in case somebody has changed it.
    if (file) await this.#copy(file, frontAt, segment);
    this.#waiting.delete(first);
    if (file && !this.#namedFiles.includes(String(first))) await this.#folder.remove(String(first));
  }

  /** Appends the rows of one file to those of a segment. */
  async #copy(file: AppendFile, frontAt: FilePosition, segment: Segment): Promise<void> {
    segment.file ??= await this.#folder.create(String(segment.first));
    let left = frontAt.bytes;
    for await (const piece of file.read()) {
      const complete = piece.subarray(0, left);
      left -= complete.length;
      await segment.file.append(complete);
      if (left === 0 && complete.length > 0) segment.frontAt = segment.file.sinkPosition;
      await segment.file.append(piece.subarray(complete.length));
    }
    await file.close();
  }

  /** The files that a position with these waiting pages names. */
  #namesWith(waiting: WaitingPages | undefined): string[] {
    const names = [...this.#waiting.values()].flatMap(({ first, file }) => (file ? [String(first)] : []));
    return waiting ? [...names, waiting.name] : names;
  }

  async #flushWaiting(): Promise<WaitingPages | undefined> {
    const waiting = await this.#saveWaiting();
    await this.#folder.sync();
    return waiting;
  }

  /** Waiting pages are saved as text: a stop adds no boundary to the compressed data. */
  async #saveWaiting(): Promise<WaitingPages | undefined> {
    const waiting = [...this.#blocks].filter(([, blocks]) => !blocks.isEmpty);
    if (waiting.length === 0) return undefined;
    const texts = Object.fromEntries(waiting.map(([partition, blocks]) => [partition, blocks.waiting]));
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
      const blocks = this.#blocksOf(partition);
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
  const others = Object.entries(segments).flatMap(([first, segment]): [string, Json][] => {
    if (Number(first) <= partition && partition < segment.front) throw unreadableError();
    if (segment.front !== partition) return [[first, { ...segment }]];
    return segment.front > Number(first) ? [[first, { ...segment, ...segment.frontAt }]] : [];
  });
  return {
    ...(partition === front ? frontAt : decodeFilePosition(sinkPosition)),
    front,
    frontAt,
    commits,
    segments: Object.fromEntries(others),
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
  /** By their first partition. */
  readonly segments: Readonly<Record<string, FilePosition & Pick<Segment, 'front' | 'frontAt'>>>;
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
      Object.entries(segments).map(([first, segment]) => {
        if (!isRecord(segment) || !isCount(segment['front'])) throw unreadableError();
        const { front: end, frontAt: endAt } = segment;
        return [first, { ...decodeFilePosition(segment), front: end, frontAt: decodeFilePosition(endAt) }];
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
