/**
 * The NFT holdings of Aptos wallets.
 *
 * @module @sluice/aptos
 */

// The plugin
export { aptos, type AptosApi, type AptosOptions } from './aptos.js';
export type { WalletNftsOptions, Wallets } from './decodeWallets.js';
export type { WatchWalletNftsOptions } from './walletNfts.js';

// Records
export { amountOf, nftHoldingSchema, tokenPropertiesOf, type NftHolding } from './nftHolding.js';

// Addresses
export { ownerAddress } from './ownerAddress.js';
