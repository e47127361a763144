import { isIPv6 } from 'node:net';
import { AddressRanges } from './addressRanges.js';
import type { PlainAddress } from './plainAddress.js';

/** A kind of address that is not public. */
export interface SpecialAddress {
  /** With its article, for messages. */
  readonly kind: string;
  /** Whether only a CIDR that contains the address allows it, since it may give away the machine's credentials. */
  readonly needsCidr: boolean;
}

/**
 * Why an address is not public; `undefined` if it is. Refuses what the IANA registries of special-purpose addresses do
 * not call globally reachable, and IPv6 addresses outside of global unicast.
 *
 * @see https://www.iana.org/assignments/iana-ipv4-special-registry
 * @see https://www.iana.org/assignments/iana-ipv6-special-registry
 */
export function findSpecial({ text, isMapped }: PlainAddress): SpecialAddress | undefined {
  const known = table.find(({ ranges }) => ranges.has(text));
  if (known) return known;
  if (isMapped) return mapped;
  return isIPv6(text) && !globalUnicast.has(text) ? reserved : undefined;
}

const tunnel = { kind: 'an IPv6 address with an IPv4 address inside', needsCidr: true };

export const loopback = new AddressRanges(['127.0.0.0/8', '::1']);

const globalUnicast = new AddressRanges(['2000::/3']);

const reserved = { kind: 'a reserved address', needsCidr: false };

/** No honest name server returns one. */
const mapped = { kind: 'an IPv4-mapped address', needsCidr: false };

/** The first match counts. */
const table: readonly (SpecialAddress & { readonly ranges: AddressRanges })[] = [
  {
    kind: 'a metadata address',
    needsCidr: true,
    ranges: new AddressRanges([
      '169.254.169.254', // AWS, Azure, Google, Oracle, OpenStack and most others
      '169.254.170.2', // AWS: containers
      '169.254.170.23', // AWS: pods
      '169.254.0.23', // Tencent
      '169.254.42.42', // Scaleway
      '168.63.129.16', // Azure, from public space
      '100.100.100.200', // Alibaba
      '192.0.0.192', // Oracle
      'fd00:ec2::/32', // AWS
      'fd20:ce::254', // Google
      'fd00:c1::a9fe:a9fe', // Oracle
      'fd00:42::42', // Scaleway
      'fd00:a9fe:a9fe::1', // Akamai
      'fd00:100::100:200', // Alibaba
      'fe80::a9fe:a9fe', // OpenStack
    ]),
  },
  {
    // Metadata services that are not listed above use these, too.
    kind: 'a link-local address',
    needsCidr: true,
    ranges: new AddressRanges(['169.254.0.0/16', 'fe80::/10']),
  },
  { kind: 'a loopback address', needsCidr: false, ranges: loopback },
  {
    // Linux connects to this machine.
    kind: 'an unspecified address',
    needsCidr: false,
    ranges: new AddressRanges(['0.0.0.0/8', '::']),
  },
  {
    // The embedded address may be a metadata address; where it is routed is up to the network.
    ...tunnel,
    ranges: new AddressRanges([
      '::/96', // IPv4-compatible
      '::ffff:0:0:0/96', // IPv4-translated
      '64:ff9b::/96', // NAT64
      '64:ff9b:1::/48', // NAT64, of a network's own
      '2001::/32', // Teredo
      '2002::/16', // 6to4
    ]),
  },
  {
    kind: 'a private address',
    needsCidr: false,
    ranges: new AddressRanges(['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', 'fec0::/10']),
  },
  {
    // Between a provider and its customers; clouds use it like private ranges.
    kind: 'a shared address',
    needsCidr: false,
    ranges: new AddressRanges(['100.64.0.0/10']),
  },
  {
    kind: 'a multicast address',
    needsCidr: false,
    ranges: new AddressRanges(['224.0.0.0/4', 'ff00::/8']),
  },
  {
    ...reserved,
    ranges: new AddressRanges([
      '192.0.0.0/24', // protocol assignments
      '192.0.2.0/24', // documentation
      '192.88.99.0/24', // 6to4 relays, until 2015
      '198.18.0.0/15', // benchmarks
      '198.51.100.0/24', // documentation
      '203.0.113.0/24', // documentation
      '240.0.0.0/4', // future use, and the broadcast to all
      '2001::/23', // protocol assignments
      '2001:db8::/32', // documentation
      '3fff::/20', // documentation
    ]),
  },
];
