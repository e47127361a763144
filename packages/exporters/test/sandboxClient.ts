import { aptos } from '@sluice/aptos';
import { createClient } from '@sluice/core';
import type { Sandbox } from '@sluice/sandbox';

/** A client of the sandbox without a rate limit, which gives up after the first fault unless told otherwise. */
export function sandboxClient({ apiKey, aptosUrl }: Sandbox, { retries = 0 } = {}) {
  return createClient({ apiKey, rateLimit: false, retry: { retries } }).use(aptos({ baseUrl: aptosUrl }));
}
