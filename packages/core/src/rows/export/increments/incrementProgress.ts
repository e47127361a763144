import { isCount, isList, isRecord } from '../../../values.js';

/** How far an increment of one listing has walked. */
export interface ListingProgress {
  /** Where its walk began; absent for all rows. */
  readonly from?: string;
  /** Whether the mark moves in the end. */
  readonly moves: boolean;
  /** The first window in which rows are missing: the mark moves no further. */
  readonly held?: string | undefined;
  /** When the first page arrived, by the API's clock (wall time in ms). */
  readonly began?: number;
  /** The latest value of a row. */
  readonly latest?: string;
  /** Exported rows that the mark will not pass, so that a resumed run knows them; absent if they are too many. */
  readonly recent?: readonly RowAtValue[];
}

/** How far an incremental export has walked: part of its checkpoint. */
export interface IncrementProgress extends ListingProgress {
  /** It has no rows with this value or a later one. */
  readonly until?: string;
  /** It fetches a range again, and leaves no mark. */
  readonly isBackfill?: true;
  /** It has all rows, whatever the marks of the parents. */
  readonly isFull?: true;
  /**
   * Of each parent whose listing is unfinished, by its partition; if that has windows, by the last one. `from` is then
   * where all of them begin, if given.
   */
  readonly parents?: Readonly<Record<string, ListingProgress>>;
  /** Records that the run has in the log of the parents' marks. */
  readonly records?: number;
  /** With the seal: the mark to save once the target is published. */
  readonly next?: Mark;
}

/** Hash and value of a row. */
export type RowAtValue = readonly [row: string, value: string];

/** From where the next increment of a listing starts. */
export interface ListingMark {
  readonly value: string;
  /** The rows from this value on that are exported already: hash and value of each. */
  readonly known: readonly RowAtValue[];
}

/** From where the next increment of a source starts. */
export type Mark = {
  /** 2 if it has known since it was made that local times are not UTC. */
  readonly v: 1 | 2;
  /** For people. */
  readonly source: string;
  /** Of the API key; absent if the source uses none. */
  readonly key?: { readonly salt: string; readonly fingerprint: string };
  /** The scope of the rows' ids, of all increments since the first: a row that comes again unchanged keeps its id. */
  readonly scope?: string;
} & (ListingMark | ParentsMark);

/** Of a source that has a listing for each parent. */
export interface ParentsMark {
  /** The run whose records in the log have the mark of each parent. */
  readonly run: string;
  /** How many they are. Absent if it was not counted. */
  readonly records?: number;
}

/**
 * As if one unfinished partition had not begun: its rows are not exported any more. Other windows of its parent may be
 * finished, so only the known rows go.
 */
export function forgetPartition(progress: IncrementProgress, partition: number): IncrementProgress {
  const { parents } = progress;
  if (!parents) return { ...progress, recent: [] };
  // The windows of a parent follow each other, and the last one has the progress of all.
  const last = Math.min(
    ...Object.keys(parents)
      .map(Number)
      .filter((each) => each >= partition),
  );
  const own = parents[last];
  return { ...progress, parents: { ...parents, ...(own && { [last]: { ...own, recent: [] } }) } };
}

/** Whether an untrusted value, of a checkpoint, is the progress of an increment. */
export function isIncrementProgress(value: unknown): boolean {
  if (!isRecord(value) || !isListingProgress(value)) return false;
  const { isFull, isBackfill, until, parents = {}, records = 0, next } = value;
  return (
    [isFull, isBackfill].every((flag) => flag === undefined || flag === true) &&
    (until === undefined || typeof until === 'string') &&
    isCount(records) &&
    isRecord(parents) &&
    Object.values(parents).every(isListingProgress) &&
    (next === undefined || isMark(next) || isParentsMark(next))
  );
}

function isListingProgress(value: unknown): boolean {
  if (!isRecord(value) || typeof value['moves'] !== 'boolean') return false;
  const { from, latest, held, began, recent = [] } = value;
  const texts = [from, latest, held].every((text) => text === undefined || typeof text === 'string');
  return texts && ['undefined', 'number'].includes(typeof began) && areRows(recent);
}

export function isMark(record: unknown): record is Mark & ListingMark {
  return isRecord(record) && record['v'] === 1 && isListingMark(record);
}

export function isParentsMark(record: unknown): record is Mark & ParentsMark {
  if (!isRecord(record) || (record['v'] !== 1 && record['v'] !== 2) || typeof record['run'] !== 'string') return false;
  return isCount(record['records'] ?? 0);
}

export function isListingMark(record: unknown): record is ListingMark {
  return isRecord(record) && typeof record['value'] === 'string' && areRows(record['known']);
}

function areRows(value: unknown): boolean {
  const isRow = (row: unknown): boolean => isList(row) && row.length === 2 && row.every((t) => typeof t === 'string');
  return isList(value) && value.every(isRow);
}
