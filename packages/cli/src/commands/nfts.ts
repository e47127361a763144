import { aptos, type AptosApi, type NftHolding } from '@sluice/aptos';
import type { Run } from '../config/config.js';
import { checkConcurrency, type ExportedRows, runExport } from '../export/runExport.js';
import { requireBaseUrl } from '../input/baseUrl.js';
import { describeOwners, findOwners } from '../input/owners.js';
import type { WatchedRows } from '../watch/watchChanges.js';

/** `sluice nfts export`: exports the NFTs of wallets. */
export const nftsExport: Run<'nfts export'> = async (options, environment, invocation) => {
  const { pageSize, maxRows, offset, ownersPerRequest, concurrency, includeCollections, excludeCollections } = options;
  checkConcurrency(options);
  const ownerAddresses = await findOwners(options, environment);
  const baseUrl = requireBaseUrl('aptos', options, environment.variables);
  const asked = { ownerAddresses, pageSize, maxRows, offset, ownersPerRequest, includeCollections, excludeCollections };
  const rows: ExportedRows<{ readonly aptos: AptosApi }, NftHolding> = {
    add: (client) => client.use(aptos({ baseUrl })),
    source: (client) => client.aptos.nfts(asked),
    concurrency,
    parts: { one: 'wallet', count: new Set(ownerAddresses).size },
    wallets: describeOwners(ownerAddresses, options),
    maxRows,
  };
  return runExport(rows, options, environment, invocation);
};

/** `sluice nfts watch`: reports every change of the NFTs of wallets. */
export const nftsWatch: Run<'nfts watch'> = async (options, environment, invocation) => {
  // Loaded on demand: an export does not need these.
  const { holdingView } = await import('../watch/rowView.js');
  const { runWatch } = await import('../watch/watchChanges.js');
  const { pageSize, ownersPerRequest, concurrency, includeCollections, excludeCollections } = options;
  const ownerAddresses = await findOwners(options, environment);
  const baseUrl = requireBaseUrl('aptos', options, environment.variables);
  const asked = { ownerAddresses, pageSize, ownersPerRequest, includeCollections, excludeCollections };
  const rows: WatchedRows<{ readonly aptos: AptosApi }, NftHolding> = {
    add: (client) => client.use(aptos({ baseUrl })),
    source: (client, watching) => client.aptos.nfts.watch(asked, { ...watching, concurrency }),
    view: holdingView(environment.stdout.colors),
    wallets: describeOwners(ownerAddresses, options),
  };
  return runWatch(rows, options, environment, invocation);
};
