import { CheckpointError } from '../errors.js';
import { isCount, isRecord } from '../values.js';
import type { Json } from '../source/definition.js';
import { decodeFilePlace, type AppendFile, type FilePlace } from './appendFile.js';
import type { ByteBlocks } from './byteBlocks.js';
import type { SegmentFolder } from './segmentFolder.js';
import { together } from './together.js';

/** The file that all rows go into. */
export interface OrderedFile {
  /** Bytes that it has with all that was appended. */
  readonly size: number;
  /** Where the next byte goes. */
  readonly place: FilePlace;
  append(content: string | Uint8Array): Promise<void>;
  /** Makes all that was appended durable; answers the place to go on from. */
  flush(): Promise<FilePlace>;
  /** Gives it another name, after somebody else has changed it; answers that name. */
  setAside(): Promise<string | undefined>;
}

/** One part of the plan on its way into the file. */
interface Lane {
  readonly blocks: ByteBlocks;
  /** Where its bytes wait until the parts before it are through. */
  segment: AppendFile | undefined;
  isEnded: boolean;
}

/**
 * Puts the pages of parts that are walked side by side into one file, in the plan's order, whatever order they come in.
 *
 * Pages of the first unfinished part go straight into the file. Those of a later one wait in a segment, which is taken over once
 * all parts before it are through. So the file's bytes are the same for any number of lanes.
 *
 * A place names the file's length and every segment's, so all of them go back together. What the next place will no longer name is
 * cleared away one commit later: until then the last checkpoint may still need it.
 */
export class PlanOrder {
  readonly #file: OrderedFile;
  readonly #folder: SegmentFolder;
  readonly #newBlocks: () => ByteBlocks;
  readonly #lanes = new Map<number, Lane>();
  /** The first unfinished part, and where in the file its rows begin. */
  #front = 0;
  #frontAt: FilePlace = { bytes: 0, crc32: 0 };
  /** Counts the commits, so that no two of them share a file. */
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

  /** Whether nothing was written yet. */
  get isEmpty(): boolean {
    return this.#front === 0 && this.#file.size === 0 && (this.#lanes.get(0)?.blocks.isEmpty ?? true);
  }

  /** Puts the texts of one page behind what the part has so far. */
  async write(part: number, texts: readonly string[], endsPart: boolean): Promise<void> {
    const lane = this.#lane(part);
    await this.#append(part, lane, await lane.blocks.add(texts));
    if (endsPart) await this.#end(part, lane);
  }

