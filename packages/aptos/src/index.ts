// The plugin
export { aptos, type AptosApi, type AptosOptions } from './aptos.js';
export type { WalletNftsOptions } from './walletNfts.js';
export type { WatchWalletNftsOptions } from './watchWalletNfts.js';

// Records
export { amountOf, nftHoldingSchema, tokenPropertiesOf, type NftHolding } from './nftHolding.js';

// Addresses
export { ownerAddress } from './ownerAddress.js';
