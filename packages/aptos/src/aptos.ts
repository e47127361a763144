import {
  defineApi,
  refuseUnknown,
  sharedKey,
  type ApiSource,
  type ArrayFormat,
  type Change,
  type Plugin,
  type Source,
} from '@sluice/core';
import type { Wallets } from './decodeWallets.js';
import type { NftHolding } from './nftHolding.js';
import { walletNfts, type WatchWalletNftsOptions } from './walletNfts.js';

/** Options of the plugin. */
export interface AptosOptions {
  /** Base URL of the Aptos NFT API, e.g. `https://…/`. */
  readonly baseUrl: string;
  /** How arrays are encoded in the query. Default `brackets`, as in the API's public SDK. */
  readonly arrays?: ArrayFormat;
}

/** What the plugin adds to a client. */
export interface AptosApi {
  /** NFTs of wallets; options: `WalletNftsOptions`. @throws ConfigError before any request if an option is invalid. */
  readonly walletNfts: ApiSource<Wallets, NftHolding>;
  /** All changes of their NFTs from poll to poll. @throws ConfigError before any request if an option is invalid. */
  watchWalletNfts(options: WatchWalletNftsOptions): Source<Change<NftHolding>>;
}

const api = defineApi({ name: 'aptos', auth: sharedKey, sources: { walletNfts } });

/**
 * The Aptos NFT API.
 *
 * @example
 * const client = createClient({ apiKey }).use(aptos({ baseUrl }));
 * for await (const nft of client.aptos.walletNfts({ ownerAddresses: ['0x1'] })) console.log(nft.name);
 */
export function aptos(options: AptosOptions): Plugin<'aptos', AptosApi> {
  refuseUnknown('aptos()', options, { baseUrl: true, arrays: true });
  const { name, setup } = api(options);
  return {
    name,
    setup(context) {
      const { walletNfts } = setup(context);
      return {
        walletNfts,
        watchWalletNfts({ ownerAddresses, includeCollections, excludeCollections, ...others }) {
          const { ownersPerRequest, pageSize, maxPages, ...watchOptions } = others;
          const wallets = { ownerAddresses, includeCollections, excludeCollections };
          return walletNfts.watch({ ...wallets, ownersPerRequest, pageSize, maxPages }, watchOptions);
        },
      };
    },
  };
}
