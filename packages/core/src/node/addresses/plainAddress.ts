import { isIP } from 'node:net';

export interface PlainAddress {
  /** Without a zone index (`fe80::1%eth0`); an IPv4-mapped address in its IPv4 form. */
  readonly text: string;
  /** Whether it was IPv4-mapped (`::ffff:10.0.0.1`): a connection goes to the IPv4 address. */
  readonly isMapped: boolean;
}

/** The canonical form of an address; `undefined` if it is not one. */
export function normalizeAddress(address: string): PlainAddress | undefined {
  const text = address.replace(/%.*$/s, '');
  switch (isIP(text)) {
    case 4:
      return { text, isMapped: false };
    case 6: {
      const inside = findMapped(text);
      return { text: inside ?? text, isMapped: inside !== undefined };
    }
    default:
      return undefined;
  }
}

function findMapped(address: string): string | undefined {
  // A URL has a single form for an IPv6 address: short, and without dots.
  const [, high, low] = /^\[::ffff:([\da-f]+):([\da-f]+)\]$/.exec(new URL(`http://[${address}]`).hostname) ?? [];
  if (high === undefined || low === undefined) return undefined;
  return [high, low].flatMap((group) => [parseInt(group, 16) >> 8, parseInt(group, 16) & 0xff]).join('.');
}
