import { onTestEnd } from '../../../../scripts/testScope.js';
import { type Client, type ClientOptions, createClient } from '../../src/index.js';

/** Opens clients with these environment variables, without a key of their own, a limit and retries. They end with the test. */
export function clientsWith(variables: Readonly<Record<string, string>>): (options?: Partial<ClientOptions>) => Client {
  return (options) => {
    const client = createClient({ apiKey: false, rateLimit: false, retry: { retries: 0 }, variables, ...options });
    onTestEnd(() => client.close());
    return client;
  };
}

/** What a promise rejects with, or else its value. */
export const caught = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);
