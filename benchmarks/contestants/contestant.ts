import type { ServerAddress } from '../server/servedPages.js';

/** What is to be done: all rows of the server's owners into a file. */
export interface Job extends ServerAddress {
  readonly path: string;
  /** `none`: only fetched, for the bound that the network sets. */
  readonly format: 'csv' | 'csv.gz' | 'jsonl' | 'none';
  /** Wallets walked at once, by those who can. */
  readonly concurrency: number;
  /** Whether it could be gone on with after a crash, by those who can. */
  readonly isKept: boolean;
}

/** Does it; answers how many rows there were. */
export type Contestant = (job: Job) => Promise<number>;

/** An answer of the wallets' endpoint, as those who trust it write its type. */
export interface HoldingsPage {
  readonly result: readonly Record<string, unknown>[];
  readonly cursor: string | null;
  readonly hasNextPage: boolean;
}

export const apiKey = 'bench-key';

/** What all of them write, in this order. */
export const columns = [
  ...['amount', 'collection_data_id_hash', 'collection_name', 'creator_address', 'last_transaction_timestamp'],
  ...['last_transaction_version', 'name', 'owner_address', 'property_version', 'table_type', 'token_data_id_hash'],
  'token_properties',
];

/** The address of a page, for those who make it by hand. */
export function addressOf({ url }: Job, owner: string, cursor: string | null): string {
  const query = new URLSearchParams({ limit: '100', 'owner_addresses[]': owner });
  if (cursor !== null) query.set('cursor', cursor);
  return `${url}/wallets/nfts?${query.toString()}`;
}

/** A row's cells: nested values as JSON. */
export function cellsOf(row: Record<string, unknown>): string[] {
  return columns.map((column) => {
    const value = row[column];
    if (value === null || value === undefined) return '';
    return typeof value === 'object' ? JSON.stringify(value) : String(value);
  });
}
