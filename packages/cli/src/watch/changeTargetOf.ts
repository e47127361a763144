import type { Change } from '@sluice/core';
import type { Config } from '../config/config.js';
import type { Environment } from '../environment.js';
import type { ForwardOptions } from '../forward/forwardTarget.js';
import type { Target } from '../target/target.js';
import { targetOf } from '../target/targetOf.js';
import { changeSink, type ChangeTargetOptions } from './changeSink.js';
import type { RowLook } from './rowLook.js';

/** The target of changes that a command line asks for. @throws UsageError if an option does not go with it. */
export function changeTargetOf<T extends object>(
  options: ChangeTargetOptions & ForwardOptions,
  look: RowLook<T>,
  environment: Environment,
  config: Config,
): Promise<Target<Change<T>>> {
  // A watch waits for its endpoint as long as for its API.
  const patient = { retryFor: Infinity, ...options };
  return targetOf<Change<T>>(patient, environment, config, () => changeSink(options, look, environment));
}
