import { sourcesOf, type SourceDescription } from '@sluice/core';
import type { Config } from '../config/config.js';
import type { Environment } from '../environment.js';
import { withPlugins } from '../settings/withPlugins.js';

/** All sources that a command line can name, described; nothing is requested. @throws what a plugin raises that can't be added. */
export async function knownSources(
  config: Pick<Config, 'plugins'>,
  environment: Pick<Environment, 'stderr'>,
): Promise<SourceDescription[]> {
  return withPlugins(config, environment, (client) =>
    Promise.resolve(Array.from(sourcesOf(client).values(), (source) => source.describe())),
  );
}
