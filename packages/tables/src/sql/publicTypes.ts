/** The types that each entry for a database exports: its tables, mirrors and histories are alike. */

export type { TableHolder } from './database.js';
export type { TableLook, TableSink, TableState } from './ledger.js';
export type { CompactOptions, CompactReport } from './compactHistory.js';
export type { Mirror, MirrorMode, MirrorOptions } from './mirror.js';
export type { History, HistoryChangesOptions, HistoryPoll, HistoryVersionsOptions, RowVersion } from './readHistory.js';
export type { TableRows, TableToRead } from './readTable.js';
export type { NewFields, TableMode } from './tableShape.js';
export type { MaxRemoved } from './maxRemoved.js';
export type { TableOptions } from './tableSink.js';
