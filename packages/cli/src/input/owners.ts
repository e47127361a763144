import { ownerAddress } from '@sluice/aptos';
import type { Environment } from '../environment/environment.js';
import { UsageError } from '../errors/errors.js';
import { listLines, readInput, standardInput } from './readInput.js';

/** That of the library. */
export const defaultOwnersPerRequest = 10;

/** Options that name wallets. */
export interface OwnerOptions {
  readonly owner?: readonly string[];
  /** A path, or `-` for stdin. */
  readonly ownersFile?: string;
}

/** The wallets of `--owner`, then of `--owners-file`. @throws UsageError for an invalid one, or if there are none. */
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
  const text = await readInput(ownersFile, `The owners' file ${ownersFile}`, environment);
  const owners = [...given, ...readOwners(text, name)];
  if (owners.length === 0) throw new UsageError(`${name} holds no address. Write one a line, like 0x1.`);
  return owners;
}

/** How many wallets there are, and where they are from. @example '12 of wallets.txt' */
export function describeOwners({ length }: readonly string[], { owner, ownersFile }: OwnerOptions): string {
  const places = [owner && '--owner', ownersFile === standardInput ? 'stdin' : ownersFile];
  return `${String(length)} of ${places.filter((place) => place !== undefined).join(' and ')}`;
}

/** The addresses in a text: one per line, `#` starts a comment. @param name the text's name in errors. */
export function readOwners(text: string, name: string): string[] {
  return listLines(text).map(({ line, text: address }) => checkedOwner(address, `${name}:${String(line)}`));
}

/** @throws UsageError if the address is invalid; `place` says where it is. */
function checkedOwner(address: string, place: string): string {
  try {
    ownerAddress(address);
  } catch {
    throw new UsageError(
      `${place}: ${JSON.stringify(address.slice(0, 80))} is not an account address. It must be 0x and 1 to 64 hex digits.`,
    );
  }
  return address;
}
