import { sourcesOf, type ApiSource, type Client } from '@sluice/core';
import type { Config } from '../config/config.js';
import { UsageError } from '../faults/usageError.js';
import { apis, isApiName, type ApiName } from '../settings/baseUrl.js';

/** The name of a source, taken apart. */
export interface SourceName {
  /** E.g. `coins.markets`. */
  readonly name: string;
  /** The one of the command line's own APIs that it is of. */
  readonly api?: ApiName;
}

/** Takes the name of a source apart. @throws UsageError if it can't be one. */
export function sourceName(name: string): SourceName {
  const [api = ''] = name.split('.');
  if (!/^[^.]+\.[^.]+$/.test(name))
    throw new UsageError(
      `${JSON.stringify(name)} names no source. Write API.SOURCE, like aptos.walletNfts; "sluice sources" lists them.`,
    );
  return { name, ...(isApiName(api) && { api }) };
}

/** The source of that name on a client. @throws UsageError with those that there are. */
export function findSource(client: Client, name: string, { file }: Pick<Config, 'file'>): ApiSource {
  const sources = sourcesOf(client);
  const source = sources.get(name);
  if (source) return source;
  const [api = ''] = name.split('.');
  const names = [...sources.keys()];
  const ofApi = names.filter((each) => each.startsWith(`${api}.`));
  const others = [...new Set([...names.map((each) => each.split('.')[0] ?? ''), ...Object.keys(apis)])].toSorted();
  throw new UsageError(
    ofApi.length > 0
      ? `${api} has no source ${JSON.stringify(name.slice(api.length + 1))}. There are: ${ofApi.join(', ')}.`
      : `There is no API ${JSON.stringify(api)} with sources. There are: ${others.join(', ')}. ${file ? `The plugins of ${file.name} bring along no other.` : 'Plugins in sluice.config.js bring along more.'}`,
  );
}
