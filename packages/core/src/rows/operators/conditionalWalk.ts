import { checkOptions } from '../../checks.js';
import { type PageCacheLimits, StoredPages } from '../source/pageCache.js';

/** The page store of a poll or watch, if it sends conditional requests. @throws ConfigError if a limit is invalid. */
export function createStoredPages(conditional: boolean | PageCacheLimits): StoredPages | undefined {
  if (conditional === false) return undefined;
  if (conditional !== true) checkOptions('conditional', conditional, { maxRows: true, maxBytes: true });
  return new StoredPages(conditional === true ? {} : conditional);
}

/**
 * Runs a complete walk with stored pages. If they may have made it fail, e.g. because the API refuses a stored cursor,
 * runs the walk again from the first page without them, so no result mixes both walks.
 *
 * @param walk called once or twice
 */
export async function withStoredPages<R>(
  cache: StoredPages | undefined,
  signal: AbortSignal,
  walk: () => Promise<R>,
): Promise<R> {
  if (!cache) return walk();
  const complete = async (): Promise<R> => {
    cache.begin();
    const result = await walk();
    cache.end();
    return result;
  };
  try {
    return await complete();
  } catch (error) {
    if (signal.aborted || !cache.mayHaveCaused(error)) throw error;
    cache.refuse();
    return complete();
  }
}
