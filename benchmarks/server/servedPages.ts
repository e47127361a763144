/** The settings of a page server. */
export interface ServedPages {
  /** Per wallet, with 100 rows each. */
  readonly pages: number;
  /** Wallets, each a chain of pages. */
  readonly parts: number;
  /** Ms before each response. */
  readonly latency: number;
}

/** Its address. */
export interface ServerAddress {
  readonly url: string;
  readonly owners: readonly string[];
}

export const rowsPerPage = 100;
