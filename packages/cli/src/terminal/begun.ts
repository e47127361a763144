/** What a command that moves rows has begun with. */
export interface Begun {
  /** E.g. `aptos.walletNfts`. */
  readonly source: string;
  /** As the person named it; of an endpoint its origin. */
  readonly target: string;
  readonly format: string;
  /** Where the state is kept, of what does not have it beside itself. */
  readonly state?: string;
  /** Of an endpoint: the file of what it does not take. */
  readonly deadLetterFile?: string;
}
