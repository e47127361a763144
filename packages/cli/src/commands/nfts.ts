import type { Run } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { describeOwners, findOwners } from '../input/owners.js';
import type { GroupOptions } from '../options/options.js';
import { exportSource, type KnownSource, watchSource } from './source.js';

const source = 'aptos.nfts';

/** `sluice nfts export`: exports the NFTs of wallets. */
export const nftsExport: Run<'nfts export'> = async (options, environment, invocation) =>
  exportSource({ ...options, source }, environment, invocation, await findWallets(options, environment));

/** `sluice nfts watch`: reports every change of the NFTs of wallets. */
export const nftsWatch: Run<'nfts watch'> = async (options, environment, invocation) => {
  const { holdingView } = await import('../watch/rowView.js');
  const known = { ...(await findWallets(options, environment)), view: holdingView(environment.stdout.colors) };
  return watchSource({ ...options, source }, environment, invocation, known);
};

/** The parameters of the source. The wallets are checked first, since errors name the line of a file. */
async function findWallets(options: GroupOptions<'holdings'>, environment: Environment): Promise<KnownSource> {
  const { offset, ownersPerRequest, includeCollections, excludeCollections } = options;
  const ownerAddresses = await findOwners(options, environment);
  return {
    params: { ownerAddresses, offset, ownersPerRequest, includeCollections, excludeCollections },
    parts: { one: 'wallet', count: new Set(ownerAddresses).size },
    wallets: describeOwners(ownerAddresses, options),
  };
}
