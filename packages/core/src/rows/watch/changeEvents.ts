import type { RowSchema } from '../source/definition.js';
import type { SourceInfo } from '../source/sourceInfo.js';
import { notify, type ChangeEvent, type DueEvent, type SourceEvent } from '../source/sourceEvent.js';
import type { AcceptedSnapshot, Delta } from './acceptedSnapshot.js';
import type { DueFound, WhyResolved } from './due.js';
import { timesOf } from './judgeRules.js';
import type { Rule } from './rule.js';

/** Reports the changes of a watch to the observers of its client. */
export interface ChangeEvents<T> {
  /**
   * Reports what the watch resumes with: its rows, and which of them are due. They contain `staged`, which will be
   * emitted again. `now` in ms.
   */
  known(snapshot: Pick<AcceptedSnapshot<T>, 'rows' | 'rules'>, staged: readonly Delta<T>[], now: number): void;
  changed(delta: Delta<T>): void;
}

/** Creates events only if a hook or subscriber receives them, since a poll may find a hundred thousand changes. */
export function changeEvents<T>(
  { name: source, endpoint }: Pick<SourceInfo<never>, 'name' | 'endpoint'>,
  schema: RowSchema<T> | undefined,
  rules: Readonly<Record<string, Rule<T>>> = {},
): ChangeEvents<T> {
  const isHooked = (type: SourceEvent['type']): boolean =>
    endpoint?.observe !== undefined && (endpoint.isObserved?.(type) ?? true);
  const report = (event: Pick<ChangeEvent, 'key' | 'name' | 'kind' | 'before' | 'after' | 'observedAt'>): void =>
    notify(endpoint, { type: 'change', source, ...event });
  const naming = (row: T | null): Pick<ChangeEvent, 'name'> => {
    const name = textOf(() => row && schema?.nameOf?.(row))?.trim() ?? '';
    return name === '' ? {} : { name };
  };
  const reportDue = (
    { key, row, rule, began, times, why, actBefore }: Omit<DueFound<T>, 'type'> & { readonly why?: WhyResolved },
    kind: DueEvent['kind'],
    observedAt: string,
  ): void =>
    notify(endpoint, {
      type: 'due',
      source,
      key,
      ...naming(row),
      rule,
      kind,
      ...began,
      times,
      ...(why && { why }),
      ...(actBefore !== undefined && { actBefore }),
      observedAt,
    });
  return {
    known({ rows, rules: book }, staged, now) {
      const observedAt = new Date(now).toISOString();
      if (isHooked('due'))
        for (const [rule, entries] of book?.held ?? [])
          for (const [key, entry] of entries) {
            const row = rows.get(key);
            if (entry.times === 0 || row === undefined || !book) continue;
            reportDue(
              { key, row, rule, times: entry.times, ...timesOf(entry, rules[rule], book.time) },
              'known',
              observedAt,
            );
          }
      if (!isHooked('change')) return;
      const before = collectRowsBefore(staged);
      const tellKnown = (key: string, row: T): void => {
        const status = statusOf(schema, row);
        report({ key, ...naming(row), kind: 'known', before: status, after: status, observedAt });
      };
      for (const [key, row] of rows) if (!before.has(key)) tellKnown(key, row);
      for (const [key, row] of before) if (row !== null) tellKnown(key, row);
    },
    changed({ differences, due = [], observedAt }) {
      if (due.length > 0 && isHooked('due')) for (const each of due) reportDue(each, each.type, observedAt);
      if (!isHooked('change')) return;
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
