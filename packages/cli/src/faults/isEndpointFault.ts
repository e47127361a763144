import { SluiceError } from '@sluice/core';

/** Whether a fault is about the endpoint that records are forwarded to, and not about the API that they come from. */
export function isEndpointFault(error: unknown): boolean {
  if (!SluiceError.is(error)) return false;
  const { route, deadLetters } = error.details;
  // Too many of its refusals are no accident any more.
  if (error.code === 'forbidden-address' || deadLetters !== undefined) return true;
  return typeof route === 'string' && route.startsWith('The endpoint ');
}
