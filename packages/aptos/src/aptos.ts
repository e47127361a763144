import type { ArrayFormat, Change, Plugin, Source } from '@sluice/core';
import type { NftHolding } from './nftHolding.js';
import { walletNfts, type WalletNftsOptions } from './walletNfts.js';
import { watchWalletNfts, type WatchWalletNftsOptions } from './watchWalletNfts.js';

/** Options of the plugin. */
export interface AptosOptions {
  /** Base address of the Aptos NFT interface, e.g. `https://…/`. */
  readonly baseUrl: string;
  /** How arrays go into the query. Default `brackets`, as the API's public SDK sends them. */
  readonly arrays?: ArrayFormat;
}

/** What the plugin adds to a client. */
export interface AptosApi {
  /** The NFTs that wallets hold. @throws ConfigError, before any request, if an option makes no sense. */
  walletNfts(options: WalletNftsOptions): Source<NftHolding>;
  /** Every change of what they hold, poll after poll. @throws ConfigError, before any request, if an option makes no sense. */
  watchWalletNfts(options: WatchWalletNftsOptions): Source<Change<NftHolding>>;
}

/**
 * The Aptos NFT interface.
 *
 * @example
 * const client = createClient({ apiKey }).use(aptos({ baseUrl }));
 * for await (const nft of client.aptos.walletNfts({ ownerAddresses: ['0x1'] })) console.log(nft.name);
 */
export function aptos({ baseUrl, arrays = 'brackets' }: AptosOptions): Plugin<'aptos', AptosApi> {
  return {
    name: 'aptos',
    setup(context) {
      const endpoint = context.endpoint(baseUrl, { arrays });
      return {
        walletNfts: (options) => walletNfts(endpoint, options),
        watchWalletNfts: (options) => watchWalletNfts(endpoint, options),
      };
    },
  };
}
