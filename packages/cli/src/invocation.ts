import type { Config } from './config/config.js';
import type { UsageError } from './faults/usageError.js';

/** What a command is run with besides its options. */
export interface Invocation {
  /** The whole command line. */
  readonly args: readonly string[];
  readonly config: Config;
  /** Why there is no configuration although there should be one; only for a command that tells it itself. */
  readonly configFault?: UsageError;
}
