import { aptos, type AptosApi, type NftHolding } from '@sluice/aptos';
import type { Environment } from '../environment.js';
import type { Invocation } from '../invocation.js';
import { baseUrlOf } from '../settings/baseUrl.js';
import { idleLanes } from '../source/idleLanes.js';
import { findOwners, type OwnerOptions } from '../settings/findOwners.js';
import { holdingLook } from '../watch/holdingLook.js';
import { runWatch, type WatchCommandOptions, type WatchedRows } from '../watch/runWatch.js';

/** Options of `sluice nfts watch`. */
export interface NftsWatchOptions extends OwnerOptions, WatchCommandOptions {
  readonly pageSize?: number;
  readonly ownersPerRequest?: number;
  readonly lanes?: number;
  readonly includeCollections?: readonly string[];
  readonly excludeCollections?: readonly string[];
}

/** `sluice nfts watch`: every change of what wallets hold, as it is found. */
export async function nftsWatch(
  options: NftsWatchOptions,
  environment: Environment,
  invocation: Invocation,
): Promise<number> {
  const { pageSize, ownersPerRequest, lanes, includeCollections, excludeCollections } = options;
  const ownerAddresses = await findOwners(options, environment);
  const baseUrl = baseUrlOf('aptos', options, environment.variables);
  const asked = { ownerAddresses, pageSize, ownersPerRequest, includeCollections, excludeCollections };
  const rows: WatchedRows<{ readonly aptos: AptosApi }, NftHolding> = {
    add: (client) => client.use(aptos({ baseUrl })),
    source: (client, watching) =>
      client.aptos.walletNfts.watch(asked, { ...watching, ...(lanes !== undefined && { lanes }) }),
    look: holdingLook(environment.stdout.colors),
    hint: idleLanes({ ownerAddresses, ownersPerRequest, lanes }),
  };
  return runWatch(rows, options, environment, invocation);
}
