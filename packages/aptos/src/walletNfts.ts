import { checkCount, ConfigError, createSource, groupsOf, type Endpoint, type Source } from '@sluice/core';
import { decodeNftPage } from './decodeNftPage.js';
import { nftHoldingSchema, type NftHolding } from './nftHolding.js';
import { ownerAddress } from './ownerAddress.js';

/** What {@link walletNfts} is asked for. */
export interface WalletNftsOptions {
  /** Wallets whose NFTs are wanted, at least one. Repeated ones are dropped, with a warning event. */
  readonly ownerAddresses: readonly string[];
  /** Rows a page, a whole number of at least 1. Default 100. The API's maximum is not documented. */
  readonly pageSize?: number;
  /** Only these collections, by the hash of their data id (hexadecimal text). Default: all. */
  readonly includeCollections?: readonly string[];
  /**
   * Not these collections. It goes out as `collection_blacklist`, which excludes, as its name says; the API's reference
   * describes that parameter as if it included.
   */
  readonly excludeCollections?: readonly string[];
  /** Rows to skip at the beginning, with one group of owners only. Default 0. */
  readonly offset?: number;
  /** The walk ends after this many rows. Default: no bound. Needs one lane. */
  readonly maxRows?: number;
  /** A group with more pages than this is an error. Default: no bound. */
  readonly maxPages?: number;
  /** Owners asked for in one request. Default 10; fewer where the address would get too long. Each group is a part of the plan. */
  readonly ownersPerRequest?: number;
}

const route = 'aptos.walletNfts';
const defaultPageSize = 100;
const defaultOwnersPerRequest = 10;
/** Servers and proxies on the way are known to refuse addresses much longer than this; it leaves room for the filters. */
const longestOwnersQuery = 1800;

/**
 * The NFTs that wallets hold, as a source of rows in the API's order, owners in groups.
 *
 * @throws ConfigError, before any request, if an address, a hash, a size or an offset makes no sense.
 * @see the API's reference: GET /wallets/nfts
 */
export function walletNfts(endpoint: Endpoint, options: WalletNftsOptions): Source<NftHolding> {
  const { pageSize = defaultPageSize, ownersPerRequest = defaultOwnersPerRequest, offset = 0 } = options;
  checkCount('pageSize', pageSize);
  checkCount('ownersPerRequest', ownersPerRequest);
  checkCount('offset', offset, { least: 0 });
  const owners = distinctOwners(options.ownerAddresses, endpoint);
  const groups = groupsOf(owners, {
    size: ownersPerRequest,
    maxLength: longestOwnersQuery,
    lengthOf: (owner) => 'owner_addresses%5B%5D=&'.length + owner.length,
  });
  if (offset > 0 && groups.length > 1)
    throw new ConfigError(
      `offset skips rows of one listing, but ${owners.length} owners make ${groups.length}. Leave it out, or ask for fewer owners.`,
    );
  const filters = {
    collection_blacklist: hashes('excludeCollections', options.excludeCollections),
    collection_whitelist: hashes('includeCollections', options.includeCollections),
  };
  const { baseUrl } = endpoint;
  const [exclude, include] = [filters.collection_blacklist ?? [], filters.collection_whitelist ?? []];
  const bounds = { offset, maxRows: options.maxRows ?? null };
  return createSource<NftHolding>({
    name: route,
    identity: { baseUrl, owners: groups, exclude, include, pageSize, ...bounds },
    rowsIdentity: {
      baseUrl,
      owners: owners.toSorted(),
      exclude: exclude.toSorted(),
      include: include.toSorted(),
      ...bounds,
    },
    schema: nftHoldingSchema,
    parts: groups.length,
    offset,
    maxRows: options.maxRows,
    maxPages: options.maxPages,
    isSecret: (text) => endpoint.isSecret(text),
    keyFingerprint: (salt) => endpoint.keyFingerprint(salt),
    fetch: async ({ part, at, atLeast, signal }) => {
      const query = { limit: Math.max(pageSize, atLeast), owner_addresses: groups[part] ?? [], ...filters, ...at };
      return decodeNftPage(await endpoint.request({ route, path: '/wallets/nfts', query, signal }), route);
    },
  });
}

function distinctOwners(addresses: readonly string[], endpoint: Endpoint): string[] {
  if (addresses.length === 0) throw new ConfigError('ownerAddresses is empty: give at least one address.');
  const owners = addresses.map(ownerAddress);
  const distinct = [...new Set(owners)];
  const repeated = owners.length - distinct.length;
  if (repeated > 0)
    endpoint.warn(`${repeated} of ${owners.length} owner addresses are repeated; each wallet is asked for once.`);
  return distinct;
}

/** A filter that the API can't understand may filter nothing, and nobody would notice. */
function hashes(option: string, values: readonly string[] = []): readonly string[] | undefined {
  const wrong = values.find((value) => !/^(0x)?[0-9a-f]{1,64}$/i.test(value));
  if (wrong !== undefined)
    throw new ConfigError(
      `${JSON.stringify(wrong.slice(0, 80))} in ${option} is no hash of a collection's data id: it must be 1 to 64 hex digits.`,
      { option },
    );
  return values.length > 0 ? values : undefined;
}
