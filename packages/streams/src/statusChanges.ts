import type { Change, Due, Updated } from '@sluice/core';
import { filter } from 'rxjs';
import type { EvmStream } from './evmStream.js';

/** A change of a stream's `status` or `statusMessage`. */
export type StatusChange = Updated<EvmStream>;

/**
 * Emits only the changes of `status` or `statusMessage`, with `before` and `after`. A stream that is listed by the
 * first poll, added or removed is not emitted, even if its status is `error`. What the rules of the watch find is emitted.
 *
 * @example
 * client.streams.list.watch({}, { every: 30_000 }).pipe(statusChanges())
 *   .subscribe(({ after, before }) => console.log(`${after.tag}: ${before.status} -> ${after.status}`));
 */
export function statusChanges<Event extends Change<EvmStream> | Due<EvmStream> = Change<EvmStream>>() {
  return filter((event: Event): event is Extract<Event, StatusChange | Due<EvmStream>> => isStatusChange(event));
}

function isStatusChange(event: Change<EvmStream> | Due<EvmStream>): boolean {
  if (event.type === 'changed') return hasOtherStatus(event);
  return event.type === 'due' || event.type === 'resolved';
}

/** Compares values, because `fields` has names after a projection, and paths inside a status that is an object. */
function hasOtherStatus({ before, after }: StatusChange): boolean {
  return !isSame(before.status, after.status) || !isSame(before.statusMessage, after.statusMessage);
}

/** Compares two JSON values; the order of names does not matter. */
function isSame(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other;
  const values = new Map(Object.entries(other));
  const entries = Object.entries(one);
  if (Array.isArray(one) !== Array.isArray(other) || entries.length !== values.size) return false;
  return entries.every(([name, value]) => isSame(value, values.get(name)));
}
