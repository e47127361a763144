import type { Config } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { checkOneTarget } from '../options/targetOptions.js';
import type { OptionsOf } from '../options/commands.js';
import type { ForwardOptions } from './forwardTarget.js';
import { findNamed } from './namedTarget.js';
import { tableName, type TableName } from './tableTarget.js';
import type { Target } from './target.js';

/**
 * The target of a command line: a webhook, a plugin's sink, a table, or else a file or stdout.
 *
 * @param elsewhere creates the target if it is a file or stdout.
 * @param tableOf creates the target if it is a table.
 */
export async function resolveTarget<T extends object>(
  options: OptionsOf<'to'> & ForwardOptions & { readonly format?: string },
  environment: Environment,
  config: Config,
  elsewhere: () => Target<T>,
  tableOf: (to: string, named: TableName) => Target<T>,
): Promise<Target<T>> {
  const { to, forward } = options;
  const named = to === undefined ? undefined : findNamed(to, 'sinks', config);
  const table = to === undefined || named ? undefined : tableName(to);
  checkOneTarget(options, named ?? (table && { isTable: true }));
  if (forward !== undefined) {
    // Loaded on demand: most exports do not forward.
    const { forwardTarget } = await import('./forwardTarget.js');
    return forwardTarget<T>(forward, options, environment, config);
  }
  if (named) {
    const { sinkTarget } = await import('./namedSink.js');
    return sinkTarget<T>(named, environment);
  }
  return to !== undefined && table ? tableOf(to, table) : elsewhere();
}
