import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createSource, exportTo } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { webhook } from '@sluice/exporters/webhook';
import { pageAt, pageSize, secret, type ForwardWork, type Row } from './rows.js';

/** By the sink with all its features: spool, signatures, retries, order of keys. */
export async function forward({ url, records, deliveries, batch }: ForwardWork): Promise<void> {
  const source = createSource<Row>({
    name: 'rows',
    identity: null,
    schema: { columns: ['uuid', 'n', 'text'], key: ({ uuid }) => uuid },
    fetch({ at }) {
      const from = at && 'cursor' in at ? Number(at.cursor) : 0;
      const next = from + pageSize < records ? { cursor: String(from + pageSize) } : 'end';
      return Promise.resolve({ rows: pageAt(from, records), next });
    },
  });
  const folder = mkdtempSync(join(process.cwd(), 'bench-'));
  try {
    const sink = webhook<Row>({
      url,
      secret,
      allowAddresses: ['127.0.0.1'],
      deliveries,
      batch: batch === 1 ? undefined : batch,
    });
    await exportTo(source, sink, { state: fileState(join(folder, 'state')) }).run();
  } finally {
    rmSync(folder, { recursive: true });
  }
}
