import type { Config } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { UsageError } from '../errors/errors.js';
import { flagAbout, type OptionsOf } from '../options/commands.js';
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

/**
 * Checks that there is one target, and that no option is for another kind of target.
 *
 * @param other the target, if it is a plugin's sink or a table.
 */
function checkOneTarget(
  options: OptionsOf<'to' | 'forward'>,
  other?: { readonly name: string } | { readonly isTable: true },
): void {
  const { to, forward } = options;
  const isTable = other !== undefined && 'isTable' in other;
  const aboutTable = isTable ? undefined : flagAbout('table', options);
  if (aboutTable !== undefined) {
    const forFiles = aboutTable === '--mode' ? ' For a file there is --if-exists.' : '';
    throw new UsageError(`${aboutTable} goes with a table: --to FILE.sqlite#TABLE or --to postgres://….${forFiles}`);
  }
  if (forward === undefined) {
    const flag = flagAbout('webhook', options);
    if (flag !== undefined) throw new UsageError(`${flag} needs --forward URL.`);
    if (!other) return;
  }
  if (to !== undefined && forward !== undefined)
    throw new UsageError('--to and --forward are two targets. Give one of them.');
  // A table has columns, too.
  const flag = flagAbout('file', isTable ? { ...options, columns: undefined, extra: undefined } : options);
  if (flag === undefined) return;
  if (isTable) throw new UsageError(`${flag} goes with a file: a table has no format of its own.`);
  throw new UsageError(
    other
      ? `${flag} goes with a file: the sink "${other.name}" is given each row as a whole.`
      : `${flag} goes with --to: what is forwarded is each record as a whole, as JSON.`,
  );
}
