import type { EndpointOptions } from '@sluice/exporters/webhook';
import type { Environment } from '../environment.js';
import { findWebhookSecrets } from '../settings/findWebhookSecrets.js';
import { readHeaders } from '../settings/readHeaders.js';

/** Options of every command that posts to an endpoint. */
export interface EndpointChoice {
  /** A path, or `-` for stdin. */
  readonly secretFile?: string;
  readonly headerFile?: string;
  readonly allowAddress?: readonly string[];
  readonly concurrency?: number;
  /** Longest time for one answer, in ms. */
  readonly timeout?: number;
  /** Ms for which a fault that may pass is tried. Default: the library's. */
  readonly retryFor?: number;
}

/** How an endpoint is posted to, as a command line says it. @throws UsageError if there is no secret, or a file can't be read. */
export async function endpointOptions(
  url: string,
  { secretFile, headerFile, allowAddress, timeout, retryFor }: EndpointChoice,
  environment: Environment,
): Promise<EndpointOptions> {
  const secret = await findWebhookSecrets(secretFile, environment);
  return {
    ...{ url, secret },
    ...(headerFile !== undefined && { headers: await readHeaders(headerFile, environment) }),
    ...(allowAddress && { allowAddresses: allowAddress }),
    ...(timeout !== undefined && { timeout }),
    ...(retryFor !== undefined && { retry: { for: retryFor } }),
  };
}
