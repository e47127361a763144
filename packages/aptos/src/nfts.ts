import { ConfigError } from '@sluice/core';
import { listing } from '@sluice/core/define';
import { checkCount } from '@sluice/core/kit';
import { decodeNft, findNfts, nftPaging } from './decodeNft.js';
import { nftHoldingSchema } from './nftHolding.js';
import { padAddress } from './ownerAddress.js';
import { walletsSchema, type Wallets } from './decodeWallets.js';

const defaultOwnersPerRequest = 10;
/** An address has 66 characters in a URL. 1,800 leave space for the filters, in one that servers and proxies accept. */
const maxOwnersPerRequest = Math.floor(1800 / ('owner_addresses%5B%5D=&'.length + 66));

/**
 * The NFTs that wallets hold, in the API's order, requested in groups of owners.
 *
 * @see the API's reference: GET /wallets/nfts
 */
export const nfts = listing({
  ...nftHoldingSchema,
  description: 'The NFTs that wallets hold.',
  path: '/wallets/nfts',
  params: walletsSchema,
  query: ({ excludeCollections, includeCollections, owner_addresses }: Wallets & OwnerGroup) => ({
    collection_blacklist: hashes('excludeCollections', excludeCollections),
    collection_whitelist: hashes('includeCollections', includeCollections),
    owner_addresses,
  }),
  partitions: ownerGroups,
  fit: chooseGroupSize,
  offset: ({ offset = 0 }: Wallets) => offset,
  // Groups and order do not change which rows there are.
  rowsIdentity: ({ ownerAddresses, excludeCollections = [], includeCollections = [] }: Wallets) => ({
    owners: distinctOwners(ownerAddresses, () => undefined).sort(),
    exclude: excludeCollections.toSorted(),
    include: includeCollections.toSorted(),
  }),
  pageSize: { param: 'limit', default: 100 },
  paging: nftPaging,
  rows: findNfts,
  responses: { 400: 'expired-cursor' },
  decode: decodeNft,
  version: '1',
});

interface OwnerGroup {
  readonly owner_addresses: readonly string[];
}

function ownerGroups(
  { ownerAddresses, ownersPerRequest = defaultOwnersPerRequest, offset = 0 }: Wallets,
  warn: (message: string) => void,
): OwnerGroup[] {
  checkCount('ownersPerRequest', ownersPerRequest);
  const owners = distinctOwners(ownerAddresses, warn);
  const size = Math.min(ownersPerRequest, maxOwnersPerRequest);
  const groups = Math.ceil(owners.length / size);
  if (offset > 0 && groups > 1)
    throw new ConfigError(
      (option = 'offset') =>
        `${option} skips rows of one listing, but ${owners.length} owners make ${groups}. Leave it out, or request fewer owners.`,
      { option: 'offset' },
    );
  return Array.from({ length: groups }, (_, nth) => ({ owner_addresses: owners.slice(nth * size, (nth + 1) * size) }));
}

/** Groups for each request at once: a group with larger wallets than others then holds few of them up. */
const groupsPerRequest = 4;
/**
 * A limit of more requests per second than that, for each request at once, leaves some of them idle: how long the requests
 * of the largest wallets take decides how long all takes, and those in one group follow each other.
 */
const bindingRate = 4;

/**
 * As many owners in a request as by default, or fewer if that makes too few groups for the concurrency; one where no limit
 * binds, since groups save requests, but no time.
 */
function chooseGroupSize(
  { ownerAddresses, ownersPerRequest, offset = 0 }: Wallets,
  concurrency: number,
  rate: number,
): { ownersPerRequest: number } {
  if (ownersPerRequest !== undefined) return { ownersPerRequest };
  if (concurrency === 1 || offset > 0) return { ownersPerRequest: defaultOwnersPerRequest };
  if (rate > bindingRate * concurrency) return { ownersPerRequest: 1 };
  const size = Math.floor(new Set(ownerAddresses).size / (groupsPerRequest * concurrency));
  return { ownersPerRequest: Math.min(defaultOwnersPerRequest, Math.max(1, size)) };
}

function distinctOwners(addresses: readonly string[], warn: (message: string) => void): string[] {
  if (addresses.length === 0)
    throw new ConfigError((option = 'ownerAddresses') => `${option} is empty: give at least one address.`, {
      option: 'ownerAddresses',
    });
  const owners = addresses.map((address, item) => padAddress(address, { option: 'ownerAddresses', item }));
  const distinct = [...new Set(owners)];
  const repeated = owners.length - distinct.length;
  if (repeated > 0)
    warn(`${repeated} of ${owners.length} owner addresses are repeated; each wallet is requested once.`);
  return distinct;
}

/** The API may ignore a filter that it cannot parse, and return too many rows without an error. */
function hashes(option: string, values: readonly string[] = []): readonly string[] | undefined {
  const wrong = values.find((value) => !/^(0x)?[0-9a-f]{1,64}$/i.test(value));
  if (wrong !== undefined)
    throw new ConfigError(
      (name = option) =>
        `${JSON.stringify(wrong.slice(0, 80))} in ${name} is not a hash of a collection's data id: it must be 1 to 64 hex digits.`,
      { option },
    );
  return values.length > 0 ? values : undefined;
}
