import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createSource, exportTo } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { webhook } from '@sluice/exporters/webhook';
import { Agent, request } from 'undici';
import { compare, type Rounds } from './figures/compare.js';

/** In each round. */
const recordsForwarded = 10_000;
const pageSize = 100;
const deliveries = 32;
const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;

/** Rows of about 500 bytes, like holdings. */
const rows = Array.from({ length: recordsForwarded }, (_, n) => ({ uuid: `row ${n}`, n, text: 'x'.repeat(300) }));

/**
 * Ten thousand records to a receiver that takes 5 ms for each, 32 in parallel: by the sink with all its features
 * (spool, signatures, retries, order of keys), and by a plain loop around undici with bodies of the same size.
 */
export async function compareForwards(rounds: number): Promise<Rounds> {
  const folder = mkdtempSync(join(process.cwd(), 'bench-'));
  const receiver = fork(fileURLToPath(new URL('receiver.ts', import.meta.url)));
  try {
    const [{ url }] = await once(receiver, 'message');
    return await compare(
      { 'a loop around undici': () => looped(url), 'a forward': () => forwarded(url, folder) },
      rounds,
    );
  } finally {
    receiver.disconnect();
    rmSync(folder, { recursive: true });
  }
}

async function forwarded(url: string, folder: string): Promise<void> {
  const source = createSource<(typeof rows)[number]>({
    name: 'rows',
    identity: null,
    schema: { columns: ['uuid', 'n', 'text'], key: ({ uuid }) => uuid },
    fetch({ at }) {
      const from = at && 'cursor' in at ? Number(at.cursor) : 0;
      const next = from + pageSize < recordsForwarded ? { cursor: String(from + pageSize) } : 'end';
      return Promise.resolve({ rows: rows.slice(from, from + pageSize), next });
    },
  });
  const sink = webhook<(typeof rows)[number]>({ url, secret, allowAddresses: ['127.0.0.1'], deliveries });
  await exportTo(source, sink, { state: fileState(join(folder, 'state')) }).run();
}

async function looped(url: string): Promise<void> {
  const dispatcher = new Agent({ connections: deliveries });
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < recordsForwarded; at = next++) {
      const envelope = { id: `row-${at}-${'0'.repeat(24)}`, type: 'rows.row', timestamp: new Date().toISOString() };
      const body = JSON.stringify({ ...envelope, source: 'rows', sequence: at + 1, data: rows[at] });
      const headers = { 'content-type': 'application/json', 'webhook-id': envelope.id };
      const answer = await request(url, { method: 'POST', dispatcher, headers, body });
      await answer.body.dump();
      if (answer.statusCode !== 200) throw new Error(`It answered with ${answer.statusCode}.`);
    }
  };
  await Promise.all(Array.from({ length: deliveries }, worker));
  await dispatcher.close();
}
