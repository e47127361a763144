import { isRecord } from '../record.js';
import { isApiSource, type ApiSource } from './apiSource.js';

/**
 * All sources of APIs on a client, by how they are reached on it, e.g. `coins.markets`.
 *
 * @example
 * for (const [name, source] of sourcesOf(client)) console.log(name, source.describe().columns);
 */
export function sourcesOf(client: object): ReadonlyMap<string, ApiSource> {
  const sources = new Map<string, ApiSource>();
  for (const [plugin, namespace] of Object.entries(client))
    if (isRecord(namespace))
      for (const [name, member] of Object.entries(namespace))
        if (isApiSource(member)) sources.set(`${plugin}.${name}`, member);
  return sources;
}
