import { ConfigError } from '@sluice/core';
import type { Wallets } from './walletNfts.js';

const lists = ['ownerAddresses', 'includeCollections', 'excludeCollections'] as const;
const list = { type: 'array', items: { type: 'string' } };
const count = { type: 'integer' };
const properties = {
  ...{ ownerAddresses: list, includeCollections: list, excludeCollections: list },
  ...{ ownersPerRequest: count, offset: count },
};

/**
 * A Standard Schema of the parameters of `aptos.walletNfts`, for programs that see no types: a command line, JavaScript.
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
  throw new ConfigError(`${option} must be a list of strings, even if it has only one entry.`, { option });
}
