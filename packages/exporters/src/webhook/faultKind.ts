import { SluiceError } from '@sluice/core';

/** Statuses that speak of what was sent, and not of the endpoint: another record may do better. */
const aboutTheRecord: readonly unknown[] = [400, 409, 413, 422];

/**
 * Whether a record was refused for what it is. Everything else that goes wrong is the endpoint's matter, and must not turn a million
 * records into dead letters: a wrong secret, an outage, an address that moved.
 */
export function isRecordFault(error: unknown): error is SluiceError {
  return SluiceError.is(error, 'http') && aboutTheRecord.includes(error.details['status']);
}
