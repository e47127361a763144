import type { RunRows } from '@sluice/exporters/postgres';
import { openRecord } from './decodeRecords.js';
import type { RunHeader, StoredRow } from './run.js';

/** A run's record in a database. */
export interface TableRunRecord extends RunHeader {
  /** What becomes of its rows. */
  readonly rows: RunRows<StoredRow>['options'];
}

/** @throws ConfigError if the record is damaged, or of another version */
export function decodeTableRun(text: string, table: string): TableRunRecord {
  return openRecord(JSON.parse(text), table) as TableRunRecord;
}
