import { SluiceError } from '@sluice/core';

/** Statuses that blame the content of the record, not the endpoint: another record may be accepted. */
const recordStatuses: readonly unknown[] = [400, 409, 413, 422];

/** Whether a record was refused because of its content. An outage must not turn a million records into dead letters. */
export function isRecordFault(error: unknown): error is SluiceError {
  return SluiceError.is(error, 'http') && recordStatuses.includes(error.details['status']);
}
