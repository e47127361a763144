import type { Config } from '../config/config.js';
import type { Environment } from '../environment.js';
import { UsageError } from '../faults/usageError.js';
import type { ForwardOptions } from '../forward/forwardTarget.js';
import type { Target } from '../target/target.js';
import { targetOf } from '../target/targetOf.js';
import { rowSink, type TargetOptions } from './rowSink.js';

/** Options that say where rows go. */
export type RowTargetOptions = TargetOptions & ForwardOptions;

/** The target of rows that a command line asks for. @throws UsageError if there is none, or an option does not go with it. */
export function rowTargetOf<T extends object>(
  options: RowTargetOptions,
  environment: Environment,
  config: Config,
): Promise<Target<T>> {
  return targetOf<T>(options, environment, config, () => {
    if (options.state !== undefined)
      throw new UsageError("--state goes with --forward, or with a plugin's sink: a file has its state beside it.");
    return rowSink<T>(options, environment);
  });
}
