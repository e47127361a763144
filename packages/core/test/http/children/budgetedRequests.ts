// Sends requests, each when the last one has its response, until it has sent so many or its budget is used up.
import { createClient } from '../../../src/index.js';
import { budgets } from '../../../src/node/index.js';
import { testApi } from './testApi.js';

const [url = '', folder = '', requests = '', per = '', most = ''] = process.argv.slice(2);

const stop = new AbortController();
const client = createClient({
  apiKey: 'a-key-for-this-test',
  rateLimit: { requests: Number(requests), per: Number(per) },
  limits: budgets(folder),
}).use(testApi(url));
client.eventsOf('warning').subscribe(({ message }) => console.error(message));
client.eventsOf('limiter').subscribe(({ paused, cause }) => {
  if (paused > 0) stop.abort(cause);
});
let sent = 0;
try {
  for (; sent < Number(most); sent += 1)
    await client.api.request({ route: 'test.route', path: '/', query: {}, signal: stop.signal });
} catch (error) {
  if (error !== stop.signal.reason) throw error;
}
const { budget, rate } = client.limiter;
console.log(JSON.stringify({ sent, cause: stop.signal.reason, left: budget?.left, used: rate?.used }));
await client.close();
