import type { Plugin } from '@sluice/core';
import { defineApi, sharedKey, type ApiSource } from '@sluice/core/define';
import { checkOptions, type ArrayFormat } from '@sluice/core/kit';
import type { NftHolding } from './nftHolding.js';
import { nfts } from './nfts.js';
import type { Wallets } from './decodeWallets.js';

/** Options of the plugin. */
export interface AptosOptions {
  /** Base URL of the Aptos NFT API, e.g. `https://…/`. */
  readonly baseUrl: string;
  /** How arrays are encoded in the query. Default `brackets`, as in the API's public SDK. */
  readonly arrays?: ArrayFormat;
}

/** What the plugin adds to a client. */
export interface AptosApi {
  /**
   * NFTs of wallets (`ListNftsOptions`); `nfts.watch` emits their changes from poll to poll.
   *
   * @throws ConfigError before any request if an option is invalid.
   */
  readonly nfts: ApiSource<Wallets, NftHolding>;
}

const api = defineApi({ name: 'aptos', auth: sharedKey, sources: { nfts } });

/**
 * The Aptos NFT API.
 *
 * @example
 * const client = createClient({ apiKey }).use(aptos({ baseUrl }));
 * for await (const nft of client.aptos.nfts({ ownerAddresses: ['0x1'] })) console.log(nft.name);
 */
export function aptos(options: AptosOptions): Plugin<'aptos', AptosApi> {
  checkOptions('aptos()', options, { baseUrl: true, arrays: true });
  return api(options);
}
