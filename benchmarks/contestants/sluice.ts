// With everything on: validation, the limiter's interface, checkpoints at their default, progress.
import { aptos } from '@sluice/aptos';
import { createClient, exportTo } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { csv } from '@sluice/exporters/csv';
import { jsonl } from '@sluice/exporters/jsonl';
import { apiKey, type Job } from './contestant.js';

export async function exportHoldings({ url, owners, path, format, concurrency, isKept }: Job): Promise<number> {
  await using client = createClient({ apiKey, rateLimit: false }).use(aptos({ baseUrl: url }));
  const holdings = client.aptos.walletNfts({ ownerAddresses: owners, ownersPerRequest: 1 });
  let rows = 0;
  const sink = (format === 'jsonl' ? jsonl : csv)({ path, ifExists: 'overwrite', gzip: format === 'csv.gz' });
  const state = isKept && { state: fileState(`${path}.sluice`) };
  await exportTo(holdings, sink, { ...state, concurrency }).run({ onProgress: (progress) => (rows = progress.rows) });
  return rows;
}
