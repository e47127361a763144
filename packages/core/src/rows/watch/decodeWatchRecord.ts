import { CheckpointError } from '../../errors.js';
import { isCount, isRecord } from '../../values.js';
import type { WatchedWalk } from '../source/page.js';
import type { Delta } from './acceptedSnapshot.js';
import type { Difference } from './change.js';
import type { DueFound } from './due.js';
import type { Missing } from './removals.js';
import { decodeRuleChanges, isHeldList, type RuleChanges } from './ruleBook.js';

/** The first record of a log, followed by the rows of its snapshot, and by what rules have found. */
interface BaseRecord<T> extends WatchedWalk {
  readonly kind: 'base';
  readonly v: 1;
  /** A hash of the source's name and identity. */
  readonly watch: string;
  /** Identifies this history of the listing. */
  readonly history: string;
  /** The scope of the first snapshot's changes, until they are committed. */
  readonly scope?: string;
  readonly key?: { readonly salt: string; readonly fingerprint: string };
  readonly generation: number;
  /** The number of rows and of findings of rules that follow, to detect lost records. */
  readonly size: number;
  readonly missing: ReadonlyMap<string, Missing>;
  /** The last generation that the consumer has completely. */
  readonly committed: number;
  readonly rules?: RuleChanges<T> | undefined;
}

type WatchRecord<T> =
  | BaseRecord<T>
  | { readonly kind: 'rows'; readonly rows: readonly (readonly [string, T])[] }
  | { readonly kind: 'held'; readonly held: RuleChanges<T>['held'] }
  /** What rules have found in the first snapshot, until that is committed. */
  | { readonly kind: 'due'; readonly due: readonly DueFound<T>[] }
  | ({ readonly kind: 'delta' } & Delta<T>)
  | { readonly kind: 'committed'; readonly generation: number };

/**
 * Decodes a record of `watchLog`. Its rows are not validated: the log has checksums, so the watch has written them.
 *
 * @param before returns the row that a change replaces
 * @throws CheckpointError if the record is of another form.
 */
export function decodeWatchRecord<T>(record: unknown, before: (key: string) => T | undefined): WatchRecord<T> {
  if (!isRecord(record)) throw unreadable();
  if ('base' in record) return decodeBase<T>(record);
  if (Array.isArray(record['rows'])) return { kind: 'rows', rows: record['rows'] as [string, T][] };
  if (isHeldList<T>(record['held'])) return { kind: 'held', held: record['held'] };
  if (isCount(record['committed'])) return { kind: 'committed', generation: record['committed'] };
  const { generation, observedAt, isIncomplete, differences, missing, due } = record;
  if (differences === undefined && Array.isArray(due)) return { kind: 'due', due: due as DueFound<T>[] };
  if (!isCount(generation) || typeof observedAt !== 'string' || !Array.isArray(differences)) throw unreadable();
  return {
    kind: 'delta',
    generation,
    ...decodeScope(record),
    observedAt,
    ...(isIncomplete === true && { isIncomplete }),
    ...decodeRules<T>(record),
    ...(Array.isArray(due) && { due: due as DueFound<T>[] }),
    missing: decodeMissing(missing),
    differences: differences.map((each: unknown) => decodeDifference(each, before)),
  };
}

function decodeBase<T>(record: Record<string, unknown>): BaseRecord<T> {
  const { base, watch, history, key, generation, observedAt, isIncomplete, size, missing, committed } = record;
  if (typeof base === 'number' && base > 1)
    throw new CheckpointError(
      "The watch's log was written by a newer version of Sluice. Use that version, or start over with another state.",
    );
  if (base !== 1 || typeof watch !== 'string' || !isCount(generation) || typeof observedAt !== 'string')
    throw unreadable();
  if (typeof history !== 'string' || !isCount(committed) || !isCount(size)) throw unreadable();
  return {
    kind: 'base',
    v: base,
    watch,
    history,
    generation,
    ...decodeScope(record),
    observedAt,
    ...(isIncomplete === true && { isIncomplete }),
    committed,
    ...decodeRules<T>(record),
    size,
    missing: decodeMissing(missing),
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

function decodeScope({ scope }: Record<string, unknown>): { readonly scope?: string } {
  return typeof scope === 'string' ? { scope } : {};
}

function decodeRules<T>({ rules }: Record<string, unknown>): { readonly rules?: RuleChanges<T> } {
  if (rules === undefined) return {};
  const changes = decodeRuleChanges<T>(rules);
  if (!changes) throw unreadable();
  return { rules: changes };
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
  return new CheckpointError("The watch's log can't be read. Start over with another state: nothing was changed.");
}
