import type { Config } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { flagOf } from '../errors/cliTerms.js';
import { UsageError } from '../errors/errors.js';
import type { GroupOptions } from '../options/options.js';
import { folderPlace, refusePlace, type StatePlace, statePlace } from '../target/statePlace.js';
import type { Target } from '../target/target.js';

/** The state of a watch; `undefined` if none is stored. @throws UsageError if an option requires one. */
export function watchStateOf(
  options: GroupOptions<'watchState'>,
  target: Pick<Target<never>, 'kind' | 'state'>,
  config: Config,
  environment: Pick<Environment, 'folder' | 'signal' | 'secrets'>,
): StatePlace | undefined {
  const { state: given } = options;
  if (target.kind === 'table') {
    refusePlace(options);
    return undefined;
  }
  const folder = given ?? target.state;
  if (folder === undefined) {
    const option = (['restart', 'breakLock', 'trustFilesystem'] as const).find((name) => options[name]);
    if (option !== undefined)
      throw new UsageError(`${flagOf(option)} needs --state DIR: without it no state is stored.`);
    return undefined;
  }
  return given === undefined
    ? folderPlace(folder, options, environment)
    : statePlace(given, options, config, environment);
}
