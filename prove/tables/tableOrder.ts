import type { TableMode } from '@sluice/tables/sqlite';

/** What a child exports, and into which table. */
export interface TableOrder {
  readonly apiKey: string;
  readonly aptosUrl: string;
  /** Each is a partition. */
  readonly owners: readonly string[];
  readonly pageSize: number;
  /** A file of SQLite, or the URL of a server. */
  readonly place: string;
  readonly table: string;
  readonly mode: TableMode;
  readonly key?: readonly string[];
  readonly concurrency: number;
  readonly commitEvery: number;
  readonly prefetch: number;
}
