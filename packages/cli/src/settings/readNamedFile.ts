import type { Environment } from '../environment.js';
import { UsageError } from '../faults/usageError.js';
import { readInput, whyUnreadable } from './readInput.js';

/**
 * The text of a file that an option names. No fault repeats the name, since people put there what the file should hold.
 *
 * @param holds what it should hold, for the sentence that says so.
 * @throws UsageError if it can't be read.
 */
export async function readNamedFile(
  file: string,
  { option, holds }: { readonly option: string; readonly holds: string },
  environment: Environment,
): Promise<string> {
  try {
    return await readInput(file, environment);
  } catch (error) {
    environment.signal.throwIfAborted();
    throw new UsageError(
      `The file that ${option} names can't be read: ${whyUnreadable(error)}. Give the path of a file that holds ${holds}.`,
    );
  }
}
