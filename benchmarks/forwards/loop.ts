import { createHash, createHmac } from 'node:crypto';
import pLimit from 'p-limit';
import { Agent, request } from 'undici';
import { pageAt, pageSize, secret, type ForwardWork } from './rows.js';

const key = Buffer.from(secret.slice('whsec_'.length), 'base64');

/** By a loop around undici with p-limit that signs, whose records have an id of their content, too. */
export async function loop({ url, records, deliveries, batch }: ForwardWork): Promise<void> {
  const dispatcher = new Agent({ connections: deliveries });
  const limit = pLimit(deliveries);
  const post = async (id: string, body: string): Promise<void> => {
    const timestamp = Math.floor(Date.now() / 1000);
    const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
    const headers = {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': `v1,${signature}`,
    };
    const response = await request(url, { method: 'POST', dispatcher, headers, body });
    await response.body.dump();
    if (response.statusCode !== 200) throw new Error(`It responded with ${response.statusCode}.`);
  };
  const pending = new Set<Promise<void>>();
  for (let from = 0; from < records; from += pageSize) {
    const envelopes = pageAt(from, records).map((data) => ({
      id: hash(JSON.stringify(data)),
      type: 'rows.row',
      timestamp: new Date().toISOString(),
      source: 'rows',
      sequence: data.n + 1,
      data,
    }));
    for (let at = 0; at < envelopes.length; at += batch) {
      const [first, ...others] = envelopes.slice(at, at + batch);
      if (!first) continue;
      const id = batch === 1 ? first.id : hash(`batch ${first.id}`);
      const posted = limit(() =>
        post(id, JSON.stringify(batch === 1 ? first : { id, type: 'batch', source: 'rows', data: [first, ...others] })),
      );
      pending.add(posted);
      void posted.then(() => pending.delete(posted));
    }
    while (pending.size > 2 * deliveries) await Promise.race(pending);
  }
  await Promise.all(pending);
  await dispatcher.close();
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
