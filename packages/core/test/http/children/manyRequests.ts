// Makes many requests under one signal, and prints how many bytes are in use after each round of them.
import { setImmediate } from 'node:timers/promises';
import { createClient } from '../../../src/index.js';
import { testApi } from './testApi.js';

const [url = ''] = process.argv.slice(2);
const rounds = 10;
const requests = 400;

const client = createClient({ apiKey: 'a-key-for-this-test', rateLimit: false, retry: { baseDelay: 0 } }).use(
  testApi(url),
);
const { signal } = new AbortController();
const used: number[] = [];
for (let round = 0; round < rounds; round += 1) {
  for (let sent = 0; sent < requests; sent += 8) {
    const ask = (): Promise<unknown> => client.api.request({ route: 'test.route', path: '/', query: {}, signal });
    await Promise.allSettled(Array.from({ length: 8 }, ask));
  }
  await setImmediate();
  globalThis.gc?.();
  used.push(process.memoryUsage().heapUsed);
}
console.log(JSON.stringify({ requests, used }));
await client.close();
