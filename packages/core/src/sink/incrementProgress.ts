import { isList, isRecord } from '../values.js';

/** How far an incremental export has walked: part of its checkpoint. */
export interface IncrementProgress {
  /** Where its walk began; absent for all rows. */
  readonly from?: string;
  /** Whether the mark moves in the end. */
  readonly moves: boolean;
  /** When the first page arrived, by the API's clock (wall time in ms). */
  readonly began?: number;
  /** The latest value of a row. */
  readonly latest?: string;
  /** Exported rows that the mark will not pass, so that a resumed run knows them; absent if they are too many. */
  readonly recent?: readonly RowAtValue[];
  /** With the seal: the mark to save once the target is published. */
  readonly next?: Mark;
}

/** Hash and value of a row. */
export type RowAtValue = readonly [row: string, value: string];

/** From where the next increment starts. */
export interface Mark {
  readonly v: 1;
  /** For people. */
  readonly source: string;
  readonly value: string;
  /** The rows from this value on that are exported already: hash and value of each. */
  readonly known: readonly RowAtValue[];
  /** Of the API key; absent if the source uses none. */
  readonly key?: { readonly salt: string; readonly fingerprint: string };
}

/** Whether an untrusted value, of a checkpoint, is the progress of an increment. */
export function isIncrementProgress(value: unknown): boolean {
  if (!isRecord(value) || typeof value['moves'] !== 'boolean') return false;
  const { from, latest, began, recent = [], next } = value;
  const texts = [from, latest].every((text) => text === undefined || typeof text === 'string');
  return (
    texts && ['undefined', 'number'].includes(typeof began) && areRows(recent) && (next === undefined || isMark(next))
  );
}

export function isMark(record: unknown): record is Mark {
  if (!isRecord(record) || record['v'] !== 1 || typeof record['value'] !== 'string') return false;
  return areRows(record['known']);
}

function areRows(value: unknown): boolean {
  const isRow = (row: unknown): boolean => isList(row) && row.length === 2 && row.every((t) => typeof t === 'string');
  return isList(value) && value.every(isRow);
}
