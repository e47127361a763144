import type { Sink } from '@sluice/core';
import type { Config } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { checkOneTarget, formatOfName } from '../options/checkTarget.js';
import type { OptionsOf } from '../options/table.js';
import { visibleText } from '../terminal/text.js';
import type { ForwardOptions } from './forwardTarget.js';
import {
  namedTarget,
  namesOf,
  refuseAddress,
  refuseBareName,
  refuseEmptyTarget,
  refuseUnknownName,
  parseTarget,
} from './namedTarget.js';
import { tableName, type TableName, tableTarget, type TableTargetOptions } from './tableTarget.js';
import type { Target } from './target.js';

/** A file or stdout. */
type PlainTarget<T> = Omit<Target<T>, 'open'> & { readonly sink: Sink<T> };

/**
 * The target of a command line: a webhook, a plugin's sink, a table, or else a file or stdout.
 *
 * @param elsewhere creates the target if it is a file or stdout.
 * @param tableOf creates the target if it is a table.
 * @throws UsageError if there are two targets, or an option does not apply; what `forwardTarget` throws.
 */
export async function resolveTarget<T extends object>(
  options: OptionsOf<'to'> & TableTargetOptions & ForwardOptions & { readonly format?: string },
  environment: Environment,
  config: Config,
  elsewhere: () => PlainTarget<T>,
  tableOf: (to: string, named: TableName) => Target<T> = (to, named) => tableTarget<T>(to, named, options, environment),
): Promise<Target<T>> {
  const { to, format, forward } = options;
  const named = to === undefined ? undefined : namedTarget(to, 'sinks', config);
  const table = to === undefined || named ? undefined : tableName(to);
  checkOneTarget(options, named ?? (table && { isTable: true }));
  if (forward !== undefined) {
    // Loaded on demand: most exports do not forward.
    const { forwardTarget } = await import('./forwardTarget.js');
    return forwardTarget<T>(forward, options, environment, config);
  }
  if (named) {
    refuseEmptyTarget(named, 'sinks');
    const { sinkTarget } = await import('./namedSink.js');
    return sinkTarget<T>(named, environment);
  }
  if (to !== undefined && table) return tableOf(to, table);
  const warning = to === undefined ? undefined : checkFile(to, format, config);
  const { sink, ...target } = elsewhere();
  return { ...target, open: () => Promise.resolve(sink), ...(warning !== undefined && { warning }) };
}

/** Refuses a file name that looks like a URL or a sink. Returns a warning if it may still be meant as a sink. */
function checkFile(to: string, format: unknown, config: Config): string | undefined {
  refuseAddress(to, 'sinks');
  refuseBareName(to, 'sinks', config);
  const { name } = parseTarget(to) ?? {};
  const sinks = namesOf('sinks', config.plugins);
  if (name === undefined) return undefined;
  if (format === undefined && formatOfName(to) === undefined) refuseUnknownName(to, 'sinks', config);
  if (sinks.length === 0) return undefined;
  return visibleText(`${name} is not a sink of a plugin; writing a file. Write ./${to} to say so.`);
}
