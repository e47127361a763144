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
import { sinkTarget, type Target } from './target.js';

/** A file, or stdout, as a target whose sink is there. */
type PlainTarget<T> = Omit<Target<T>, 'open'> & { readonly sink: Sink<T> };

/**
 * Where the rows, or the changes, of a command line go: to an endpoint, to what a plugin has brought along, or elsewhere.
 *
 * @param elsewhere makes the target where it is a file or stdout.
 * @throws UsageError if there is more than one, or an option does not go with it; what `forwardTarget` throws.
 */
export async function targetOf<T extends object>(
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
  if ((format === undefined && formatOfName(to) === undefined) || sinks.some((sink) => isMisspelt(name, sink)))
    refuseUnknownName(to, 'sinks', config);
  if (sinks.length === 0) return undefined;
  return visibleText(`${name} is no sink of a plugin's; taken for a file. Write ./${to} to say so.`);
}

/** Names of fewer letters are alike by chance. */
const shortest = 5;

/**
 * Whether a word looks like a name with a slip or two: a letter that is wrong, missing, too many, or swapped with the next one. A short
 * name allows for one. Capitals make no difference.
 *
 * @example isMisspelt('sqilte', 'sqlite') // true
 */
export function isMisspelt(word: string, name: string): boolean {
  return slips(word.toLowerCase(), name.toLowerCase()) <= (name.length < shortest ? 1 : 2);
}

/** The distance of optimal string alignment, row by row. */
function slips(word: string, name: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: name.length + 1 }, (_, at) => at);
  for (let row = 1; row <= word.length; row += 1) {
    const now = [row];
    for (let column = 1; column <= name.length; column += 1) {
      const at = (line: readonly number[], place: number): number => line[place] ?? Infinity;
      const isSame = word[row - 1] === name[column - 1];
      const isSwapped = word[row - 1] === name[column - 2] && word[row - 2] === name[column - 1];
      now.push(
        Math.min(
          at(last, column) + 1,
          at(now, column - 1) + 1,
          at(last, column - 1) + (isSame ? 0 : 1),
          isSwapped ? at(beforeLast, column - 2) + 1 : Infinity,
        ),
      );
    }
    beforeLast = last;
    last = now;
  }
  return last[name.length] ?? Infinity;
}
