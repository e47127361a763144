import { aptos, type AptosApi, type NftHolding } from '@sluice/aptos';
import type { Run } from '../config/config.js';
import { checkConcurrency, type ExportedRows, runExport } from '../export/runExport.js';
import { requireBaseUrl } from '../input/baseUrl.js';
import { defaultOwnersPerRequest, findOwners } from '../input/owners.js';
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
    maxRows,
    hint: idleConcurrency({ ownerAddresses, ownersPerRequest, concurrency }),
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
    hint: idleConcurrency({ ownerAddresses, ownersPerRequest, concurrency }),
  };
  return runWatch(rows, options, environment, invocation);
};

interface WalletRequests {
  readonly ownerAddresses: readonly string[];
  readonly ownersPerRequest?: number | undefined;
  readonly concurrency?: number | undefined;
}

/** The maximum that fits into the URL of a request. */
const maxOwnersPerRequest = 20;

/**
 * Says that smaller groups of wallets would use the full concurrency. Groups do not shrink automatically: they are part
 * of an export's plan, which must not depend on the concurrency, and each group costs a request.
 */
export function idleConcurrency({
  ownerAddresses,
  ownersPerRequest,
  concurrency = 1,
}: WalletRequests): string | undefined {
  const owners = new Set(ownerAddresses).size;
  const size = Math.min(ownersPerRequest ?? defaultOwnersPerRequest, maxOwnersPerRequest);
  const groups = Math.ceil(owners / size);
  const smaller = Math.max(1, Math.floor(owners / concurrency));
  const more = Math.ceil(owners / smaller);
  if (groups >= concurrency || more <= groups) return undefined;
  const run = groups === 1 ? '1 group, so the concurrency is 1' : `${groups} groups, so the concurrency is ${groups}`;
  return `${owners} wallets in groups of ${size} make ${run} instead of ${concurrency}. For ${more} groups give --owners-per-request ${smaller}; an export that was begun keeps its groups.`;
}
