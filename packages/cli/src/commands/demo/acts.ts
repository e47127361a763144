import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type AptosApi, type NftHolding, nftHoldingSchema } from '@sluice/aptos';
import { type Client, exportTo } from '@sluice/core';
import { streamSink } from '@sluice/core/node';
import { webhook } from '@sluice/exporters/webhook';
import { type ReceiverCounts, startReceiver } from '@sluice/sandbox';
import type { EvmStream, StreamsApi } from '@sluice/streams';
import { tap } from 'rxjs';
import type { Environment } from '../../environment/environment.js';
import type { Output } from '../../environment/output.js';
import { Failure } from '../../errors/errors.js';
import { codeOf } from '../../errors/thrown.js';
import { type ExportOutcome, exportRows } from '../../export/exportRows.js';
import { rowTarget } from '../../export/rowTarget.js';
import { barChart } from '../../terminal/barChart.js';
import { formatCount } from '../../terminal/format.js';
import { changeText } from '../../watch/changeText.js';
import { streamView } from '../../watch/rowView.js';

interface HoldingsExport {
  readonly client: Client & { readonly aptos: AptosApi };
  readonly ownerAddresses: readonly string[];
  readonly file: string;
  /** The expected number of rows. */
  readonly maxRows: number;
  /** Receives each row. */
  readonly digest: HoldingsDigest;
}

/** Exports the wallets' holdings to a file, and overwrites that of an earlier demo. */
export async function exportHoldings(
  { client, ownerAddresses, file, maxRows, digest }: HoldingsExport,
  environment: Environment,
): Promise<ExportOutcome> {
  await makeFolder(resolve(environment.folder, dirname(file)));
  const target = rowTarget<NftHolding>({ to: file, ifExists: 'overwrite' }, environment);
  const watched = tap((nft: NftHolding) => {
    digest.add(nft);
  });
  const source = () => client.aptos.nfts({ ownerAddresses }).pipePages(watched, { schema: nftHoldingSchema });
  const job = { client, source, sink: await target.open(client), target, maxRows, isLast: false };
  return exportRows(job, {}, environment);
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (error) {
    throw new Failure(
      `The folder ${folder} can't be made (${codeOf(error) ?? 'unknown fault'}). Run the demo in a folder where you may write.`,
    );
  }
}

/** Shows which collections are the largest. */
export async function showCollections(digest: HoldingsDigest, output: Output, max: number): Promise<void> {
  const { columns, colors } = output;
  await heading(output, `The largest of ${formatCount(digest.collections, 'collection')}`);
  await output.write(barChart(digest.largest(max), { columns, colors, indent }));
}

/** Watches the streams for a few polls, with the same output as `sluice streams watch`. */
export async function showChanges(
  api: StreamsApi,
  { stdout, signal }: Environment,
  { every, polls }: { readonly every: number; readonly polls: number },
): Promise<void> {
  const { colors, columns } = stdout;
  await heading(stdout, 'Streams of a project, watched for a few seconds');
  const lines = changeText(streamView(colors), { colors, columns, indent });
  await exportTo(api.list.watch({}, { every, polls }), streamSink(lines, stdout.stream)).run({ signal });
}

/** Forwards the streams to a local service that verifies signatures and fails now and then. */
export async function showForward(api: StreamsApi, { stdout, signal }: Environment): Promise<void> {
  await heading(stdout, 'The streams again, forwarded to a service');
  const secret = `whsec_${randomBytes(24).toString('base64')}`;
  const failures = { share: 0.25, max: 2, kinds: ['error', 'reset', 'accept-then-error'] as const };
  await using receiver = await startReceiver({ secrets: [secret], seed: 17, failures });
  const { url } = receiver;
  // A short back-off is enough: this service is not overloaded.
  const sink = webhook<EvmStream>({ url, secret, allowAddresses: ['127.0.0.1'], retry: { baseDelay: 20 } });
  const { rows } = await exportTo(api.list(), sink).run({ signal });
  const lines = forwardLines(rows, url, receiver.counts);
  await stdout.write(lines.map((line) => `${' '.repeat(indent)}${line}\n`).join(''));
}

/** The result, as the service counted it. */
function forwardLines(
  rows: number,
  url: string,
  { accepted, doubled, differing, refused, failed }: ReceiverCounts,
): string[] {
  const isComplete = accepted === rows && differing === 0 && refused === 0;
  return [
    `${formatCount(rows, 'record')} posted to ${url}: each signature was verified.`,
    `The service failed ${formatCount(failed, 'time')} on purpose; those records were sent again.`,
    isComplete
      ? `${formatCount(doubled, 'record')} came twice, with the same id. None is missing, none has changed.`
      : `${formatCount(accepted, 'record')} arrived. That is a fault: please report it.`,
  ];
}

/** Statistics of the exported holdings. */
export class HoldingsDigest {
  readonly #byCollection = new Map<string, number>();
  readonly #keys = new Set<string>();

  add(nft: NftHolding): void {
    const collection = nft.collection_name ?? '';
    this.#byCollection.set(collection, (this.#byCollection.get(collection) ?? 0) + 1);
    this.#keys.add(String(nftHoldingSchema.key?.(nft)));
  }

  /** The number of different holdings. */
  get distinct(): number {
    return this.#keys.size;
  }

  get collections(): number {
    return this.#byCollection.size;
  }

  /** The collections with the most holdings, largest first. */
  largest(count: number): { readonly label: string; readonly value: number }[] {
    return [...this.#byCollection]
      .map(([label, value]) => ({ label, value }))
      .sort((a, b) => b.value - a.value)
      .slice(0, count);
  }
}

/** The indentation of the demo's output, in columns. */
export const indent = 2;

export async function heading(output: Output, title: string): Promise<void> {
  await output.write(`\n${output.colors.bold(title)}\n`);
}
