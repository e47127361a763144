import { CheckpointError } from '../../errors.js';
import { isDone, type Position } from '../../position.js';
import type { StateLog } from '../../stateLog.js';
import { isCount, isList, isRecord } from '../../values.js';
import type { RowKey, RowSchema } from './definition.js';
import { hashWords } from './fingerprint.js';

/** What an export does with a row whose key its listing has listed before. */
export const repeatActions = ['keep', 'drop', 'fail'] as const;
export type RepeatAction = (typeof repeatActions)[number];

/** Where an export keeps the keys of unfinished partitions. */
export interface KeyLogs {
  /** The log of the keys of the rows (level 0), or of the rows above them (from level 1). */
  readonly log: (level: number) => StateLog;
  /** Identifies the export: its first record replaces the records of another export. */
  readonly runId: string;
}

/**
 * The keys of the rows that each unfinished partition of a walk has listed: 64 bits of each, in 11 to 21 bytes.
 *
 * The same key in two partitions is not a repetition: a row may belong to both. With logs, the keys survive the
 * process: `save` runs before the checkpoint of a position is saved, and `load` reads the keys up to that position.
 */
export class ListedKeys {
  readonly #logs: KeyLogs | undefined;
  readonly #level: number;
  readonly #log: StateLog | undefined;
  readonly #partitions = new Map<number, HashSet>();
  /** The hashes that `save` has to append, by partition. */
  #unsaved = new Map<number, Chunk>();
  /** The log has a record of this export. */
  #isBegun = false;

  constructor(logs?: KeyLogs, level = 0) {
    this.#logs = logs;
    this.#level = level;
    this.#log = logs?.log(level);
  }

