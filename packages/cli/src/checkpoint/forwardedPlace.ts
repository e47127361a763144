import type { Json } from '@sluice/core';

/** What the place of a checkpoint says of an endpoint. */
export interface ForwardedPlace {
  /** Records that it did not take. */
  readonly deadLetters: number;
}

/** `undefined` if the place is one in a file. */
export function forwardedPlace(place: Json | undefined): ForwardedPlace | undefined {
  if (typeof place !== 'object' || place === null || !('next' in place && 'dead' in place)) return undefined;
  const { dead } = place;
  return typeof dead === 'number' ? { deadLetters: dead } : undefined;
}
