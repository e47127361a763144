import { CheckpointError } from '../errors.js';
import { isCount, isRecord } from '../values.js';
import type { Delta } from './acceptedSnapshot.js';
import type { Difference } from './change.js';
import type { Missing } from './verdict.js';

/** The first record of a log: the snapshot that follows it, in pieces. */
interface BaseRecord {
  readonly kind: 'base';
  readonly v: 1;
  /** Of the source and its identity. */
  readonly watch: string;
  /** Tells this history of the listing from any other. */
  readonly history: string;
  readonly key?: { readonly salt: string; readonly fingerprint: string };
  readonly generation: number;
  readonly observedAt: string;
  /** How many rows follow: a record that is lost behind this one is noticed. */
  readonly size: number;
  readonly missing: ReadonlyMap<string, Missing>;
  /** The generation up to which the consumer has everything. */
  readonly committed: number;
}

type WatchRecord<T> =
  | BaseRecord
  | { readonly kind: 'rows'; readonly rows: readonly (readonly [string, T])[] }
  | ({ readonly kind: 'delta' } & Delta<T>)
  | { readonly kind: 'committed'; readonly generation: number };

/**
 * Reads a record that `watchLog` wrote. The log has checksums, so what it holds was written by us; rows are taken as they are.
 *
 * @param before the row that a change replaces.
 * @throws CheckpointError if it is none of ours.
 */
export function decodeWatchRecord<T>(record: unknown, before: (key: string) => T | undefined): WatchRecord<T> {
  if (!isRecord(record)) throw unreadable();
  if ('base' in record) return decodeBase(record);
  if (Array.isArray(record['rows'])) return { kind: 'rows', rows: record['rows'] as [string, T][] };
  if (isCount(record['committed'])) return { kind: 'committed', generation: record['committed'] };
  const { generation, observedAt, differences, missing } = record;
  if (!isCount(generation) || typeof observedAt !== 'string' || !Array.isArray(differences)) throw unreadable();
  return {
    kind: 'delta',
    ...{ generation, observedAt, missing: decodeMissing(missing) },
    differences: differences.map((each: unknown) => decodeDifference(each, before)),
  };
}

function decodeBase({
  base,
  watch,
  history,
  key,
  generation,
  observedAt,
  size,
  missing,
  committed,
}: Record<string, unknown>): BaseRecord {
  if (typeof base === 'number' && base > 1)
    throw new CheckpointError(
      "The watch's log was written by a newer version of Sluice. Use that version, or begin anew with another state.",
    );
  if (base !== 1 || typeof watch !== 'string' || !isCount(generation) || typeof observedAt !== 'string')
    throw unreadable();
  if (typeof history !== 'string' || !isCount(committed) || !isCount(size)) throw unreadable();
  return {
    kind: 'base',
    v: base,
    ...{ watch, history, generation, observedAt, committed, size, missing: decodeMissing(missing) },
    ...(isRecord(key) && { key: { salt: String(key['salt']), fingerprint: String(key['fingerprint']) } }),
  };
}

function decodeDifference<T>(value: unknown, beforeOf: (key: string) => T | undefined): Difference<T> {
  if (!Array.isArray(value)) throw unreadable();
  const [type, key, after, fields] = value as [Difference<T>['type'], string, T, string[]];
  if (type === 'initial' || type === 'added') return { type, key, before: null, after, fields: [] };
  const before = beforeOf(key);
  if (before === undefined) throw unreadable();
  return type === 'removed'
    ? { type, key, before, after: null, fields: [] }
    : { type: 'changed', key, before, after, fields };
}

function decodeMissing(value: unknown): ReadonlyMap<string, Missing> {
  if (!isRecord(value)) throw unreadable();
  return new Map(
    Object.entries(value as Record<string, [number, number, boolean]>).map(([key, [walks, since, isHeld]]) => [
      key,
      { walks, since, isHeld },
    ]),
  );
}

export function unreadable(): CheckpointError {
  return new CheckpointError("The watch's log can't be read. Begin anew with another state: nothing was changed.");
}
