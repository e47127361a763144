import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Environment } from '../environment.js';
import { UsageError } from '../faults/usageError.js';
import { shellQuoted } from '../terminal/shellQuoted.js';
import { isReadableByOthers } from './readableByOthers.js';
import { readInput, standardInput, TooMuchInput, whyUnreadable } from './readInput.js';

/** In bytes. Keys, secrets and headers are far shorter, so a larger file is another one, or a device without an end. */
const largest = 65_536;

/** Which option names the file, and what it should hold, for sentences that say so. */
interface NamedFile {
  readonly option: string;
  readonly holds: string;
}

/**
 * The text of a file that an option names and that holds a secret. Where other users can read it, there is a warning: it is not
 * refused, since a container's secrets are often mounted so, and can't be changed there.
 *
 * No fault repeats the name, since people put there what the file should hold.
 *
 * @throws UsageError if it can't be read, or is too large.
 */
export async function readNamedFile(
  file: string,
  { option, holds }: NamedFile,
  environment: Environment,
): Promise<string> {
  try {
    if (file !== standardInput) await checkFile(file, option, environment);
    return await readInput(file, environment, largest);
  } catch (error) {
    environment.signal.throwIfAborted();
    if (error instanceof TooMuchInput)
      throw new UsageError(
        `The file that ${option} names has more than 64 KiB, too many for ${holds}. Give the path of a file that holds nothing else.`,
      );
    throw new UsageError(
      `The file that ${option} names can't be read: ${whyUnreadable(error)}. Give the path of a file that holds ${holds}.`,
    );
  }
}

/** Only of a regular file: others cannot read what a pipe gives, as in `--secret-file <(pass show hooks)`. */
async function checkFile(file: string, option: string, { folder, warnings }: Environment): Promise<void> {
  const path = resolve(folder, file);
  if (!(await stat(path)).isFile()) return;
  if (await isReadableByOthers(path))
    warnings.add(
      `Other users of this computer can read the file that ${option} names. Make it yours alone: chmod 600 ${shellQuoted(file)}`,
    );
}
