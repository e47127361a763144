import type { Json } from '@sluice/core';

/** A place in a target that has a name. */
export function placeIn(to: string, place: Json | undefined): Json {
  return { to, place: place ?? null };
}

/** The place as its sink has answered it. */
export function placeOf(place: Json): Json {
  return isNamed(place) ? place.place : place;
}

/** The target that a place is in, if it is one with a name. */
export function targetOf(place: Json | undefined): string | undefined {
  return place !== undefined && isNamed(place) && typeof place.to === 'string' ? place.to : undefined;
}

function isNamed(place: Json): place is { readonly to: Json; readonly place: Json } {
  return typeof place === 'object' && place !== null && 'to' in place && 'place' in place;
}
