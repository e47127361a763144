// Sends one request through the adapter, and prints what came of it as one line of JSON. Every name leads to 127.0.0.1.
import { AdapterFault } from '../../../src/http/adapter/adapter.js';
import { createAdapter } from '../../../src/http/adapter/nodeAdapter.js';
import { addressGuard } from '../../../src/node/index.js';

const [mode = '', url = ''] = process.argv.slice(2);

const looked: string[] = [];
const guard = addressGuard({
  allow: ['127.0.0.1/32'],
  resolve: (hostname) => {
    looked.push(hostname);
    return mode === 'hanging' ? new Promise(() => undefined) : Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
  },
});
const adapter = createAdapter({
  connectTimeout: 60_000,
  maxBodyBytes: 1_000,
  ...(mode === 'direct' ? { proxies: false } : mode === 'proxied' ? {} : { guard }),
});
const controller = new AbortController();
// As the transport's deadline does, this keeps the process alive until there is an answer.
const awake = setTimeout(() => controller.abort('enough'), mode === 'hanging' ? 50 : 20_000);
try {
  const { status } = await adapter.send({ url, method: 'GET', headers: {}, signal: controller.signal });
  console.log(JSON.stringify({ status, looked }));
} catch (error) {
  console.log(
    JSON.stringify(error instanceof AdapterFault ? { kind: error.kind, code: error.platformCode } : String(error)),
  );
}
clearTimeout(awake);
