import { describe, expect, test } from 'vitest';
import { casesOf, someOf } from '../../../../scripts/testEffort.js';
import { openQuotaApi, type QuotaRunOptions } from './quotaRun.js';
import {
  draftWindow,
  fixedWindow,
  githubWindow,
  slidingWindow,
  tokenWindow,
  type QuotaServer,
} from './quotaServers.js';

const minute = 60_000;
const kinds: readonly { readonly kind: string; readonly server: () => QuotaServer }[] = [
  { kind: 'a fixed window', server: () => fixedWindow({ requests: 100, per: minute }) },
  { kind: 'a fixed window, rounded down', server: () => fixedWindow({ requests: 100, per: minute }, Math.floor) },
  { kind: 'a fixed window, rounded', server: () => fixedWindow({ requests: 1000, per: 20_000 }, Math.round) },
  { kind: 'a short fixed window', server: () => fixedWindow({ requests: 50, per: 5_000 }) },
  { kind: 'a small fixed window', server: () => fixedWindow({ requests: 10, per: minute }) },
  { kind: 'a sliding window', server: () => slidingWindow({ requests: 100, per: minute }) },
  { kind: 'a short sliding window', server: () => slidingWindow({ requests: 100, per: 20_000 }) },
  { kind: 'a sliding window with its end', server: () => slidingWindow({ requests: 200, per: minute }, 'newest') },
  { kind: "GitHub's way", server: () => githubWindow({ requests: 300, per: 5 * minute }) },
  { kind: 'requests beside tokens', server: () => tokenWindow({ requests: 100, per: minute }) },
  { kind: "the IETF draft's", server: () => draftWindow({ requests: 200, per: minute }, { requests: 20, per: 5_000 }) },
];

describe.each(someOf(kinds))('$kind', ({ server }) => {
  test.each([1, 2, 3].slice(0, casesOf(3)))(
    'A4 eight requests in flight get at most one refusal in ten windows: seed %i',
    { tags: ['slow'] },
    async (seed) => {
      const { share, refused, failures } = await tenWindows({ servers: { '/': server() }, seed });
      expect(failures).toEqual([]);
      expect(refused).toBeLessThanOrEqual(1);
      expect(share).toBeGreaterThanOrEqual(0.9);
    },
  );
});

async function tenWindows(options: QuotaRunOptions & { readonly servers: { readonly '/': QuotaServer } }) {
  const { requests, per } = options.servers['/'];
  await using api = openQuotaApi(options);
  const failures = api.keepRequesting(8);
  await api.clock.advance(10 * per);
  const refused = api.given.filter(({ status }) => status !== 200).length;
  return { failures: [...failures], refused, share: (api.given.length - refused) / (10 * requests) };
}
