import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { aptos, type ListNftsOptions } from '@sluice/aptos';
import { createClient, exportTo, type Json } from '@sluice/core';
import { csv } from '@sluice/exporters/csv';
import { jsonl } from '@sluice/exporters/jsonl';
import { startSandbox, type SandboxOptions } from '@sluice/sandbox';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import type { OpenSource, ProgressHints, Run } from '../../src/run/run.js';
import { runPartition, segments, sourceOfRun } from '../../src/index.js';

/** Wallets in one piece of a plan, each of which is a partition. */
const ownersPerPiece = 3;

export interface HoldingsOptions extends SandboxOptions {
  readonly pageSize?: number;
}

/** A sandbox of wallets, a client of it, and a folder for a run of all wallets. */
export async function startHoldings({ pageSize = 20, ...options }: HoldingsOptions = {}) {
  const sandbox = await startSandbox({ holdings: 900, owners: 8, ...options });
  const client = createClient({ apiKey: sandbox.apiKey, rateLimit: false, retry: { baseDelay: 1, maxDelay: 20 } }).use(
    aptos({ baseUrl: sandbox.aptosUrl }),
  );
  onTestEnd(async () => {
    await client.close();
    await sandbox.close();
  });
  const folder = temporaryFolder();
  const open: OpenSource = (params: ListNftsOptions) => client.aptos.nfts(params);
  const settings = { ownersPerRequest: 1, pageSize };
  const params = piecesOf(sandbox.owners).map((ownerAddresses) => ({ ownerAddresses, ...settings }));
  const plan = { name: 'holdings', source: 'aptos.nfts', open, params };
  const whole = () => client.aptos.nfts({ ownerAddresses: sandbox.owners, ...settings });
  return { sandbox, client, folder, runFolder: join(folder, 'run'), open, plan, whole };
}

export type Holdings = Awaited<ReturnType<typeof startHoldings>>;

function piecesOf(owners: readonly string[]): Json[][] {
  const pieces: Json[][] = [];
  for (let at = 0; at < owners.length; at += ownersPerPiece) pieces.push(owners.slice(at, at + ownersPerPiece));
  return pieces;
}

/** The run of all wallets, submitted. */
export function submitted({ runFolder, plan }: Holdings, hints?: ProgressHints): Promise<Run> {
  return segments(runFolder, hints && { hints }).submit(plan);
}

/** Runs all partitions that are not done, one after the other. */
export async function finish(run: Run): Promise<void> {
  const { signal } = new AbortController();
  for await (const partition of run.pending()) await runPartition({ run, partition, signal });
}

/** Exports the run and, by one machine, the source, and returns the files of both. */
export async function bothFiles({ folder, runFolder, whole }: Holdings, name: string): Promise<readonly Buffer[]> {
  const merged = join(folder, `merged-${name}`);
  const single = join(folder, `single-${name}`);
  const sink = name.includes('csv') ? csv<object> : jsonl<object>;
  await exportTo(await sourceOfRun(runFolder), sink({ path: merged })).run();
  await exportTo(whole(), sink({ path: single })).run();
  return [merged, single].map((path) => readFileSync(path));
}
