import { ownerAddress } from '@sluice/aptos';
import { UsageError } from '../faults/usageError.js';

/**
 * The addresses in a text: one a line; blank lines and what follows a `#` are skipped.
 *
 * @param name what the text is called in a fault.
 * @throws UsageError for a malformed address, with its line number.
 */
export function readOwners(text: string, name: string): string[] {
  return text
    .replace(/^\ufeff/, '')
    .split(/\r\n|\n|\r/)
    .flatMap((line, index) => {
      const address = line.replace(/#.*/, '').trim();
      return address === '' ? [] : [checkedOwner(address, `${name}:${String(index + 1)}`)];
    });
}

/** An address as it was given. @throws UsageError if it is none; `place` says where it stands. */
export function checkedOwner(address: string, place: string): string {
  try {
    ownerAddress(address);
  } catch {
    throw new UsageError(
      `${place}: ${JSON.stringify(address.slice(0, 80))} is no account address. It must be 0x and 1 to 64 hex digits.`,
    );
  }
  return address;
}
