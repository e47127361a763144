import type { Alteration, Change } from '@sluice/core';
import { filter, type OperatorFunction } from 'rxjs';
import type { EvmStream } from './evmStream.js';

/** A stream whose `status` or `statusMessage` is another one now. */
export type StatusChange = Alteration<EvmStream>;

/**
 * Of all changes of streams, those of `status` or `statusMessage`: `before` and `after` are both there. A stream that was already
 * there, came, or went has changed no status.
 *
 * @example
 * client.streams.watch({ every: 30_000 }).pipe(statusChanges())
 *   .subscribe(({ after, before }) => console.log(`${after.tag}: ${before.status} -> ${after.status}`));
 */
export function statusChanges(): OperatorFunction<Change<EvmStream>, StatusChange> {
  return filter(
    (change): change is StatusChange =>
      change.type === 'changed' && change.fields.some((field) => field === 'status' || field === 'statusMessage'),
  );
}