  /** The keys of the listing whose rows are the partitions. */
  above(): ListedKeys {
    return new ListedKeys(this.#logs, this.#level + 1);
  }

  /** Adds the key of a partition's next row. Returns whether the partition has listed the key before. */
  add(partition: number, key: RowKey | undefined): boolean {
    const keys = this.#keysOf(partition);
    const [high, low] = key === undefined ? noKey : hashOfKey(String(key));
    if (this.#log) {
      const chunk = this.#unsaved.get(partition) ?? { at: keys.rows, words: [] };
      if (chunk.words.length === 0) this.#unsaved.set(partition, chunk);
      chunk.words.push(high, low);
    }
    return keys.add(high, low);
  }

  /** Drops the keys of a partition that lists no more rows. */
  end(partition: number): void {
    this.#partitions.delete(partition);
  }

  /**
   * Loads the keys of the rows before a position. If the log has no record of this export, e.g. because an older
   * version began it, only later rows are compared.
   *
   * @param isNeeded whether that is an error
   * @throws CheckpointError if the log has only some of the keys.
   */
  async load({ begun }: Position, isNeeded = false): Promise<void> {
    const rowsOf = new Map(Object.entries(begun).map(([partition, { rows }]) => [Number(partition), rows]));
    if (!this.#log || [...rowsOf.values()].every((rows) => rows === 0)) return;
    const chunks = new Map<number, LoadedChunk[]>();
    for await (const record of this.#log.read()) {
      const { runId, keys } = decodeRecord(record);
      if (!this.#isBegun && runId !== this.#logs?.runId) break;
      this.#isBegun = true;
      for (const chunk of keys) if (rowsOf.has(chunk.partition)) append(chunks, chunk);
    }
    for (const [partition, rows] of rowsOf) {
      const keys = this.#keysOf(partition);
      for (const { words } of chunks.get(partition) ?? [])
        for (let nth = 0; nth < words.length && keys.rows < rows; nth += 2)
          keys.add(words[nth] ?? 0, words[nth + 1] ?? 0);
      if (keys.rows === rows) continue;
      if (this.#isBegun || isNeeded) throw unreadable();
      keys.rows = rows;
    }
  }

  /** Makes durable the keys that a walk needs to resume at a position. */
  async save(position: Position): Promise<void> {
    const unsaved = this.#unsaved;
    this.#unsaved = new Map();
    const keys = [...unsaved]
      .filter(([partition]) => !isDone(position, partition))
      .map(([partition, { at, words }]) => [partition, at, encodeWords(words)]);
    if (!this.#log || keys.length === 0) return;
    if (this.#isBegun) await this.#log.append({ keys });
    else await this.#log.replace([{ runId: this.#logs?.runId, keys }]);
    this.#isBegun = true;
  }

  close(): Promise<void> | undefined {
    return this.#log?.close();
  }

  #keysOf(partition: number): HashSet {
    const known = this.#partitions.get(partition);
    if (known) return known;
    const keys = new HashSet();
    this.#partitions.set(partition, keys);
    return keys;
  }
}

/** The key of a row, or `undefined` if it has no valid one. */
export function keyOf<T>({ key }: Pick<RowSchema<T>, 'key'>, row: T): RowKey | undefined {
  try {
    const value: unknown = key?.(row);
    return (typeof value === 'string' && value !== '') || isInteger(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

/** Hashes of consecutive rows of a partition, two words each. */
interface Chunk {
  /** How many rows of the partition came before. */
  readonly at: number;
  readonly words: number[];
}

interface LoadedChunk {
  readonly partition: number;
  readonly at: number;
  readonly words: Uint32Array;
}

const noKey = [0, 0] as const;

function hashOfKey(key: string): readonly [high: number, low: number] {
  const hash = hashWords(key);
  return hash[0] === 0 && hash[1] === 0 ? [0, 1] : hash;
}

/** A set of hashes with open addressing. An empty slot is zero. */
class HashSet {
  /** How many rows were added, including repeated ones and rows without a key. */
  rows = 0;
  #size = 0;
  #words = new Uint32Array(32);

  /** Returns whether the set had the hash before. */
  add(high: number, low: number): boolean {
    this.rows += 1;
    if (high === 0 && low === 0) return false;
    if (!this.#put(high, low)) return true;
    this.#size += 1;
    // More than three quarters of the slots are used.
    if (this.#size * 8 > this.#words.length * 3) this.#grow();
    return false;
  }

  #put(high: number, low: number): boolean {
    const words = this.#words;
    const mask = words.length - 1;
    for (let at = (low << 1) & mask; ; at = (at + 2) & mask) {
      const found = words[at];
      const other = words[at + 1];
      if (found === high && other === low) return false;
      if (found !== 0 || other !== 0) continue;
      words[at] = high;
      words[at + 1] = low;
      return true;
    }
  }

  #grow(): void {
    const before = this.#words;
    this.#words = new Uint32Array(before.length * 2);
    for (let at = 0; at < before.length; at += 2) {
      const high = before[at] ?? 0;
      const low = before[at + 1] ?? 0;
      if (high !== 0 || low !== 0) this.#put(high, low);
    }
  }
}

/** Adds a chunk, and cuts those it overlaps: a run lists and records again the rows behind the last checkpoint. */
function append(chunks: Map<number, LoadedChunk[]>, chunk: LoadedChunk): void {
  const known = chunks.get(chunk.partition) ?? [];
  const kept = known
    .filter(({ at }) => at < chunk.at)
    .map((each) => ({ ...each, words: each.words.subarray(0, (chunk.at - each.at) * 2) }));
  const last = kept.at(-1);
  if ((last ? last.at + last.words.length / 2 : 0) !== chunk.at) throw unreadable();
  chunks.set(chunk.partition, [...kept, chunk]);
}

function encodeWords(words: readonly number[]): string {
  const bytes = new Uint8Array(Uint32Array.from(words).buffer);
  let text = '';
  for (let at = 0; at < bytes.length; at += 4096) text += String.fromCharCode(...bytes.subarray(at, at + 4096));
  return btoa(text);
}

function decodeWords(text: string): Uint32Array {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new Uint32Array(bytes.buffer);
}

/** @throws CheckpointError if it is not a record of keys. */
function decodeRecord(record: unknown): { readonly runId: unknown; readonly keys: readonly LoadedChunk[] } {
  if (!isRecord(record) || !isList(record['keys'])) throw unreadable();
  const keys = record['keys'].map((chunk) => {
    const [partition, at, text] = isList(chunk) ? chunk : [];
    if (!isCount(partition) || !isCount(at) || typeof text !== 'string') throw unreadable();
    return { partition, at, words: decodeWords(text) };
  });
  return { runId: record['runId'], keys };
}

function unreadable(): CheckpointError {
  return new CheckpointError(
    "The log of the keys of the rows lacks some that the checkpoint refers to, so it was damaged or removed: rows that come again couldn't be told from new ones.",
    {},
    [{ kind: 'restart' }],
  );
}
