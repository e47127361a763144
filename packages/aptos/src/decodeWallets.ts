import { ConfigError } from '@sluice/core';
import type { WalkBounds } from '@sluice/core/define';

/** Options of `client.aptos.nfts`. */
export interface ListNftsOptions {
  /** The wallets, at least one. Repeated addresses are dropped, with a warning event. */
  readonly ownerAddresses: readonly string[];
  /** Rows per page, an integer of at least 1. Default 100. The API's maximum is not documented. */
  readonly pageSize?: number;
  /** Includes only these collections, given by the hash of their data id (hexadecimal text). Default: all. */
  readonly includeCollections?: readonly string[];
  /** Excludes these collections, as `collection_blacklist`. The API's reference wrongly says that it includes. */
  readonly excludeCollections?: readonly string[];
  /** Rows to skip at the start. Needs a single group of owners. Default 0. */
  readonly offset?: number;
  /** The walk ends after this many rows. Default: no limit. Needs a concurrency of 1. */
  readonly maxRows?: number;
  /** A group with more pages than this is an error. Default: no limit. */
  readonly maxPages?: number;
  /**
   * Owners per request, fewer if the URL would get too long. Each group is a partition of the plan. Default 10; an export,
   * poll or watch with `concurrency` has fewer, down to 1, until there are four groups for each request at once, and 1
   * without a limit, or with one of more than 4 requests per second for each request at once.
   */
  readonly ownersPerRequest?: number;
}

/** The parameters without the limits of a walk. */
export type Wallets = Omit<ListNftsOptions, keyof WalkBounds>;

const lists = ['ownerAddresses', 'includeCollections', 'excludeCollections'] as const;
const list = { type: 'array', items: { type: 'string' } };
const hashes = { ...list, separator: ',' };
const count = { type: 'integer' };
const properties = {
  ownerAddresses: { ...list, flag: 'owner', fileFlag: 'owners-file' },
  includeCollections: hashes,
  excludeCollections: hashes,
  ownersPerRequest: count,
  offset: count,
};

/**
 * A Standard Schema of the parameters of `aptos.nfts`, for programs that see no types: a command line, JavaScript.
 *
 * @see https://standardschema.dev
 */
export const walletsSchema = {
  '~standard': {
    version: 1,
    vendor: 'sluice',
    validate(given: unknown): { readonly value: Wallets } {
      const wallets = given as Wallets;
      for (const name of lists) checkList(name, wallets[name], name === 'ownerAddresses');
      return { value: wallets };
    },
    jsonSchema: {
      input: () => ({ type: 'object', properties, required: ['ownerAddresses'], additionalProperties: false }),
    },
  },
} as const;

/** @throws ConfigError, e.g. if a text is given in place of a list of one. */
function checkList(option: string, value: unknown, isRequired: boolean): void {
  if (value === undefined && !isRequired) return;
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return;
  throw new ConfigError((name = option) => `${name} must be a list of strings, even if it has only one entry.`, {
    option,
  });
}
