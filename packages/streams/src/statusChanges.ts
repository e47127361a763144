import type { Updated, Change } from '@sluice/core';
import { filter, type OperatorFunction } from 'rxjs';
import type { EvmStream } from './evmStream.js';

/** A stream whose `status` or `statusMessage` is another one now. */
export type StatusChange = Updated<EvmStream>;

/**
 * Of all changes of streams, those of `status` or `statusMessage`: `before` and `after` are both there. A stream that was already
 * there, came, or went has changed no status, also if it came in `error`.
 *
 * @example
 * client.streams.watch({ every: 30_000 }).pipe(statusChanges())
 *   .subscribe(({ after, before }) => console.log(`${after.tag}: ${before.status} -> ${after.status}`));
 */
export function statusChanges(): OperatorFunction<Change<EvmStream>, StatusChange> {
  return filter((change): change is StatusChange => change.type === 'changed' && hasOtherStatus(change));
}

/** Looks at the values, since `fields` names what a projection made of them, and what differs inside of a status that is an object. */
function hasOtherStatus({ before, after }: StatusChange): boolean {
  return !isSame(before.status, after.status) || !isSame(before.statusMessage, after.statusMessage);
}

/** Whether two values of JSON are the same, whatever the order of names. */
function isSame(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other;
  const values = new Map(Object.entries(other));
  const entries = Object.entries(one);
  if (Array.isArray(one) !== Array.isArray(other) || entries.length !== values.size) return false;
  return entries.every(([name, value]) => isSame(value, values.get(name)));
}
