import { defineApi, type ApiSource, type ArrayFormat, type Change, type Plugin, type Source } from '@sluice/core';
import type { NftHolding } from './nftHolding.js';
import { walletNfts, type Wallets, type WatchWalletNftsOptions } from './walletNfts.js';

/** Options of the plugin. */
export interface AptosOptions {
  /** Base address of the Aptos NFT API, e.g. `https://…/`. */
  readonly baseUrl: string;
  /** How arrays go into the query. Default `brackets`, as the API's public SDK sends them. */
  readonly arrays?: ArrayFormat;
}

/** What the plugin adds to a client. */
export interface AptosApi {
  /** The NFTs that wallets hold: see `WalletNftsOptions`. @throws ConfigError, before any request, if an option makes no sense. */
  readonly walletNfts: ApiSource<Wallets, NftHolding>;
  /** Every change of what they hold, poll after poll. @throws ConfigError, before any request, if an option makes no sense. */
  watchWalletNfts(options: WatchWalletNftsOptions): Source<Change<NftHolding>>;
}

const api = defineApi({ name: 'aptos', sources: { walletNfts } });

/**
 * The Aptos NFT API.
 *
 * @example
 * const client = createClient({ apiKey }).use(aptos({ baseUrl }));
 * for await (const nft of client.aptos.walletNfts({ ownerAddresses: ['0x1'] })) console.log(nft.name);
 */
export function aptos(options: AptosOptions): Plugin<'aptos', AptosApi> {
  const { name, setup } = api(options);
  return {
    name,
    setup(context) {
      const { walletNfts } = setup(context);
      return {
        walletNfts,
        watchWalletNfts(asked) {
          const {
            ownerAddresses,
            includeCollections,
            excludeCollections,
            ownersPerRequest,
            pageSize,
            maxPages,
            ...watching
          } = asked;
          const wallets = {
            ownerAddresses,
            includeCollections,
            excludeCollections,
            ownersPerRequest,
            pageSize,
            maxPages,
          };
          return walletNfts.watch(wallets, watching);
        },
      };
    },
  };
}
