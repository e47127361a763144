import type { Run } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { UsageError } from '../errors/errors.js';
import { standardInput } from '../input/readInput.js';
import type { GroupOptions } from '../options/options.js';
import { readGivenParams } from '../source/params.js';
import { exportSource, watchSource } from './source.js';

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

/** The parameters of the source. @throws UsageError if no wallet is given, or a file can't be read. */
export async function findWallets(options: GroupOptions<'holdings'>, environment: Environment) {
  const { owner, ownersFile, offset, ownersPerRequest, includeCollections, excludeCollections } = options;
  if (!owner && ownersFile === undefined)
    throw new UsageError('Whose NFTs? Give --owner ADDRESS, or --owners-file FILE.');
  const texts = (owner ?? []).map((address) => `--owner ownerAddresses=${address}`);
  if (ownersFile !== undefined) texts.push(`--owners-file ownerAddresses<=${ownersFile}`);
  const given = await readGivenParams(texts, environment);
  const owners = given.flatMap(({ values }) => values.map(({ text }) => text));
  const places = [owner && '--owner', ownersFile === standardInput ? 'stdin' : ownersFile];
  return {
    given,
    owners,
    params: { offset, ownersPerRequest, includeCollections, excludeCollections },
    parts: { one: 'wallet', count: new Set(owners).size },
    /** @example '12 of wallets.txt' */
    wallets: `${owners.length} of ${places.filter((place) => place !== undefined).join(' and ')}`,
  };
}
