/** What a page server is asked for. */
export interface ServedPages {
  /** In each part, of 100 rows each. */
  readonly pages: number;
  /** Wallets, each a chain of pages of its own. */
  readonly parts: number;
  /** Ms before each answer. */
  readonly latency: number;
}

/** Where it is. */
export interface ServerAddress {
  readonly url: string;
  readonly owners: readonly string[];
}

export const rowsPerPage = 100;
