// A receiver in a process of its own, `node receiver.ts MS`, which responds so many ms after it has read a request, and
// says how many requests were open at once. It exits with its parent process.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const latency = Number(process.argv[2]);
let open = 0;
let maxOpen = 0;

const server = createServer((request, response) => {
  open += 1;
  maxOpen = Math.max(maxOpen, open);
  request.resume().on('end', () => {
    const respond = (): void => {
      open -= 1;
      response.writeHead(200, { 'content-length': 2 }).end('ok');
    };
    if (latency > 0) setTimeout(respond, latency);
    else respond();
  });
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.send?.({ url: `http://127.0.0.1:${port}/` });
});
process.on('message', () => {
  process.send?.({ maxOpen });
  maxOpen = 0;
});
process.once('disconnect', () => process.exit());
