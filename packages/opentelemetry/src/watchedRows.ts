import type { Attributes } from '@opentelemetry/api';
import type { ChangeEvent } from '@sluice/core/kit';
import type { Instruments } from './instruments.js';

/**
 * Counts changes, and the rows of each status. A row is known by its source and key, so one that is reported again,
 * e.g. after a restart of the watch, counts once. Keys are in no attribute: there are too many.
 */
export function changeHook({ watchChanges, watchRows }: Pick<Instruments, 'watchChanges' | 'watchRows'>) {
  /** The status of each known row, by source and key. */
  const known = new Map<string, Map<string, string | null>>();
  return ({ source, key, kind, before, after }: ChangeEvent): void => {
    if (kind !== 'known')
      watchChanges.add(1, { 'sluice.source': source, 'sluice.change': kind, ...status(after ?? before) });
    const rows = known.get(source) ?? new Map<string, string | null>();
    known.set(source, rows);
    const last = rows.get(key);
    if (last !== undefined) watchRows.add(-1, { 'sluice.source': source, ...status(last) });
    if (kind === 'removed') rows.delete(key);
    else {
      rows.set(key, after);
      watchRows.add(1, { 'sluice.source': source, ...status(after) });
    }
  };
}

function status(text: string | null): Attributes {
  return text === null ? {} : { 'sluice.status': text };
}
