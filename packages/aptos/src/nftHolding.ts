import type { RowSchema } from '@sluice/core';

/**
 * One NFT that a wallet holds. Numbers and timestamps stay text, as the API sends them: amounts exceed 2^53, and the
 * timestamps' microseconds don't fit a `Date`. Any field may be `null` or absent, and fields that this type does not know are kept.
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
  /** Which edition of the token this is: numeric text. */
  readonly property_version?: string | null;
  /** The kind of on-chain token store that holds it. */
  readonly table_type?: string | null;
  /** Hash of the token: hexadecimal text. */
  readonly token_data_id_hash?: string | null;
  /** The token's properties: a JSON document as text, or the document itself; kept as it came. See {@link tokenPropertiesOf}. */
  readonly token_properties?: unknown;
  readonly [field: string]: unknown;
}

/** The fields of a holding that are text, in the order of the API's reference. */
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

/** The columns of a table of holdings, and what tells one holding from another: owner, token and property version. */
export const nftHoldingSchema: RowSchema<NftHolding> = {
  columns: [...textFields, 'token_properties'],
  key: (nft) => JSON.stringify([nft.owner_address, nft.token_data_id_hash, nft.property_version]),
};

/**
 * The quantity held, exactly; `undefined` where the API gave none or no whole number.
 *
 * @example amountOf({ amount: '9007199254740993' }) // 9007199254740993n
 */
export function amountOf(nft: NftHolding): bigint | undefined {
  return typeof nft.amount === 'string' && /^-?\d+$/.test(nft.amount) ? BigInt(nft.amount) : undefined;
}

/**
 * The token's properties as a document, whichever way the API sent them; `undefined` where there are none or the text is no
 * JSON. Parsed anew at each call, and never merged into anything: a `__proto__` in it is a field like any other.
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
