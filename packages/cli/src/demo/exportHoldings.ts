import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { nftHoldingSchema, type AptosApi, type NftHolding } from '@sluice/aptos';
import type { Client } from '@sluice/core';
import { tap } from 'rxjs';
import type { Environment } from '../environment.js';
import { exportRows, type ExportOutcome } from '../export/exportRows.js';
import { rowSink } from '../export/rowSink.js';
import { Failure } from '../faults/failure.js';
import type { HoldingsDigest } from './holdingsDigest.js';

/** What the demo exports. */
export interface HoldingsExport {
  readonly client: Client & { readonly aptos: AptosApi };
  readonly ownerAddresses: readonly string[];
  readonly file: string;
  /** Rows that are known to come. */
  readonly mostRows: number;
  /** Sees each row. */
  readonly digest: HoldingsDigest;
}

/** Writes the wallets' holdings into the demo's own file, replacing the one of an earlier demo. */
export async function exportHoldings(
  { client, ownerAddresses, file, mostRows, digest }: HoldingsExport,
  environment: Environment,
): Promise<ExportOutcome> {
  await makeFolder(resolve(environment.folder, dirname(file)));
  const { sink, name, format } = rowSink<NftHolding>({ to: file, ifExists: 'overwrite' }, environment);
  const watched = tap((nft: NftHolding) => {
    digest.add(nft);
  });
  const source = () => client.aptos.walletNfts({ ownerAddresses }).perPage(watched, { schema: nftHoldingSchema });
  return exportRows({ client, source, sink, target: name, format, mostRows }, {}, environment);
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown fault';
    throw new Failure(`The folder ${folder} can't be made (${code}). Run the demo in a folder where you may write.`);
  }
}
