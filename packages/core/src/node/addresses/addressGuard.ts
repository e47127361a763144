import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { checkOptions } from '../../checks.js';
import { ConfigError, ForbiddenAddressError } from '../../errors.js';
import type { AddressGuard, GuardedHost, ResolvedAddress } from '../../http/adapter/adapter.js';
import { parseAllowed, normalizeHostname, type AllowedAddresses } from './allowedAddresses.js';
import { normalizeAddress } from './plainAddress.js';
import { loopback, findSpecial, type SpecialAddress } from './specialAddresses.js';

/** Options of {@link addressGuard}. */
export interface AddressGuardOptions {
  /**
   * Exceptions, which also need no https: host names, addresses and CIDRs. Default: none.
   *
   * - A host name (`hooks.internal`, `localhost`) allows what it resolves to, in URLs with that name, except metadata
   *   and link-local addresses and IPv6 addresses that contain an IPv4 address. `localhost` also allows URLs with a
   *   loopback address.
   * - An address (`10.0.0.8`) allows itself, with the same exceptions, whatever name resolves to it.
   * - A CIDR (`10.0.0.0/8`) allows every address in it, without exceptions.
   */
  readonly allow?: readonly string[] | undefined;
  /** Resolves a name to all its addresses. Default: as the operating system does, including its hosts file. */
  readonly resolve?: ((hostname: string) => Promise<readonly ResolvedAddress[]>) | undefined;
}

/** A guard that also checks URLs. */
export interface UrlGuard extends AddressGuard {
  /**
   * Checks what is known before a name is resolved.
   *
   * @throws ConfigError if the URL is neither https nor allowed, or contains a user name or a password.
   * @throws ForbiddenAddressError if its host is an address that is not allowed.
   */
  checkUrl(url: URL): void;
}

/**
 * Keeps requests to addresses that others choose away from this machine and its network: it allows only public
 * addresses over https, and what `allow` names. However an address is written or found, the guard checks its canonical
 * form.
 *
 * @throws ConfigError if an entry of `allow` is not a host name, address or CIDR.
 * @example
 * const guard = addressGuard({ allow: ['hooks.internal', '10.20.0.0/16'] })
 * guard.checkUrl(new URL('https://169.254.169.254/')) // throws a ForbiddenAddressError
 */
export function addressGuard(options: AddressGuardOptions = {}): UrlGuard {
  checkOptions('addressGuard()', options, { allow: true, resolve: true });
  const { allow = [], resolve = resolveBySystem } = options;
  const allowed = parseAllowed(allow);
  return {
    resolve,
    check(address, host) {
      const objection = findObjection(address, host, allowed);
      if (objection) throw forbiddenError(address, host, objection);
    },
    checkUrl(url) {
      if (url.username !== '' || url.password !== '')
        throw new ConfigError(
          `The URL of ${url.host} must not contain a user name or a password. Send credentials in a header.`,
        );
      const isEncrypted = url.protocol === 'https:';
      if (!isEncrypted && url.protocol !== 'http:')
        throw new ConfigError('The URL must begin with https://. Give one like https://hooks.example.com/changes.');
      const address = stripBrackets(url.hostname);
      const isName = isIP(address) === 0;
      const host = { hostname: url.hostname, isEncrypted };
      const objection = isName ? undefined : findObjection(address, host, allowed);
      // If an address may be allowed, `check` decides when the name is resolved.
      const isNeverOpen = isName && !isEncrypted && !allowed.hasAddresses && !isAllowedHost(url.hostname, allowed);
      if (isNeverOpen || objection === 'unencrypted')
        throw new ConfigError(
          `The URL of ${url.host} is not encrypted, so anyone on the way could read and change what is sent. Use https; without it, only an entry that names the host allows this.`,
          {},
          [{ kind: 'allow', option: 'allowAddresses' }],
        );
      if (objection) throw forbiddenError(address, host, objection);
    },
  };
}

/** Why a connection is refused: the kind of address, or a public address without https. */
type Objection = SpecialAddress | 'unencrypted';

function findObjection(
  address: string,
  { hostname, isEncrypted }: GuardedHost,
  allowed: AllowedAddresses,
): Objection | undefined {
  const plain = normalizeAddress(address);
  // A socket would resolve it like a name.
  if (!plain) return { kind: 'something that is not an address', needsCidr: false };
  if (allowed.cidrs.has(plain.text)) return undefined;
  const special = findSpecial(plain);
  if (!special?.needsCidr && (allowed.addresses.has(plain.text) || isAllowedHost(hostname, allowed))) return undefined;
  return special ?? (isEncrypted ? undefined : 'unencrypted');
}

function isAllowedHost(hostname: string, { hostnames }: AllowedAddresses): boolean {
  if (hostnames.has(normalizeHostname(hostname))) return true;
  const plain = normalizeAddress(stripBrackets(hostname));
  return plain !== undefined && hostnames.has('localhost') && loopback.has(plain.text);
}

function forbiddenError(address: string, { hostname }: GuardedHost, objection: Objection): ForbiddenAddressError {
  const host = stripBrackets(hostname);
  const kind = objection === 'unencrypted' ? 'a public address' : objection.kind;
  const what = host === address ? `${host} is ${kind}` : `${host} resolves to ${kind} (${address})`;
  const text = normalizeAddress(address)?.text;
  return new ForbiddenAddressError(
    `${what}, so nothing is sent there. ${text === undefined ? 'Check its DNS records.' : adviseEntries(text, host, objection)}`,
    { host, address, kind },
    text === undefined ? [] : [{ kind: 'allow', option: 'allowAddresses' }],
  );
}

/** The entries of `allowAddresses` that allow an address. */
function adviseEntries(text: string, host: string, objection: Objection): string {
  if (objection === 'unencrypted') return `Use https; without it, only the entry ${host} allows this.`;
  if (!objection.needsCidr) return `The entry ${host === text ? text : `${host} or ${text}`} allows it.`;
  const cidr = `${text}/${isIP(text) === 4 ? '32' : '128'}`;
  return `Only a CIDR that contains it allows it, such as ${cidr}: a host name or the address alone does not.`;
}

/** Removes the brackets of an IPv6 address in a URL. */
function stripBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

async function resolveBySystem(hostname: string): Promise<readonly ResolvedAddress[]> {
  const found = await lookup(hostname, { all: true, order: 'verbatim' });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
}
