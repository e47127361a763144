/**
 * The NFT holdings of Aptos wallets.
 *
 * @module @sluice/aptos
 */

// The plugin
export { aptos, type AptosApi, type AptosOptions } from './aptos.js';
export type { ListNftsOptions, Wallets } from './decodeWallets.js';

// Records
export { amountOf, nftHoldingSchema, tokenPropertiesOf, type NftHolding } from './nftHolding.js';

// Addresses
export { ownerAddress } from './ownerAddress.js';
