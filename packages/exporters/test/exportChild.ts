import { aptos } from '@sluice/aptos';
import { createClient, exportTo, SluiceError } from '@sluice/core';
import { type FileSystem, fileState, nodeFileSystem } from '@sluice/core/node';
import { csv } from '../src/csv.js';
import { parquet } from '../src/parquet.js';

/** What the process is told, as JSON in its first argument. */
export interface ExportOrder {
  readonly apiKey: string;
  readonly aptosUrl: string;
  readonly owners: readonly string[];
  /** A CSV, or a Parquet file if its name says so. */
  readonly path: string;
  readonly concurrency: number;
  /** Max rows of a row group. */
  readonly rowGroup?: number;
  /** The write with this number, from 1, to a file with this path never ends; the process says `stalled` instead. */
  readonly stallAt?: { readonly path: string; readonly write: number };
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

async function outcome(order: ExportOrder): Promise<ExportOutcome> {
  const { apiKey, aptosUrl, owners, path, concurrency, rowGroup } = order;
  const began = performance.now();
  await using client = createClient({ apiKey, rateLimit: false }).use(aptos({ baseUrl: aptosUrl }));
  const holdings = client.aptos.nfts({ ownerAddresses: owners, ownersPerRequest: 1, pageSize: 1_000 });
  const used: number[] = [];
  const onProgress = ({ pages }: { readonly pages: number }): void => {
    if (!globalThis.gc || pages % 5 !== 0) return;
    globalThis.gc();
    used.push(process.memoryUsage().heapUsed);
  };
  const options = { state: fileState(`${path}.sluice`), concurrency, commitEvery: 50 };
  const target = { path, fileSystem: fileSystemFor(order) };
  const sink = path.endsWith('.parquet')
    ? parquet({ ...target, ...(rowGroup !== undefined && { rowGroup }) })
    : csv(target);
  try {
    const { rows, pages, bytes = 0 } = await exportTo(holdings, sink, options).run({ onProgress });
    const seconds = (performance.now() - began) / 1_000;
    return { rows, pages, bytes, seconds, maxRss: process.resourceUsage().maxRSS * 1_024, used };
  } catch (error) {
    if (SluiceError.is(error)) return { error: error.toJSON() };
    throw error;
  }
}

function fileSystemFor({ stallAt }: ExportOrder): FileSystem {
  if (!stallAt) return nodeFileSystem;
  let writes = 0;
  return {
    ...nodeFileSystem,
    open: async (path, mode) => {
      const file = await nodeFileSystem.open(path, mode);
      if (path !== stallAt.path) return file;
      const write: typeof file.write = async (bytes, position) => {
        writes += 1;
        if (writes < stallAt.write) return file.write(bytes, position);
        // Half of it is written, as by a process that is killed meanwhile.
        await file.write(bytes.subarray(0, bytes.length / 2), position);
        console.log('stalled');
        return new Promise(() => setInterval(() => undefined, 60_000));
      };
      return { ...file, write };
    },
  };
}
