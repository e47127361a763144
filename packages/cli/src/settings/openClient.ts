import { createClient, type Client, type ClientOptions } from '@sluice/core';
import type { Environment } from '../environment.js';
import type { Rate } from '../options/parseRate.js';
import type { BaseUrls } from './baseUrl.js';
import { findApiKey } from './findApiKey.js';
import { timeoutsFor } from './timeoutsFor.js';

/** Options of every command that talks to an API. */
export interface ConnectionOptions extends BaseUrls {
  /** `false`: unlimited. Absent: the library's default. */
  readonly rate?: Rate | false;
  /** Longest time for one answer, in ms. */
  readonly timeout?: number;
  readonly apiKeyFile?: string;
}

/** What a client is made with, given a key. */
export function clientOptions({ rate, timeout }: ConnectionOptions, apiKey: string): ClientOptions {
  return {
    apiKey,
    ...(rate !== undefined && { rateLimit: rate }),
    ...(timeout !== undefined && { timeouts: timeoutsFor(timeout) }),
  };
}

/** A client with the key, the rate and the deadlines of a command line; the caller closes it. @throws UsageError if there is no key. */
export async function openClient(options: ConnectionOptions, environment: Environment): Promise<Client> {
  const { key } = await findApiKey(options.apiKeyFile, environment);
  return createClient(clientOptions(options, key));
}
