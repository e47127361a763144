import { createServer, type AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { poll } from '../../src/index.js';
import { byCursor, listing } from '../../src/define/index.js';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { openListing } from '../define/servedApi.js';
import { SkippingClock } from '../rows/watch/skippingClock.js';

test.each([
  ['a body', '304 Not Modified', 'Content-Length: 20\r\n', '{"items":[{"id":9}]}'],
  ['a chunked body', '304 Not Modified', 'Transfer-Encoding: chunked\r\n', '14\r\n{"items":[{"id":9}]}\r\n0\r\n\r\n'],
  ['the length of the whole page', '304 Not Modified', 'Content-Length: 20\r\n', ''],
  ['an encoding', '304 Not Modified', 'Content-Encoding: br\r\n', ''],
])('A7 a 304 with %s stands for the stored page, and nothing of it is read', async (_what, status, headers, body) => {
  let requests = 0;
  const server = createServer((socket) => {
    let received = '';
    socket.on('error', () => undefined);
    socket.setEncoding('latin1').on('data', (part: string) => {
      received += part;
      if (!received.includes('\r\n\r\n')) return;
      const isConditional = received.toLowerCase().includes('if-none-match: "1"');
      received = '';
      requests += 1;
      const whole = '{"items":[{"id":1}]}';
      socket.write(
        isConditional
          ? `HTTP/1.1 ${status}\r\nETag: "1"\r\n${headers}\r\n${body}`
          : `HTTP/1.1 200 OK\r\nETag: "1"\r\nContent-Type: application/json\r\nContent-Length: ${whole.length}\r\n\r\n${whole}`,
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestEnd(() => new Promise((resolve) => server.close(resolve)));
  const items = listing({
    path: '/rows',
    rows: 'items',
    columns: ['id'],
    paging: byCursor({ param: 'after', at: 'next?' }),
  });
  const { port } = server.address() as AddressInfo;
  const source = openListing(items, { baseUrl: `http://127.0.0.1:${port}`, retry: { retries: 2 } })();
  const seen: unknown[] = [];
  for await (const { rows } of poll(source, { every: 1000, clock: new SkippingClock(), conditional: true }))
    if (seen.push(rows) === 4) break;
  expect(seen).toEqual(Array(4).fill([{ id: 1 }]));
  expect(requests).toBeGreaterThanOrEqual(4);
});
