// A server with a strict limit per second, in a process and on a clock of its own: it refuses a request if that many others
// arrived in the last second and were not refused. It prints its address, and at the end what it observed.
//
//   server.ts 50 40 --tls
//
// The second number is how long it takes for a response, in ms.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createPlainServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { ServerAddress, ServerLog } from './rate.js';

const [perSecond, latency, tls] = process.argv.slice(2);
// It measures, so it runs before what it measures, where this user may ask for that.
try {
  setPriority(constants.priority.PRIORITY_HIGHEST);
} catch {
  // Else its own stalls let requests arrive closer to each other than they were sent.
}
const stalls = monitorEventLoopDelay({ resolution: 1 });
stalls.enable();
const arrivals: number[] = [];
const admitted: number[] = [];
let refused = 0;

const respond: RequestListener = (_, response) => {
  const now = performance.now();
  arrivals.push(now);
  const isRefused = now - (admitted.at(-Number(perSecond)) ?? -Infinity) < 1_000;
  if (isRefused) refused += 1;
  else admitted.push(now);
  const answer = (): void => {
    response.writeHead(isRefused ? 429 : 200, { 'Content-Type': 'application/json' }).end('{"result":[]}');
  };
  if (Number(latency) > 0) setTimeout(answer, Number(latency));
  else answer();
};
const server = tls === undefined ? createPlainServer(respond) : createTlsServer(certificate(), respond);
server.keepAliveTimeout = 5_000;
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  const url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
  process.send?.({ url } satisfies ServerAddress);
});
process.once('message', () => {
  const log: ServerLog = { arrivals, refused, longestStall: stalls.max / 1e6 };
  process.send?.(log, () => {
    process.exit();
  });
});

function certificate(): { readonly key: Buffer; readonly cert: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-rate-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const options = ['-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=127.0.0.1'];
  try {
    execFileSync('openssl', ['req', '-x509', '-keyout', key, '-out', cert, ...options], { stdio: 'ignore' });
    return { key: readFileSync(key), cert: readFileSync(cert) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