  /**
   * Makes all that was written durable; answers the place to go on from. The files are made so side by side, since a disk takes hardly
   * longer for all of them than for one.
   */
  async flush(): Promise<Json> {
    // The checkpoint that followed the last flush is durable by now, so only what it names is still needed.
    await together(this.#outdated.map((name) => this.#folder.remove(name)));
    this.#commits += 1;
    for (const [part, lane] of this.#lanes) await this.#append(part, lane, await lane.blocks.settled());
    const [place, segments, waiting] = await together([
      this.#file.flush(),
      this.#flushSegments(),
      this.#flushWaiting(),
    ]);
    const named = [...this.#segmentNames(), ...(waiting ? [waiting.name] : [])];
    this.#outdated = this.#named.filter((name) => !named.includes(name));
    this.#named = named;
    return {
      ...place,
      front: this.#front,
      frontAt: this.#frontAt,
      commits: this.#commits,
      segments,
      ...(waiting && { waiting }),
    };
  }

  async #flushSegments(): Promise<Record<string, Json>> {
    const waiting = [...this.#lanes].filter(([part]) => part !== this.#front);
    const places = waiting.map(async ([part, lane]): Promise<[string, Json]> => {
      const place = await placeOf(lane);
      return [String(part), { ...place, isEnded: lane.isEnded }];
    });
    return Object.fromEntries(await together(places));
  }

  /** Goes on from a place that `flush` answered. Nothing is touched before `cut`. @throws CheckpointError if the segments do not fit. */
  async restore(place: Json): Promise<void> {
    const { front, frontAt, commits, segments, waiting } = decodePlace(place);
    this.#front = front;
    this.#frontAt = frontAt;
    this.#commits = commits;
    for (const { part, at, isEnded } of segments) {
      const segment = at.bytes > 0 ? await this.#folder.reopen(String(part), at) : undefined;
      this.#lanes.set(part, { blocks: this.#newBlocks(), segment, isEnded });
    }
    if (waiting) await this.#loadWaiting(waiting);
    this.#named = [...this.#segmentNames(), ...(waiting ? [waiting.name] : [])];
  }

  /** Takes off what was written behind the place. */
  async cut(): Promise<void> {
    for (const { segment } of this.#lanes.values()) await segment?.cut();
    await this.#folder.clear(this.#named);
  }

  /** Ends what is still open: the last part of a source that does not say where its parts end. */
  async end(): Promise<void> {
    for (const [part, lane] of [...this.#lanes].sort(([a], [b]) => a - b)) await this.#end(part, lane);
  }

  /** Closes the segments, and clears them away unless somebody may go on with them. */
  async abandon(isKept: boolean): Promise<void> {
    for (const { segment } of this.#lanes.values()) await segment?.close().catch(() => undefined);
    if (!isKept) await this.close().catch(() => undefined);
  }

  /**
   * Gives a file that somebody else has changed another name, and answers that.
   *
   * @param path the file itself, or one of those where rows wait.
   */
  setAside(path: string): Promise<string | undefined> {
    const lane = [...this.#lanes.values()].find(({ segment }) => segment?.path === path);
    return lane?.segment ? this.#folder.setAside(lane.segment) : this.#file.setAside();
  }

  /** Clears away what waits, this run's and any earlier one's. */
  clear(): Promise<void> {
    return this.#folder.clear();
  }

  /** Nothing waits any more. */
  async close(): Promise<void> {
    if (this.#folder.isUsed) await this.clear();
  }

  #lane(part: number): Lane {
    const known = this.#lanes.get(part);
    if (known) return known;
    const lane: Lane = { blocks: this.#newBlocks(), segment: undefined, isEnded: false };
    this.#lanes.set(part, lane);
    return lane;
  }

  async #append(part: number, lane: Lane, contents: readonly (string | Uint8Array)[]): Promise<void> {
    for (const content of contents) {
      if (content.length === 0) continue;
      if (part === this.#front) await this.#file.append(content);
      else await (lane.segment ??= await this.#folder.create(String(part))).append(content);
    }
  }

  async #end(part: number, lane: Lane): Promise<void> {
    await this.#append(part, lane, await lane.blocks.end());
    lane.isEnded = true;
    if (part === this.#front) await this.#advance();
  }

  async #advance(): Promise<void> {
    do {
      this.#lanes.delete(this.#front);
      this.#front += 1;
      this.#frontAt = this.#file.place;
      const next = this.#lanes.get(this.#front);
      if (next?.segment) await this.#takeOver(String(this.#front), next.segment);
      if (next) next.segment = undefined;
    } while (this.#lanes.get(this.#front)?.isEnded);
  }

  async #takeOver(name: string, segment: AppendFile): Promise<void> {
    for await (const piece of segment.read()) await this.#file.append(piece);
    await segment.close();
    if (!this.#named.includes(name)) await this.#folder.remove(name);
  }

  #segmentNames(): string[] {
    return [...this.#lanes].flatMap(([part, { segment }]) => (segment ? [String(part)] : []));
  }

  async #flushWaiting(): Promise<SavedWaiting | undefined> {
    const waiting = await this.#saveWaiting();
    await this.#folder.sync();
    return waiting;
  }

  /** Pages that wait for their block's end are kept as text: a stop adds no boundary to what is compressed. */
  async #saveWaiting(): Promise<SavedWaiting | undefined> {
    const waiting = [...this.#lanes].filter(([, { blocks }]) => !blocks.isEmpty);
    if (waiting.length === 0) return undefined;
    const texts = Object.fromEntries(waiting.map(([part, { blocks }]) => [part, blocks.waiting]));
    const name = `waiting-${this.#commits}`;
    const at = await this.#folder.save(name, JSON.stringify(texts));
    return { name, ...at, parts: waiting.map(([part]) => part) };
  }

  async #loadWaiting({ name, at, parts }: WaitingPlace): Promise<void> {
    const texts: unknown = JSON.parse(await this.#folder.load(name, at));
    if (!isRecord(texts)) throw unreadable();
    for (const part of parts) {
      const pages = texts[part];
      if (!Array.isArray(pages)) throw unreadable();
      const { blocks } = this.#lane(part);
      for (const page of pages) await blocks.add([String(page)]);
    }
  }
}

/** The place in a file of one part that no other rows wait for. */
export function placeOfOnePart(at: FilePlace): Json {
  return { ...at, front: 0, frontAt: { bytes: 0, crc32: 0 }, commits: 0, segments: {} };
}

/**
 * The place that `place` would be without the rows of one unfinished part: as if it had not been begun. The others keep theirs.
 *
 * @throws CheckpointError if the place can't be read, or the part is finished.
 */
export function placeWithoutPart(place: Json, part: number): Json {
  const { front, frontAt, commits, segments, waiting } = decodePlace(place);
  if (part < front) throw unreadable();
  const parts = waiting?.parts.filter((each) => each !== part) ?? [];
  return {
    ...(part === front ? frontAt : decodeFilePlace(place)),
    front,
    frontAt,
    commits,
    segments: Object.fromEntries(
      segments
        .filter((segment) => segment.part !== part)
        .map(({ part: nth, at, isEnded }) => [nth, { ...at, isEnded }]),
    ),
    ...(waiting && parts.length > 0 && { waiting: { name: waiting.name, ...waiting.at, parts } }),
  };
}

async function placeOf({ segment }: Lane): Promise<FilePlace> {
  return segment ? segment.flush() : { bytes: 0, crc32: 0 };
}

type SavedWaiting = FilePlace & { readonly name: string; readonly parts: readonly number[] };

interface WaitingPlace {
  readonly name: string;
  readonly at: FilePlace;
  readonly parts: readonly number[];
}

interface Place {
  readonly front: number;
  readonly frontAt: FilePlace;
  readonly commits: number;
  readonly segments: readonly { readonly part: number; readonly at: FilePlace; readonly isEnded: boolean }[];
  readonly waiting: WaitingPlace | undefined;
}

function decodePlace(place: unknown): Place {
  if (!isRecord(place)) throw unreadable();
  const { front, frontAt, commits, segments, waiting } = place;
  if (!isCount(front) || !isCount(commits) || !isRecord(segments)) throw unreadable();
  return {
    front,
    frontAt: decodeFilePlace(frontAt),
    commits,
    segments: Object.entries(segments).map(([part, segment]) => ({
      part: Number(part),
      at: decodeFilePlace(segment),
      isEnded: isRecord(segment) && segment['isEnded'] === true,
    })),
    waiting: waiting === undefined ? undefined : decodeWaiting(waiting),
  };
}

function decodeWaiting(waiting: unknown): WaitingPlace {
  if (!isRecord(waiting) || typeof waiting['name'] !== 'string' || !Array.isArray(waiting['parts'])) throw unreadable();
  return { name: waiting['name'], at: decodeFilePlace(waiting), parts: waiting['parts'].filter(isCount) };
}

function unreadable(): CheckpointError {
  return new CheckpointError('The checkpoint does not say how to go on with the parts of the plan.', {}, [
    { kind: 'restart' },
  ]);
}
