import { CheckpointError } from '../errors.js';
import type { Json } from '../source/definition.js';
import { isCount, isRecord } from '../values.js';
import { type AppendFile, decodeFilePlace, type FilePosition } from './appendFile.js';
import type { ByteBlocks } from './byteBlocks.js';
import type { SegmentFolder } from './segmentFolder.js';
import { together } from './together.js';

export interface OrderedFile {
  readonly size: number;
  /** Where the next byte goes. */
  readonly sinkPosition: FilePosition;
  append(content: string | Uint8Array): Promise<void>;
  /** Makes all that was appended durable; answers the place to go on from. */
  flush(): Promise<FilePosition>;
  /** Gives it another name, after somebody else has changed it; answers that name. */
  setAside(): Promise<string | undefined>;
}

/** One part of the plan on its way into the file. */
interface PartitionBuffer {
  readonly blocks: ByteBlocks;
  /** Where its bytes wait until the partitions before it are through. */
  segment: AppendFile | undefined;
  isEnded: boolean;
}

/**
 * Puts the pages of partitions that are walked side by side into one file, in the plan's order, whatever order they come in.
 *
 * Pages of the first unfinished partition go straight into the file. Those of a later one wait in a segment, which is taken over once
 * all partitions before it are through. So the file's bytes are the same for any concurrency.
 *
 * A place names the file's length and every segment's, so all of them go back together. What the next place will no longer name is
 * cleared away one commit later: until then the last checkpoint may still need it.
 */
export class OrderedPartitionWriter {
  readonly #file: OrderedFile;
  readonly #folder: SegmentFolder;
  readonly #newBlocks: () => ByteBlocks;
  readonly #buffers = new Map<number, PartitionBuffer>();
  /** The first unfinished partition, and where in the file its rows begin. */
  #front = 0;
  #frontAt: FilePosition = { bytes: 0, crc32: 0 };
  #commits = 0;
  /** Files that the last place named. */
  #named: readonly string[] = [];
  /** Those that the place before named, and the last one does not. */
  #outdated: readonly string[] = [];

  constructor(file: OrderedFile, folder: SegmentFolder, newBlocks: () => ByteBlocks) {
    this.#file = file;
    this.#folder = folder;
    this.#newBlocks = newBlocks;
  }

  get isEmpty(): boolean {
    return this.#front === 0 && this.#file.size === 0 && (this.#buffers.get(0)?.blocks.isEmpty ?? true);
  }

  /** Puts the texts of one page behind what the partition has so far. */
  async write(partition: number, texts: readonly string[], endsPartition: boolean): Promise<void> {
    const buffer = this.#buffer(partition);
    await this.#append(partition, buffer, await buffer.blocks.add(texts));
    if (endsPartition) await this.#end(partition, buffer);
  }

