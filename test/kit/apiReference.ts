/** The two built-in APIs. */
export type ApiName = 'streams' | 'aptos';

export const apis: readonly ApiName[] = ['streams', 'aptos'];

/** The fields of a page, by the API's reference. */
export const pageFields: Readonly<Record<ApiName, readonly string[]>> = {
  streams: ['result', 'cursor', 'total'],
  aptos: ['result', 'cursor', 'hasNextPage'],
};

/** The fields of a row, by the API's reference. */
export const rowFields: Readonly<Record<ApiName, readonly string[]>> = {
  streams: [
    'id',
    'status',
    'statusMessage',
    'webhookUrl',
    'description',
    'tag',
    'topic0',
    'allAddresses',
    'includeNativeTxs',
    'includeContractLogs',
    'includeInternalTxs',
    'includeAllTxLogs',
    'getNativeBalances',
    'abi',
    'advancedOptions',
    'chainIds',
    'demo',
    'triggers',
  ],
  aptos: [
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
    'token_properties',
  ],
};

/** The only field of a holding that is not text. */
export const holdingRecord = 'token_properties';

/** The key of an API's row. The row is read from exact JSON. */
export function keyOf(api: ApiName, row: Record<string, unknown>): string {
  if (api === 'streams') return row['id'] === 'number -0' ? '0' : String(row['id']);
  return JSON.stringify([row['owner_address'], row['token_data_id_hash'], row['property_version']]);
}
