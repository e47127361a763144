import type { RowSchema } from '../source/definition.js';
import type { SourceInfo } from '../source/sourceInfo.js';
import { notify, type ChangeEvent } from '../source/sourceEvent.js';
import type { Delta } from './acceptedSnapshot.js';

/** Reports the changes of a watch to the observers of its client. */
export interface ChangeEvents<T> {
  /** Reports the rows that the watch resumes with. They contain `staged`, which will be emitted again. `now` in ms. */
  known(rows: Iterable<readonly [key: string, row: T]>, staged: readonly Delta<T>[], now: number): void;
  changed(delta: Delta<T>): void;
}

/** Creates events only if a hook or subscriber receives them, since a poll may find a hundred thousand changes. */
export function changeEvents<T>(
  { name: source, endpoint }: Pick<SourceInfo<never>, 'name' | 'endpoint'>,
  schema: RowSchema<T> | undefined,
): ChangeEvents<T> {
  const isHooked = (): boolean => endpoint?.observe !== undefined && (endpoint.isObserved?.('change') ?? true);
  const report = (event: Pick<ChangeEvent, 'key' | 'name' | 'kind' | 'before' | 'after' | 'observedAt'>): void =>
    notify(endpoint, { type: 'change', source, ...event });
  const naming = (row: T | null): Pick<ChangeEvent, 'name'> => {
    const name = textOf(() => row && schema?.nameOf?.(row))?.trim() ?? '';
    return name === '' ? {} : { name };
  };
  return {
    known(rows, staged, now) {
      if (!isHooked()) return;
      const observedAt = new Date(now).toISOString();
      const before = collectRowsBefore(staged);
      const tellKnown = (key: string, row: T): void => {
        const status = statusOf(schema, row);
        report({ key, ...naming(row), kind: 'known', before: status, after: status, observedAt });
      };
      for (const [key, row] of rows) if (!before.has(key)) tellKnown(key, row);
      for (const [key, row] of before) if (row !== null) tellKnown(key, row);
    },
    changed({ differences, observedAt }) {
      if (!isHooked()) return;
      for (const { key, type, before, after } of differences)
        report({
          key,
          ...naming(after ?? before),
          kind: type,
          before: statusOf(schema, before),
          after: statusOf(schema, after),
          observedAt,
        });
    },
  };
}

/** The rows that deltas change, as they were before all of the deltas; `null` for a row that did not exist. */
function collectRowsBefore<T>(staged: readonly Delta<T>[]): ReadonlyMap<string, T | null> {
  const rows = new Map<string, T | null>();
  for (const { differences } of staged)
    for (const { key, before } of differences) if (!rows.has(key)) rows.set(key, before);
  return rows;
}

/** Longer texts are ignored. They are not cut, because a cut text could end with half a secret. */
const maxLength = 200;

function statusOf<T>(schema: RowSchema<T> | undefined, row: T | null): string | null {
  return textOf(() => row && schema?.statusOf?.(row)) ?? null;
}

/** Ignores errors: events for observers must not fail the watch. */
function textOf(read: () => unknown): string | undefined {
  try {
    const text = read();
    return typeof text === 'string' && text.length <= maxLength ? text : undefined;
  } catch {
    return undefined;
  }
}
