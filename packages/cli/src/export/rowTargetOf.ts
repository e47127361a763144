import type { Environment } from '../environment.js';
import { UsageError } from '../faults/usageError.js';
import { forwardTarget, type ForwardOptions } from '../forward/forwardTarget.js';
import { checkOneTarget } from '../forward/checkOneTarget.js';
import { rowSink, type TargetOptions } from './rowSink.js';
import type { RowTarget } from './rowTarget.js';

/**
 * The target that a command line asks for.
 *
 * @throws UsageError if there is none or more than one, or an option does not go with it; what `forwardTarget` throws.
 */
export async function rowTargetOf<T extends object>(
  options: TargetOptions & ForwardOptions,
  environment: Environment,
): Promise<RowTarget<T>> {
  const { forward, state } = options;
  checkOneTarget(options);
  if (forward !== undefined) return forwardTarget<T>(forward, options, environment);
  if (state !== undefined) throw new UsageError('--state goes with --forward: a file has its state beside it.');
  return rowSink<T>(options, environment);
}
