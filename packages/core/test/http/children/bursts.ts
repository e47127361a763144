// Makes bursts of requests, as a watch does. The server closes all connections after each.
import { setTimeout as wait } from 'node:timers/promises';
import { createClient } from '../../../src/index.js';
import { testApi } from './testApi.js';

const [url = '', stall = '0'] = process.argv.slice(2);

await using client = createClient({ apiKey: 'a-key-for-this-test', rateLimit: { requests: 5, per: 400 } }).use(
  testApi(url),
);
// Busy between the permit and the write of each burst's first request.
client.eventsOf('attempt').subscribe(({ request }) => {
  const until = performance.now() + (request % 6 === 1 ? Number(stall) : 0);
  while (performance.now() < until);
});
for (let burst = 0; burst < 3; burst += 1) {
  const get = (): Promise<unknown> => client.api.request({ route: 'test.route', path: '/', query: {} });
  await Promise.all(Array.from({ length: 6 }, get));
  await wait(450);
}