  /**
   * Makes all that was written durable; answers the place to go on from. The files are made so side by side, since a disk takes hardly
   * longer for all of them than for one.
   */
  async flush(): Promise<Json> {
    // The checkpoint that followed the last flush is durable by now, so only what it names is still needed.
    await together(this.#outdated.map((name) => this.#folder.remove(name)));
    this.#commits += 1;
    for (const [partition, buffer] of this.#buffers)
      await this.#append(partition, buffer, await buffer.blocks.settled());
    const [sinkPosition, segments, waiting] = await together([
      this.#file.flush(),
      this.#flushSegments(),
      this.#flushWaiting(),
    ]);
    const named = [...this.#segmentNames(), ...(waiting ? [waiting.name] : [])];
    this.#outdated = this.#named.filter((name) => !named.includes(name));
    this.#named = named;
    return {
      ...sinkPosition,
      front: this.#front,
      frontAt: this.#frontAt,
      commits: this.#commits,
      segments,
      ...(waiting && { waiting }),
    };
  }

  async #flushSegments(): Promise<Record<string, Json>> {
    const waiting = [...this.#buffers].filter(([partition]) => partition !== this.#front);
    const sinkPositions = waiting.map(async ([partition, buffer]): Promise<[string, Json]> => {
      const sinkPosition = await placeOf(buffer);
      return [String(partition), { ...sinkPosition, isEnded: buffer.isEnded }];
    });
    return Object.fromEntries(await together(sinkPositions));
  }

  /** Goes on from a place that `flush` answered. Nothing is touched before `cut`. @throws CheckpointError if the segments do not fit. */
  async restore(sinkPosition: Json): Promise<void> {
    const { front, frontAt, commits, segments, waiting } = decodePlace(sinkPosition);
    this.#front = front;
    this.#frontAt = frontAt;
    this.#commits = commits;
    for (const { partition, at, isEnded } of segments) {
      const segment = at.bytes > 0 ? await this.#folder.reopen(String(partition), at) : undefined;
      this.#buffers.set(partition, { blocks: this.#newBlocks(), segment, isEnded });
    }
    if (waiting) await this.#loadWaiting(waiting);
    this.#named = [...this.#segmentNames(), ...(waiting ? [waiting.name] : [])];
  }

  /** Takes off what was written behind the place. */
  async cut(): Promise<void> {
    for (const { segment } of this.#buffers.values()) await segment?.cut();
    await this.#folder.clear(this.#named);
  }

  /** Ends what is still open: the last part of a source that does not say where its partitions end. */
  async end(): Promise<void> {
    for (const [partition, buffer] of [...this.#buffers].sort(([a], [b]) => a - b)) await this.#end(partition, buffer);
  }

  /** Closes the segments, and clears them away unless somebody may go on with them. */
  async abandon(isKept: boolean): Promise<void> {
    for (const { segment } of this.#buffers.values()) await segment?.close().catch(() => undefined);
    if (!isKept) await this.close().catch(() => undefined);
  }

  /**
   * Gives a file that somebody else has changed another name, and answers that.
   *
   * @param path the file itself, or one of those where rows wait.
   */
  setAside(path: string): Promise<string | undefined> {
    const buffer = [...this.#buffers.values()].find(({ segment }) => segment?.path === path);
    return buffer?.segment ? this.#folder.setAside(buffer.segment) : this.#file.setAside();
  }

  /** Clears away what waits, this run's and any earlier one's. */
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
    if (!this.#named.includes(name)) await this.#folder.remove(name);
  }

  #segmentNames(): string[] {
    return [...this.#buffers].flatMap(([partition, { segment }]) => (segment ? [String(partition)] : []));
  }

  async #flushWaiting(): Promise<SavedWaiting | undefined> {
    const waiting = await this.#saveWaiting();
    await this.#folder.sync();
    return waiting;
  }

  /** Pages that wait for their block's end are kept as text: a stop adds no boundary to what is compressed. */
  async #saveWaiting(): Promise<SavedWaiting | undefined> {
    const waiting = [...this.#buffers].filter(([, { blocks }]) => !blocks.isEmpty);
    if (waiting.length === 0) return undefined;
    const texts = Object.fromEntries(waiting.map(([partition, { blocks }]) => [partition, blocks.waiting]));
    const name = `waiting-${this.#commits}`;
    const at = await this.#folder.save(name, JSON.stringify(texts));
    return { name, ...at, partitions: waiting.map(([partition]) => partition) };
  }

  async #loadWaiting({ name, at, partitions }: WaitingPlace): Promise<void> {
    const texts: unknown = JSON.parse(await this.#folder.load(name, at));
    if (!isRecord(texts)) throw unreadable();
    for (const partition of partitions) {
      const pages = texts[partition];
      if (!Array.isArray(pages)) throw unreadable();
      const { blocks } = this.#buffer(partition);
      for (const page of pages) await blocks.add([String(page)]);
    }
  }
}

/** The place in a file of one partition that no other rows wait for. */
export function placeOfOnePart(at: FilePosition): Json {
  return { ...at, front: 0, frontAt: { bytes: 0, crc32: 0 }, commits: 0, segments: {} };
}

/**
 * The place that `place` would be without the rows of one unfinished partition: as if it had not been begun. The others keep theirs.
 *
 * @throws CheckpointError if the place can't be read, or the partition is finished.
 */
export function placeWithoutPart(sinkPosition: Json, partition: number): Json {
  const { front, frontAt, commits, segments, waiting } = decodePlace(sinkPosition);
  if (partition < front) throw unreadable();
  const partitions = waiting?.partitions.filter((each) => each !== partition) ?? [];
  return {
    ...(partition === front ? frontAt : decodeFilePlace(sinkPosition)),
    front,
    frontAt,
    commits,
    segments: Object.fromEntries(
      segments
        .filter((segment) => segment.partition !== partition)
        .map(({ partition: nth, at, isEnded }) => [nth, { ...at, isEnded }]),
    ),
    ...(waiting && partitions.length > 0 && { waiting: { name: waiting.name, ...waiting.at, partitions } }),
  };
}

async function placeOf({ segment }: PartitionBuffer): Promise<FilePosition> {
  return segment ? segment.flush() : { bytes: 0, crc32: 0 };
}

type SavedWaiting = FilePosition & { readonly name: string; readonly partitions: readonly number[] };

interface WaitingPlace {
  readonly name: string;
  readonly at: FilePosition;
  readonly partitions: readonly number[];
}

interface Place {
  readonly front: number;
  readonly frontAt: FilePosition;
  readonly commits: number;
  readonly segments: readonly { readonly partition: number; readonly at: FilePosition; readonly isEnded: boolean }[];
  readonly waiting: WaitingPlace | undefined;
}

function decodePlace(sinkPosition: unknown): Place {
  if (!isRecord(sinkPosition)) throw unreadable();
  const { front, frontAt, commits, segments, waiting } = sinkPosition;
  if (!isCount(front) || !isCount(commits) || !isRecord(segments)) throw unreadable();
  return {
    front,
    frontAt: decodeFilePlace(frontAt),
    commits,
    segments: Object.entries(segments).map(([partition, segment]) => ({
      partition: Number(partition),
      at: decodeFilePlace(segment),
      isEnded: isRecord(segment) && segment['isEnded'] === true,
    })),
    waiting: waiting === undefined ? undefined : decodeWaiting(waiting),
  };
}

function decodeWaiting(waiting: unknown): WaitingPlace {
  if (!isRecord(waiting) || typeof waiting['name'] !== 'string' || !Array.isArray(waiting['partitions']))
    throw unreadable();
  return { name: waiting['name'], at: decodeFilePlace(waiting), partitions: waiting['partitions'].filter(isCount) };
}

function unreadable(): CheckpointError {
  return new CheckpointError('The checkpoint does not say how to go on with the parts of the plan.', {}, [
    { kind: 'restart' },
  ]);
}
