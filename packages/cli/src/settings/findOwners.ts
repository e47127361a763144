import type { Environment } from '../environment.js';
import { UsageError } from '../faults/usageError.js';
import { checkedOwner, readOwners } from '../options/readOwners.js';
import { readInput, standardInput, whyUnreadable } from './readInput.js';

/** Options that name wallets. */
export interface OwnerOptions {
  readonly owner?: readonly string[];
  /** A path, or `-` for stdin. */
  readonly ownersFile?: string;
}

/** The wallets of a command line: those given, then those in the file. @throws UsageError for a malformed one, or if there is none. */
export async function findOwners(
  { owner = [], ownersFile }: OwnerOptions,
  environment: Environment,
): Promise<string[]> {
  const given = owner.map((address) => checkedOwner(address, '--owner'));
  if (ownersFile === undefined) {
    if (given.length === 0) throw new UsageError('Whose NFTs? Give --owner ADDRESS, or --owners-file FILE.');
    return given;
  }
  const name = ownersFile === standardInput ? 'stdin' : ownersFile;
  const owners = [...given, ...readOwners(await readOwnersFile(ownersFile, environment), name)];
  if (owners.length === 0) throw new UsageError(`${name} holds no address. Write one a line, like 0x1.`);
  return owners;
}

async function readOwnersFile(file: string, environment: Environment): Promise<string> {
  try {
    return await readInput(file, environment);
  } catch (error) {
    environment.signal.throwIfAborted();
    throw new UsageError(`The owners' file ${file} can't be read: ${whyUnreadable(error)}.`);
  }
}
