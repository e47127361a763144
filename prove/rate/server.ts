// A sandbox with a strict limit, in a process and on a clock of its own. It prints its address, and at the end what it
// observed.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { startSandbox } from '@sluice/sandbox';
import { rate, type ServerAddress, type ServerLog } from './rate.js';

const stalls = monitorEventLoopDelay({ resolution: 1 });
stalls.enable();
const sandbox = await startSandbox({ rateLimit: rate, holdings: 10 });
const { streamsUrl, apiKey } = sandbox;
process.send?.({ streamsUrl, apiKey } satisfies ServerAddress);
process.once('message', () => {
  const log: ServerLog = {
    arrivals: sandbox.requests.map(({ arrivedAt }) => arrivedAt),
    refused: sandbox.counts.rateLimited,
    longestStall: stalls.max / 1e6,
  };
  process.send?.(log);
  void sandbox.close().then(() => {
    process.disconnect();
  });
});
