import type { Change } from '@sluice/core';
import type { Environment } from '../environment.js';
import { checkOneTarget } from '../forward/checkOneTarget.js';
import { forwardTarget, type ForwardOptions } from '../forward/forwardTarget.js';
import { changeSink, type ChangeTarget, type ChangeTargetOptions } from './changeSink.js';
import type { RowLook } from './rowLook.js';

/**
 * Where the changes of a command line go: to stdout, into a file, or to an endpoint.
 *
 * @throws UsageError if an option does not go with it; what `forwardTarget` throws.
 */
export async function changeTargetOf<T extends object>(
  options: ChangeTargetOptions & ForwardOptions,
  look: RowLook<T>,
  environment: Environment,
): Promise<ChangeTarget<T>> {
  const { forward } = options;
  checkOneTarget(options);
  if (forward === undefined) return changeSink(options, look, environment);
  return forwardTarget<Change<T>>(forward, options, environment);
}
