import { aptos, type AptosApi, type NftHolding } from '@sluice/aptos';
import type { Environment } from '../environment.js';
import { runExport, type ExportCommandOptions, type ExportedRows } from '../export/runExport.js';
import { checkLanes } from '../export/checkLanes.js';
import type { Invocation } from '../invocation.js';
import { baseUrlOf } from '../settings/baseUrl.js';
import { idleLanes } from '../source/idleLanes.js';
import { findOwners, type OwnerOptions } from '../settings/findOwners.js';

/** Options of `sluice nfts export`. */
export interface NftsExportOptions extends OwnerOptions, ExportCommandOptions {
  readonly pageSize?: number;
  readonly maxRows?: number;
  readonly offset?: number;
  readonly ownersPerRequest?: number;
  readonly lanes?: number;
  readonly includeCollections?: readonly string[];
  readonly excludeCollections?: readonly string[];
}

/** `sluice nfts export`: the NFTs that wallets hold, to wherever rows can go. */
export async function nftsExport(
  options: NftsExportOptions,
  environment: Environment,
  invocation: Invocation,
): Promise<number> {
  const { pageSize, maxRows, offset, ownersPerRequest, lanes, includeCollections, excludeCollections } = options;
  checkLanes(options);
  const ownerAddresses = await findOwners(options, environment);
  const baseUrl = baseUrlOf('aptos', options, environment.variables);
  const asked = { ownerAddresses, pageSize, maxRows, offset, ownersPerRequest, includeCollections, excludeCollections };
  const rows: ExportedRows<{ readonly aptos: AptosApi }, NftHolding> = {
    add: (client) => client.use(aptos({ baseUrl })),
    source: (client) => client.aptos.walletNfts(asked),
    ...{ lanes, mostRows: maxRows, hint: idleLanes({ ownerAddresses, ownersPerRequest, lanes }) },
  };
  return runExport(rows, options, environment, invocation);
}
