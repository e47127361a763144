import { aptos } from '@sluice/aptos';
import type { Environment } from '../environment.js';
import { baseUrlOf } from '../settings/baseUrl.js';
import { findOwners, type OwnerOptions } from '../settings/findOwners.js';
import { openClient, type ConnectionOptions } from '../settings/openClient.js';
import { changeTargetOf } from '../watch/changeTargetOf.js';
import { holdingLook } from '../watch/holdingLook.js';
import { watchChanges, type WatchChangesOptions, type Watching } from '../watch/watchChanges.js';
import { watchStateOf } from '../watch/watchState.js';

/** Options of `sluice nfts watch`. */
export interface NftsWatchOptions extends OwnerOptions, WatchChangesOptions, ConnectionOptions {
  readonly pageSize?: number;
  readonly ownersPerRequest?: number;
  readonly lanes?: number;
  readonly includeCollections?: readonly string[];
  readonly excludeCollections?: readonly string[];
}

/** `sluice nfts watch`: every change of what wallets hold, as it is found. */
export async function nftsWatch(options: NftsWatchOptions, environment: Environment): Promise<number> {
  const { pageSize, ownersPerRequest, lanes, includeCollections, excludeCollections } = options;
  const look = holdingLook(environment.stdout.colors);
  const target = await changeTargetOf(options, look, environment);
  const state = watchStateOf(options, target, environment);
  const ownerAddresses = await findOwners(options, environment);
  const baseUrl = baseUrlOf('aptos', options, environment.variables);
  await using client = (await openClient(options, environment)).use(aptos({ baseUrl }));
  const source = (watching: Watching) =>
    client.aptos.watchWalletNfts({
      ...{ ...watching, ownerAddresses },
      ...(pageSize !== undefined && { pageSize }),
      ...(ownersPerRequest !== undefined && { ownersPerRequest }),
      ...(lanes !== undefined && { lanes }),
      ...(includeCollections && { includeCollections }),
      ...(excludeCollections && { excludeCollections }),
    });
  return await watchChanges({ client, source, look, target, state }, options, environment);
}
