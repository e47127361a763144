/** What a command that moves rows has begun with. */
export interface Begun {
  /** E.g. `aptos.walletNfts`. */
  readonly source: string;
  /** As the person named it; of an endpoint its origin. */
  readonly target: string;
  readonly format: string;
  /** Of an endpoint: the folder of its state, and the file of what it does not take. */
  readonly state?: string;
  readonly deadLetterFile?: string;
}
