import { type ExportReport, SluiceError } from '@sluice/core';

/** What a report says of rows that may be missing or old, or came more than once, by its fields. */
const doubts = ['isIncomplete', 'shortOfTotal', 'overTotal', 'repeatedRows', 'oldRows', 'rowsNotRemoved'] as const;

/** The doubts of a report: without any, all is well. */
export function saidOf(report: ExportReport): readonly string[] {
  return doubts.filter((name) => Reflect.get(report, name) !== undefined);
}

/** Whether an export was ended because of what the API lists, or because of the keys that it was given. */
export function isRefusal(error: unknown): error is SluiceError {
  return SluiceError.is(error) && ['rows-missing', 'no-progress', 'rows-moved', 'sink'].includes(error.code);
}
