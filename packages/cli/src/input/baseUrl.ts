import type { Variables } from '../environment/environment.js';
import { UsageError } from '../errors/errors.js';

/** The built-in APIs, and where the base URL of each comes from. */
export const apis = {
  streams: { variable: 'SLUICE_STREAMS_URL', option: '--streams-url', name: 'streams API' },
  aptos: { variable: 'SLUICE_APTOS_URL', option: '--aptos-url', name: 'Aptos NFT API' },
} as const;

export type ApiName = keyof typeof apis;

export const apiNames = ['streams', 'aptos'] as const satisfies ApiName[];

/** Whether an API is a built-in one. */
export function isApiName(name: string): name is ApiName {
  return Object.hasOwn(apis, name);
}

/** Base URLs given as options. */
export interface BaseUrls {
  readonly streamsUrl?: string;
  readonly aptosUrl?: string;
}

/** The base URL of an API: the option's, else the environment's, if either is set. */
export function findBaseUrl(api: ApiName, options: BaseUrls, variables: Variables): string | undefined {
  const found = (options[`${api}Url`] ?? variables[apis[api].variable] ?? '').trim();
  return found === '' ? undefined : found;
}

/** The base URL of an API. @throws UsageError if it is not set. */
export function requireBaseUrl(api: ApiName, options: BaseUrls, variables: Variables): string {
  const found = findBaseUrl(api, options, variables);
  if (found !== undefined) return found;
  const { variable, option, name } = apis[api];
  throw new UsageError(
    `The base URL of the ${name} is not set. Set the environment variable ${variable}, or give ${option}.`,
  );
}
