import { gunzipSync } from 'node:zlib';
import { nftHoldingSchema, type NftHolding } from '@sluice/aptos';
import { exportTo } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { csv, csvFormat } from '@sluice/exporters/csv';
import { jsonl, jsonlFormat } from '@sluice/exporters/jsonl';
import type { SimulatedDisk } from '../../packages/core/test/node/simulatedDisk.js';
import { isLock } from './isLock.js';
import { difference } from './difference.js';
import type { JobOf, RunningJob } from './job.js';
import type { Scenario } from './scenario.js';
import type { Apis } from './services.js';

/** Exports all holdings into a file. */
export function exportJob(job: JobOf<'export'>, { disk: { io } }: Scenario, apis: Apis): RunningJob {
  const { pageSize, ownersPerRequest, concurrency, commitEvery, format, gzip } = job;
  const path = `/data/rows.${format}`;
  const stateFolder = job.state === 'beside' ? `${path}.sluice` : '/data/state';
  const ownerAddresses = apis.holdings.owners.addresses;
  const [sinkOf, formatOf] = format === 'csv' ? [csv, csvFormat] : [jsonl, jsonlFormat];
  const rows = [...apis.holdings.of(ownerAddresses)];
  const { header, encode } = formatOf<NftHolding>().encoder(nftHoldingSchema);
  const expected = header + encode(rows);
  const textOn = (disk: SimulatedDisk): string | undefined => {
    const bytes = disk.bytes(path);
    return bytes && (gzip ? gunzipSync(bytes) : Buffer.from(bytes)).toString();
  };
  return {
    async run({ client, fileSystem, claims, clock, signal }, { pages }) {
      const source = client.aptos.nfts({ ownerAddresses, ownersPerRequest, pageSize });
      const state = fileState(stateFolder, { fileSystem, claims, clock });
      await exportTo(source, pages.before(sinkOf<NftHolding>({ path, fileSystem, gzip })), {
        state,
        concurrency,
        prefetch: 1,
        clock,
        onExpired: 'restart-partition',
        ...(commitEvery !== undefined && { commitEvery }),
      }).run({ signal });
      return true;
    },
    wrongInPlace(disk) {
      const text = textOn(disk);
      return text === undefined || text === expected ? [] : [`Put in place: ${difference(text, expected)}`];
    },
    judge(disk) {
      // What is said to be done stays so when the power goes.
      const durable = disk.restart('dropped');
      const text = textOn(durable);
      const kept = ['/data/', path, `${stateFolder}/`, `${stateFolder}/checkpoint`];
      const left = durable.paths().filter((name) => !kept.includes(name) && !isLock(name));
      return [
        ...(text === expected ? [] : [difference(text, expected)]),
        // A disk that refuses to clear away keeps what it has.
        ...(left.length === 0 || io > 0 ? [] : [`Left behind: ${left.join(' ')}`]),
      ];
    },
  };
}
