import type { SourceDefinition } from './definition.js';
import type { Discovery, DiscoveryStart } from './discovery.js';
import { infoOf, Source } from './source.js';
import { walk } from './walk.js';

/** The definition of a source that discovers its partitions. */
export type DiscoveringDefinition<T> = Omit<SourceDefinition<T>, 'fetch' | 'partitions'>;

/** Creates a source whose partitions are discovered while it is walked, as far as the walk needs them. */
export function createDiscoveringSource<T>(
  definition: DiscoveringDefinition<T>,
  discover: (start: DiscoveryStart) => Discovery<T>,
): Source<T> {
  const plan = { ...definition, partitions: Infinity };
  return new Source(infoOf(plan), (options) => {
    const discovery = discover(options);
    const fetch: SourceDefinition<T>['fetch'] = (request) => discovery.fetch(request);
    return walk({ ...plan, fetch }, { ...options, discovery });
  });
}
