// Makes one request, and prints what came of it as one line of JSON. The second argument is the deadline for connecting.
import { createClient, SluiceError } from '../../../src/index.js';
import { testApi } from './testApi.js';

const [url = '', connect = '10000'] = process.argv.slice(2);

try {
  await using client = createClient({
    apiKey: process.env['SLUICE_API_KEY'] ?? '',
    rateLimit: false,
    timeouts: { connect: Number(connect) },
    retry: { retries: 0 },
  }).use(testApi(url));
  console.log(JSON.stringify(await client.api.request({ route: 'test.route', path: '/things', query: {} })));
} catch (error) {
  console.log(JSON.stringify(SluiceError.is(error) ? error : String(error)));
}
