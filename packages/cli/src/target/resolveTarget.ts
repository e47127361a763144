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
  takenApart,
} from './namedTarget.js';
import type { Target } from './target.js';

/** A file, or stdout, as a target whose sink is there. */
type PlainTarget<T> = Omit<Target<T>, 'open'> & { readonly sink: Sink<T> };

/**
 * Where the rows, or the changes, of a command line go: to a webhook, to what a plugin has brought along, or elsewhere.
 *
 * @param elsewhere makes the target where it is a file or stdout.
 * @throws UsageError if there is more than one, or an option does not go with it; what `forwardTarget` throws.
 */
export async function resolveTarget<T extends object>(
  options: OptionsOf<'to'> & ForwardOptions & { readonly format?: string },
  environment: Environment,
  config: Config,
  elsewhere: () => PlainTarget<T>,
): Promise<Target<T>> {
  const { to, format, forward } = options;
  const named = to === undefined ? undefined : namedTarget(to, 'sinks', config);
  checkOneTarget(options, named);
  if (forward !== undefined) {
    // Most exports forward nothing, and load nothing for it.
    const { forwardTarget } = await import('./forwardTarget.js');
    return forwardTarget<T>(forward, options, environment, config);
  }
  if (named) {
    refuseEmptyTarget(named, 'sinks');
    const { sinkTarget } = await import('./namedSink.js');
    return sinkTarget<T>(named, environment);
  }
  const warning = to === undefined ? undefined : checkFile(to, format, config);
  const { sink, ...target } = elsewhere();
  return { ...target, open: () => Promise.resolve(sink), ...(warning !== undefined && { warning }) };
}

/**
 * Refuses a file whose name is more likely an address, or that of a sink.
 *
 * @returns what is to be said of it, if it may still be meant for a sink.
 */
function checkFile(to: string, format: unknown, config: Config): string | undefined {
  refuseAddress(to, 'sinks');
  refuseBareName(to, 'sinks', config);
  const { name } = takenApart(to) ?? {};
  const sinks = namesOf('sinks', config.plugins);
  if (name === undefined) return undefined;
  if (format === undefined && formatOfName(to) === undefined) refuseUnknownName(to, 'sinks', config);
  if (sinks.length === 0) return undefined;
  return visibleText(`${name} is not a sink of a plugin; writing a file. Write ./${to} to say so.`);
}
