import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { ConfigError } from '../errors.js';
import { AddressRanges } from './addressRanges.js';
import { plainAddress } from './plainAddress.js';

export interface AllowedAddresses {
  readonly cidrs: AddressRanges;
  readonly addresses: AddressRanges;
  readonly hostnames: ReadonlySet<string>;
  /** Whether an address may be open whatever the name that leads to it. */
  readonly hasAddresses: boolean;
}

/**
 * Reads entries: host names, addresses and CIDRs.
 *
 * @throws ConfigError naming the first entry that is none of these.
 */
export function allowedAddresses(entries: readonly string[]): AllowedAddresses {
  const cidrs: string[] = [];
  const addresses: string[] = [];
  const hostnames = new Set<string>();
  for (const entry of entries) {
    const address = plainAddress(entry.replace(/^\[([^[\]]*:[^[\]]*)\]$/, '$1'));
    if (entry.includes('/')) cidrs.push(checkedCidr(entry));
    else if (address && !entry.includes('%')) addresses.push(address.text);
    else hostnames.add(checkedHostname(entry));
  }
  return {
    cidrs: new AddressRanges(cidrs),
    addresses: new AddressRanges(addresses),
    hostnames,
    hasAddresses: cidrs.length + addresses.length > 0,
  };
}

/** A host name as it is compared: the dot at its end, which says that it is whole, makes no other host of it. */
export function plainHostname(hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, '');
}

function checkedCidr(entry: string): string {
  const [, address = '', bits] = /^([\da-f:.]+)\/(0|[1-9]\d{0,2})$/i.exec(entry) ?? [];
  const max = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  if (plainAddress(address)?.isMapped)
    throw new ConfigError(
      `${JSON.stringify(entry)} in allowAddresses is an IPv4 address written as an IPv6 one. Give the IPv4 range itself, such as 10.0.0.0/8.`,
      { option: 'allowAddresses' },
    );
  if (Number(bits) <= max) return entry;
  throw new ConfigError(
    `${JSON.stringify(entry)} in allowAddresses is not a CIDR. Give an address and how many of its bits count, such as 10.0.0.0/8.`,
    { option: 'allowAddresses' },
  );
}

function checkedHostname(entry: string): string {
  const hostname = plainHostname(domainToASCII(entry));
  // What ends in a number would be read as an address: `127.1`, `0x7f000001`.
  const isName =
    hostname.length <= 253 &&
    /^([a-z\d_]([a-z\d_-]{0,61}[a-z\d_])?\.)*[a-z\d_]([a-z\d_-]{0,61}[a-z\d_])?$/.test(hostname);
  if (isName && isIP(hostname) === 0) return hostname;
  throw new ConfigError(
    `${JSON.stringify(entry)} in allowAddresses is not a host name, address or CIDR. Give one like hooks.example.com, 10.0.0.8 or 10.0.0.0/8, without a port.`,
    { option: 'allowAddresses' },
  );
}
