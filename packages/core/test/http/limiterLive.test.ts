import { performance } from 'node:perf_hooks';
import { startSandbox } from '@sluice/sandbox';
import { expect, onTestFinished, test } from 'vitest';
import { someOf } from '../../../../scripts/testEffort.js';
import { createClient, systemClock } from '../../src/index.js';
import { testApi } from './children/testApi.js';

const rate = { requests: 50, per: 1_000 };
/** Windows that a round lasts, after the first one. */
const windows = 3;

test.each(someOf([1, 8], 1))(
  'L1 a strict server of 50 a second refuses none, and gets 98 percent of that: %i at once',
  { tags: ['slow'] },
  async (concurrency) => {
    // The promise is one of an idle machine. Where others work, a round may be disturbed between the sending and the arrival of a request; a
    // limiter that is wrong is so in every round.
    const rounds: Round[] = [];
    const isKept = ({ refused, share }: Round): boolean => refused === 0 && share >= 0.98;
    while (rounds.length < 3 && !rounds.some(isKept)) rounds.push(await round(concurrency));
    expect(rounds.filter(isKept), JSON.stringify(rounds)).toHaveLength(1);
  },
);

interface Round {
  readonly refused: number;
  readonly share: number;
}

async function round(concurrency: number): Promise<Round> {
  const time = steadyTime();
  await using sandbox = await startSandbox({ rateLimit: rate, holdings: 10, now: time });
  await using client = createClient({
    apiKey: sandbox.apiKey,
    rateLimit: rate,
    retry: { retries: 0 },
    clock: { ...systemClock, monotonic: time },
  }).use(testApi(sandbox.streamsUrl));
  let left = rate.requests * (windows + 1);
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await client.api.request({ route: 'streams.list', path: '/streams/evm', query: { limit: 1 } });
    }
  };
  // The first refusal fails one worker; it is the server that counts.
  await Promise.allSettled(Array.from({ length: concurrency }, worker));
  const arrived = sandbox.requests.map((request) => request.arrivedAt);
  // From each request of the first window to the one in its place in the last window.
  const spans = arrived.slice(-rate.requests).map((at, nth) => at - (arrived[nth] ?? 0));
  const span = spans.reduce((sum, ms) => sum + ms) / spans.length;
  return { refused: sandbox.counts.rateLimited, share: (windows * rate.per) / span };
}

/**
 * A clock for client and server that goes while the process waits, and stands still while it works or is kept from the
 * processor: on a machine that is slow or busy with other things, it shows what both do on a fast one that is idle. The
 * process is looked at every ms; what takes longer is no time of its own.
 */
function steadyTime(): () => number {
  const waited = (): number => performance.eventLoopUtilization().idle;
  let seen = waited();
  let time = seen;
  const read = (): number => {
    const now = waited();
    time += Math.min(now - seen, 2);
    seen = now;
    return time;
  };
  const ticks = setInterval(read, 1);
  onTestFinished(() => {
    clearInterval(ticks);
  });
  return read;
}
