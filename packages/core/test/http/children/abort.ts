// Aborts its requests at the stage that is named. After that it has nothing left to do: the process has to end by itself.
import { createClient, type ClientOptions } from '../../../src/index.js';
import { testApi } from './testApi.js';

const [stage = '', url = ''] = process.argv.slice(2);
const hour = 3_600_000;

const options: Readonly<Record<string, Partial<ClientOptions>>> = {
  queue: { rateLimit: { requests: 1, per: hour } },
  slot: { rateLimit: { requests: 100, per: 1000, concurrency: 1 } },
  pause: { retry: { maxRetryAfter: hour } },
  'back-off': { retry: { baseDelay: hour, maxDelay: hour }, random: () => 0.9 },
  key: { apiKey: () => new Promise(() => undefined) },
};
const client = createClient({
  apiKey: 'a-key-for-this-test',
  rateLimit: false,
  timeouts: { connect: hour, response: hour, total: hour },
  ...options[stage],
}).use(testApi(url));

const controller = new AbortController();
const request = (): Promise<unknown> =>
  client.api.request({ route: 'test.route', path: '/things', query: {}, signal: controller.signal });

function abort(): void {
  controller.abort('enough');
  process.disconnect();
}

// Stages that only this side sees; at the others it is the server that knows, and we are told.
client.events.subscribe((event) => {
  if (event.type === (stage === 'pause' ? 'paused' : 'retry')) setImmediate(abort);
});
process.once('message', abort);
if (stage === 'key') setImmediate(abort);
if (stage === 'queue') {
  await request();
  setImmediate(abort);
}

const requests = stage === 'slot' ? [request(), request()] : [request()];
console.log(JSON.stringify(await Promise.all(requests.map((end) => end.catch((reason: unknown) => reason)))));
