import { aptos } from '@sluice/aptos';
import { createClient, type Limit } from '@sluice/core';
import type { Sandbox } from '@sluice/sandbox';

/** A client of the sandbox without a rate limit, which gives up after the first fault unless told otherwise. */
export function sandboxClient(
  { apiKey, aptosUrl }: Sandbox,
  { retries = 0, rateLimit = false }: { readonly retries?: number; readonly rateLimit?: Limit | false } = {},
) {
  return createClient({ apiKey, rateLimit, retry: { retries } }).use(aptos({ baseUrl: aptosUrl }));
}
