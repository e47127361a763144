import { aptos } from '@sluice/aptos';
import { createClient, exportTo, SluiceError } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { csv } from '../src/csv.js';

/** What the process is told, as JSON in its first argument. */
export interface ExportOrder {
  readonly apiKey: string;
  readonly aptosUrl: string;
  readonly owners: readonly string[];
  readonly path: string;
  readonly concurrency: number;
}

/** What it says at its end, as JSON on its output. `maxRss` in bytes. */
export type ExportOutcome =
  | {
      readonly rows: number;
      readonly pages: number;
      readonly bytes: number;
      readonly seconds: number;
      readonly maxRss: number;
      /** Bytes of heap in use behind every fifth page, where `--expose-gc` lets it collect its garbage first. */
      readonly used: readonly number[];
    }
  | { readonly error: object };

const order: ExportOrder = JSON.parse(process.argv[2] ?? '');
console.log(JSON.stringify(await outcome(order)));

async function outcome({ apiKey, aptosUrl, owners, path, concurrency }: ExportOrder): Promise<ExportOutcome> {
  const began = performance.now();
  await using client = createClient({ apiKey, rateLimit: false }).use(aptos({ baseUrl: aptosUrl }));
  const holdings = client.aptos.walletNfts({ ownerAddresses: owners, ownersPerRequest: 1, pageSize: 1_000 });
  const used: number[] = [];
  const onProgress = ({ pages }: { readonly pages: number }): void => {
    if (!globalThis.gc || pages % 5 !== 0) return;
    globalThis.gc();
    used.push(process.memoryUsage().heapUsed);
  };
  const options = { state: fileState(`${path}.sluice`), concurrency, commitEvery: 50 };
  try {
    const { rows, pages, bytes = 0 } = await exportTo(holdings, csv({ path }), options).run({ onProgress });
    const seconds = (performance.now() - began) / 1_000;
    return { rows, pages, bytes, seconds, maxRss: process.resourceUsage().maxRSS * 1_024, used };
  } catch (error) {
    if (SluiceError.is(error)) return { error: error.toJSON() };
    throw error;
  }
}
