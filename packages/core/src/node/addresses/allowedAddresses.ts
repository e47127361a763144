import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { ConfigError } from '../../errors.js';
import { AddressRanges } from './addressRanges.js';
import { normalizeAddress } from './plainAddress.js';

export interface AllowedAddresses {
  readonly cidrs: AddressRanges;
  readonly addresses: AddressRanges;
  readonly hostnames: ReadonlySet<string>;
  /** Whether an entry allows addresses independent of the name that resolves to them. */
  readonly hasAddresses: boolean;
}

/** Parses host names, addresses and CIDRs. @throws ConfigError naming the first invalid entry. */
export function parseAllowed(entries: readonly string[]): AllowedAddresses {
  const cidrs: string[] = [];
  const addresses: string[] = [];
  const hostnames = new Set<string>();
  for (const entry of entries) {
    const address = normalizeAddress(entry.replace(/^\[([^[\]]*:[^[\]]*)\]$/, '$1'));
    if (entry.includes('/')) cidrs.push(checkCidr(entry));
    else if (address && !entry.includes('%')) addresses.push(address.text);
    else hostnames.add(checkHostname(entry));
  }
  return {
    cidrs: new AddressRanges(cidrs),
    addresses: new AddressRanges(addresses),
    hostnames,
    hasAddresses: cidrs.length + addresses.length > 0,
  };
}

/** A host name for comparison: in lower case, without the trailing dot of an absolute name. */
export function normalizeHostname(hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, '');
}

function checkCidr(entry: string): string {
  const [, address = '', bits] = /^([\da-f:.]+)\/(0|[1-9]\d{0,2})$/i.exec(entry) ?? [];
  const max = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  if (normalizeAddress(address)?.isMapped)
    throw invalidError(
      entry,
      'an IPv4 address written as an IPv6 one. Give the IPv4 range itself, such as 10.0.0.0/8.',
    );
  if (Number(bits) <= max) return entry;
  throw invalidError(entry, 'not a CIDR. Give an address and how many of its bits count, such as 10.0.0.0/8.');
}

function checkHostname(entry: string): string {
  const hostname = normalizeHostname(domainToASCII(entry));
  // A name that ends in a number would be read as an address: `127.1`, `0x7f000001`.
  const isName =
    hostname.length <= 253 &&
    /^([a-z\d_]([a-z\d_-]{0,61}[a-z\d_])?\.)*[a-z\d_]([a-z\d_-]{0,61}[a-z\d_])?$/.test(hostname);
  if (isName && isIP(hostname) === 0) return hostname;
  const examples = 'hooks.example.com, 10.0.0.8 or 10.0.0.0/8';
  throw invalidError(entry, `not a host name, address or CIDR. Give one like ${examples}, without a port.`);
}

function invalidError(entry: string, what: string): ConfigError {
  return new ConfigError((option = 'allowAddresses') => `${JSON.stringify(entry)} in ${option} is ${what}`, {
    option: 'allowAddresses',
  });
}
