import { isIP } from 'node:net';

export interface PlainAddress {
  /** Without a zone index (`fe80::1%eth0`), and an IPv4 address that was written as an IPv6 one as what it is. */
  readonly text: string;
  /** Whether it was an IPv4 address written as an IPv6 one: `::ffff:10.0.0.1`. A connection to it is one to 10.0.0.1. */
  readonly isMapped: boolean;
}

/** What an address is, however it is written; `undefined` if it is none. */
export function plainAddress(address: string): PlainAddress | undefined {
  const text = address.replace(/%.*$/s, '');
  switch (isIP(text)) {
    case 4:
      return { text, isMapped: false };
    case 6: {
      const inside = mappedIn(text);
      return { text: inside ?? text, isMapped: inside !== undefined };
    }
    default:
      return undefined;
  }
}

function mappedIn(address: string): string | undefined {
  // A URL writes an IPv6 address in one way only: short, and without dots.
  const [, high, low] = /^\[::ffff:([\da-f]+):([\da-f]+)\]$/.exec(new URL(`http://[${address}]`).hostname) ?? [];
  if (high === undefined || low === undefined) return undefined;
  return [high, low].flatMap((group) => [parseInt(group, 16) >> 8, parseInt(group, 16) & 0xff]).join('.');
}
