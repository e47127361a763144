import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { bundle } from './bundle.js';

/** A page on a server of its own, so its origin differs from the sandbox's. */
export interface ServedPage extends AsyncDisposable {
  readonly url: string;
}

export async function servePage(): Promise<ServedPage> {
  const files = new Map([
    ['/', { type: 'text/html', text: readFileSync(join(import.meta.dirname, 'page/index.html'), 'utf8') }],
    ['/page.js', { type: 'text/javascript', text: (await bundle({ path: 'page/page.ts' })).text }],
    ['/worker.js', { type: 'text/javascript', text: (await bundle({ path: 'page/worker.ts' })).text }],
  ]);
  const server = createServer(({ url = '' }, response) => {
    const file = files.get(url);
    if (file) response.writeHead(200, { 'content-type': `${file.type}; charset=utf-8` }).end(file.text);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('The page has no address.');
  return {
    url: `http://127.0.0.1:${address.port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
