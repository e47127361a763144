/** The settings of a page server. */
export interface ServedPages {
  /** Per wallet, with 100 rows each. */
  readonly pages: number;
  /** Of the first wallet, if it has others. */
  readonly large?: number;
  /** Wallets, each a chain of pages. */
  readonly parts: number;
  /** Ms before each response. */
  readonly latency: number;
  /**
   * What the texts of its rows are: `awkward` (default) has some that need quotes and some emoji, `ascii` none, and
   * `alphabets` is mostly Cyrillic, so that V8 needs two bytes for each character of a page.
   */
  readonly texts?: 'awkward' | 'ascii' | 'alphabets';
  /** Whether all pages are made before the first request, so that nobody waits for that. They take 71 kB each. */
  readonly isReady?: boolean;
}

/** Its address. */
export interface ServerAddress {
  readonly url: string;
  readonly owners: readonly string[];
}

export const rowsPerPage = 100;
