import { watch, type Change, type Endpoint, type Source, type WatchOptions } from '@sluice/core';
import type { NftHolding } from './nftHolding.js';
import { walletNfts, type WalletNftsOptions } from './walletNfts.js';

/** What {@link watchWalletNfts} is asked for. */
export interface WatchWalletNftsOptions
  extends
    WatchOptions<NftHolding>,
    Pick<
      WalletNftsOptions,
      'ownerAddresses' | 'pageSize' | 'includeCollections' | 'excludeCollections' | 'ownersPerRequest' | 'maxPages'
    > {}

/**
 * Every change of what wallets hold, by owner, token and property version: a source whose pages are polls.
 *
 * @throws ConfigError, before any request, if an option makes no sense.
 */
export function watchWalletNfts(endpoint: Endpoint, options: WatchWalletNftsOptions): Source<Change<NftHolding>> {
  const { ownerAddresses, pageSize, includeCollections, excludeCollections, ownersPerRequest, maxPages, ...watching } =
    options;
  const holdings = walletNfts(endpoint, {
    ownerAddresses,
    ...(pageSize !== undefined && { pageSize }),
    ...(includeCollections && { includeCollections }),
    ...(excludeCollections && { excludeCollections }),
    ...(ownersPerRequest !== undefined && { ownersPerRequest }),
    ...(maxPages !== undefined && { maxPages }),
  });
  return watch(holdings, watching);
}
