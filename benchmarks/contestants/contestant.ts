import type { ServerAddress } from '../server/servedPages.js';

/** The job: all rows of the server's owners into a file. */
export interface Job extends ServerAddress {
  readonly path: string;
  /** `none`: only fetched, to measure the limit that the network sets. */
  readonly format: 'csv' | 'csv.gz' | 'jsonl' | 'sqlite' | 'postgres' | 'parquet' | 'none';
  /** The server of PostgreSQL. */
  readonly database?: string;
  /** Wallets fetched in parallel, if the contestant can. */
  readonly concurrency: number;
  /** Whether wallets are requested one by one, or as the contestant chooses. Default: one by one. */
  readonly isGrouped?: boolean;
  /** Whether it can be resumed after a crash, if the contestant can. */
  readonly isKept: boolean;
  /** Whether a page shows it, if the contestant has one. */
  readonly isShown?: boolean;
}

/** Performs the job; returns the number of rows. */
export type Contestant = (job: Job) => Promise<number>;

/** A response of the wallets' endpoint, typed by code that trusts it. */
export interface HoldingsPage {
  readonly result: readonly Record<string, unknown>[];
  readonly cursor: string | null;
  readonly hasNextPage: boolean;
}

export const apiKey = 'bench-key';

/** The columns that all of them write, in order. */
export const columns = [
  'amount',
  'collection_data_id_hash',
  'collection_name',
  'creator_address',
  'last_transaction_timestamp',
  'last_transaction_version',
  'name',
  'owner_address',
  'property_version',
  'table_type',
  'token_data_id_hash',
  'token_properties',
];

/** The address of a page, for contestants that build it themselves. */
export function addressOf({ url }: Job, owner: string, cursor: string | null): string {
  const query = new URLSearchParams({ limit: '100', 'owner_addresses[]': owner });
  if (cursor !== null) query.set('cursor', cursor);
  return `${url}/wallets/nfts?${query.toString()}`;
}

/** A row's cells, with nested values as JSON. */
export function cellsOf(row: Record<string, unknown>): string[] {
  return columns.map((column) => {
    const value = row[column];
    if (value === null || value === undefined) return '';
    return typeof value === 'object' ? JSON.stringify(value) : String(value);
  });
}
