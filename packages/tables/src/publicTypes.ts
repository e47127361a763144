/** The types that each entry for a database exports: its tables, mirrors and histories are alike. */

export type { TableHolder } from './sql/database.js';
export type { TableLook, TableSink, TableState } from './sql/ledger.js';
export type { CompactOptions, CompactReport } from './sql/compactHistory.js';
export type { Mirror, MirrorMode, MirrorOptions } from './sql/mirror.js';
export type {
  History,
  HistoryChangesOptions,
  HistoryPoll,
  HistoryVersionsOptions,
  RowVersion,
} from './sql/readHistory.js';
export type { TableRows, TableToRead } from './sql/readTable.js';
export type { NewFields, TableMode } from './sql/tableShape.js';
export type { MaxRemoved } from './sql/maxRemoved.js';
export type { TableOptions } from './sql/tableSink.js';
