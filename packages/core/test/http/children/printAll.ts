// Lets requests fail in several ways, prints and stores all there is to know about each, and dies of the last error.
import { appendFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { createClient } from '../../../src/index.js';
import { testApi } from './testApi.js';

const [url = '', count = ''] = process.argv.slice(2);
const client = createClient({
  apiKey: process.env['SLUICE_API_KEY'] ?? '',
  rateLimit: false,
  timeouts: { response: 200 },
  retry: { retries: 1, baseDelay: 1, maxRetryAfter: 1 },
}).use(testApi(url));
client.events.subscribe(show);

let last: unknown;
for (let nth = 0; nth < Number(count); nth += 1) {
  try {
    show(await client.api.request({ route: 'test.route', path: `/${String(nth)}`, query: {} }));
  } catch (error) {
    last = error;
    show(error);
  }
}
show(client);
throw last;

function show(value: unknown): void {
  console.log(value);
  console.error('%o', value);
  console.dir(value, { depth: null, showHidden: true });
  appendFileSync('log.txt', `${JSON.stringify(value)}\n${inspect(value, { depth: Infinity, showHidden: true })}\n`);
}
