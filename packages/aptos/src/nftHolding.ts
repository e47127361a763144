import type { RowSchema } from '@sluice/core';

/**
 * One NFT that a wallet holds. Numbers and timestamps stay text, as the API sends them: amounts exceed 2^53, and a
 * `Date` has no microseconds. Any field may be `null` or absent. Unknown fields are kept.
 */
export interface NftHolding {
  /** Quantity held: numeric text. See {@link amountOf}. */
  readonly amount?: string | null;
  /** Hash of the collection: hexadecimal text. */
  readonly collection_data_id_hash?: string | null;
  readonly collection_name?: string | null;
  /** Account address of the collection's creator: hexadecimal text with `0x`. */
  readonly creator_address?: string | null;
  /** When the holding last changed: ISO 8601 in UTC, with microseconds and `Z`. */
  readonly last_transaction_timestamp?: string | null;
  /** The ledger version of that change: numeric text. */
  readonly last_transaction_version?: string | null;
  /** The token's name. */
  readonly name?: string | null;
  /** Account address of the wallet: hexadecimal text with `0x`. */
  readonly owner_address?: string | null;
  /** Edition of the token: numeric text. */
  readonly property_version?: string | null;
  /** Type of the on-chain token store that holds it. */
  readonly table_type?: string | null;
  /** Hash of the token: hexadecimal text. */
  readonly token_data_id_hash?: string | null;
  /** The token's properties: a JSON document, or its text, as the API sent it. See {@link tokenPropertiesOf}. */
  readonly token_properties?: unknown;
  readonly [field: string]: unknown;
}

/** The text fields of a holding, in the order of the API's reference. */
export const textFields = [
  'amount',
  'collection_data_id_hash',
  'collection_name',
  'creator_address',
  'last_transaction_timestamp',
  'last_transaction_version',
  'name',
  'owner_address',
  'property_version',
  'table_type',
  'token_data_id_hash',
] as const;

/** The columns of holdings, what they hold, and their key: owner, token and property version. */
export const nftHoldingSchema: RowSchema<NftHolding> = {
  columns: [...textFields, 'token_properties'],
  types: {
    amount: 'integer',
    property_version: 'integer',
    last_transaction_version: 'integer',
    last_transaction_timestamp: 'timestamp',
    token_properties: 'json',
  },
  key: (nft) => JSON.stringify([nft.owner_address, nft.token_data_id_hash, nft.property_version]),
  nameOf: (nft) => nft.name,
};

/**
 * The exact quantity held; `undefined` if the API sent none, or not an integer.
 *
 * @example amountOf({ amount: '9007199254740993' }) // 9007199254740993n
 */
export function amountOf(nft: NftHolding): bigint | undefined {
  return typeof nft.amount === 'string' && /^-?\d+$/.test(nft.amount) ? BigInt(nft.amount) : undefined;
}

/**
 * The token's properties as a document, whether the API sent a document or text; `undefined` if there are none or the
 * text is not valid JSON. Parsed on each call. A field named `__proto__` is an ordinary field.
 */
export function tokenPropertiesOf(nft: NftHolding): unknown {
  const properties = nft.token_properties;
  if (typeof properties !== 'string') return properties ?? undefined;
  try {
    return JSON.parse(properties) ?? undefined;
  } catch {
    return undefined;
  }
}
