import { ConfigError } from '@sluice/core';

/**
 * Pads an account address to its long form (AIP-40): `0x` and 64 lower-case hex digits.
 *
 * @throws ConfigError unless it is `0x` and 1 to 64 hex digits.
 * @example ownerAddress('0x1') // '0x0000…0001'
 */
export function ownerAddress(text: string): string {
  return padAddress(text);
}

/** The same. @param details of the error, besides the address */
export function padAddress(text: string, details: Readonly<Record<string, string | number>> = {}): string {
  const digits = /^0x([0-9a-f]{1,64})$/i.exec(text)?.[1];
  if (digits === undefined)
    throw new ConfigError(
      `${JSON.stringify(text.slice(0, 80))} is not an account address: it must be 0x and 1 to 64 hex digits.`,
      { address: text.slice(0, 80), ...details },
    );
  const address = `0x${digits.toLowerCase().padStart(64, '0')}`;
  // Not a second text of each of a million.
  return address === text ? text : address;
}
