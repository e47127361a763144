import { aptos, type NftHolding } from '@sluice/aptos';
import type { Environment } from '../environment.js';
import { exitCodeAfter } from '../export/exitCodeAfter.js';
import { exportRows, type ProgressOptions } from '../export/exportRows.js';
import { resumptionOf, type ResumeOptions } from '../export/resumption.js';
import type { TargetOptions } from '../export/rowSink.js';
import { rowTargetOf } from '../export/rowTargetOf.js';
import type { ForwardOptions } from '../forward/forwardTarget.js';
import { UsageError } from '../faults/usageError.js';
import { baseUrlOf } from '../settings/baseUrl.js';
import { findOwners, type OwnerOptions } from '../settings/findOwners.js';
import { openClient, type ConnectionOptions } from '../settings/openClient.js';

/** Options of `sluice nfts export`. */
export interface NftsExportOptions
  extends OwnerOptions, TargetOptions, ForwardOptions, ResumeOptions, ConnectionOptions, ProgressOptions {
  readonly pageSize?: number;
  readonly maxRows?: number;
  readonly offset?: number;
  readonly ownersPerRequest?: number;
  readonly lanes?: number;
  readonly includeCollections?: readonly string[];
  readonly excludeCollections?: readonly string[];
}

/** `sluice nfts export`: the NFTs that wallets hold, into a file or to an endpoint. */
export async function nftsExport(
  options: NftsExportOptions,
  environment: Environment,
  args: readonly string[],
): Promise<number> {
  const { pageSize, maxRows, offset, ownersPerRequest, lanes, includeCollections, excludeCollections } = options;
  if (maxRows !== undefined && (lanes ?? 1) > 1)
    throw new UsageError('--max-rows goes with --lanes 1 only: with several lanes it would be chance which rows come.');
  const target = await rowTargetOf<NftHolding>(options, environment);
  const resumption = resumptionOf(options, target, args, environment);
  const ownerAddresses = await findOwners(options, environment);
  const baseUrl = baseUrlOf('aptos', options, environment.variables);
  await using client = (await openClient(options, environment)).use(aptos({ baseUrl }));
  const source = () =>
    client.aptos.walletNfts({
      ownerAddresses,
      ...(pageSize !== undefined && { pageSize }),
      ...(maxRows !== undefined && { maxRows }),
      ...(offset !== undefined && { offset }),
      ...(ownersPerRequest !== undefined && { ownersPerRequest }),
      ...(includeCollections && { includeCollections }),
      ...(excludeCollections && { excludeCollections }),
    });
  const { sink, name, format, forwarding } = target;
  const { report } = await exportRows(
    { client, source, sink, target: name, format, forwarding, lanes, resumption, mostRows: maxRows },
    options,
    environment,
  );
  return exitCodeAfter(report);
}
