import { startSandbox, type Sandbox, type SandboxOptions } from '@sluice/sandbox';
import { createClient, type Client } from '@sluice/core';
import type { Answering, SourceFixture, TestedSource } from '../src/index.js';

const refused = { kind: 'status', status: 403 } as const;
const silence = { kind: 'never' } as const;

/**
 * A sandbox that answers as a suite wants it to, and a client of its own.
 *
 * @param open adds an API to the client; what it answers makes the source, as often as it is asked for.
 */
export async function onSandbox<T>(
  options: SandboxOptions,
  open: (client: Client, sandbox: Sandbox) => () => TestedSource<T>,
): Promise<SourceFixture<T>> {
  let how: Answering = 'well';
  const sandbox = await startSandbox({
    ...options,
    script: () => (how === 'fail' ? refused : how === 'never' ? silence : undefined),
  });
  const client = createClient({ apiKey: sandbox.apiKey, rateLimit: false });
  return {
    source: open(client, sandbox),
    requests: () => ({
      made: sandbox.counts.requests,
      open: sandbox.counts.open,
      sent: sandbox.requests.map(({ method, path, query }) => ({ method, url: `${path}?${query}` })),
    }),
    answer: (answering) => {
      how = answering;
    },
    dispose: async () => {
      await client.close();
      await sandbox.close();
    },
  };
}
