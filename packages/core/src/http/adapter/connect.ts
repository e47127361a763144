import { once } from 'node:events';
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { abortable } from '../../abortable.js';
import { SluiceError } from '../../errors.js';
import { platformCode } from '../../values.js';
import { AdapterFault, type AddressGuard, type GuardedHost, type ResolvedAddress } from './adapter.js';
import { openTunnel } from './proxy.js';

interface ConnectOptions {
  readonly proxy: URL | undefined;
  readonly guard: AddressGuard | undefined;
  /** Stops connecting, and is what it fails with. */
  readonly signal: AbortSignal;
}

/** Ms after which an idle connection is checked by TCP. */
const keepAliveDelay = 60_000;

/**
 * Opens a connection to the host of a URL: TCP, the tunnel of a proxy, TLS.
 *
 * @throws AdapterFault; ForbiddenAddressError; the signal's reason.
 */
export async function connect(url: URL, { proxy, guard, signal }: ConnectOptions): Promise<Socket> {
  let socket: Socket | undefined;
  try {
    const lookup = guard && (await makeLookup(guard, url, signal));
    socket = connectTcp({
      ...hostAndPort(proxy ?? url),
      lookup,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: keepAliveDelay,
    });
    // An idle connection must not keep the process alive. Whoever waits for a response has a deadline, which does.
    socket.unref();
    await waitUntilOpen(socket, 'connect', signal);
    if (proxy) {
      if (proxy.protocol === 'https:') socket = await encrypt(socket, proxy, signal);
      await openTunnel(socket, { to: url, proxy, signal });
    }
    if (url.protocol === 'https:') socket = await encrypt(socket, url, signal);
    return socket;
  } catch (error) {
    socket?.destroy();
    if (signal.aborted) throw signal.reason;
    if (error instanceof AdapterFault || SluiceError.is(error)) throw error;
    throw new AdapterFault('network', platformCode(error));
  }
}

/** Host and port of a URL, as a socket wants them. */
function hostAndPort({ hostname, port, protocol }: URL): { readonly host: string; readonly port: number } {
  // Without the brackets of an IPv6 address.
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (protocol === 'https:' ? 443 : 80) };
}

/** Waits until a socket is open. */
async function waitUntilOpen(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<void> {
  // Without any listener, an error would end the process. Those that matter have more of them.
  socket.on('error', () => undefined);
  await once(socket, event, { signal });
}

/** Encrypts an open connection. The certificate must be that of the URL's host. */
async function encrypt(socket: Socket, url: URL, signal: AbortSignal): Promise<Socket> {
  const { host } = hostAndPort(url);
  const outer = connectTls({ socket, host, servername: isIP(host) === 0 ? host : '', ALPNProtocols: ['http/1.1'] });
  try {
    await waitUntilOpen(outer, 'secureConnect', signal);
    return outer;
  } catch (error) {
    outer.destroy();
    throw error;
  }
}

/**
 * Resolves the URL's host and checks every address. One forbidden address refuses all, because we cannot know which one
 * a socket would use.
 *
 * @returns a lookup that gives the socket the checked addresses, instead of resolving again; none for an IP address.
 * @throws ForbiddenAddressError; AdapterFault if the name cannot be resolved.
 */
async function makeLookup(guard: AddressGuard, url: URL, signal: AbortSignal): Promise<LookupFunction | undefined> {
  const { host: hostname } = hostAndPort(url);
  const host: GuardedHost = { hostname, isEncrypted: url.protocol === 'https:' };
  if (isIP(hostname) !== 0) {
    guard.check(hostname, host);
    return undefined;
  }
  // A lookup cannot be cancelled, so its result is ignored after an abort.
  const found = await abortable(guard.resolve(hostname), signal);
  // Copies, so that the guard cannot change an address after its check. The address determines the family.
  const [first, ...others] = found.map(({ address }): ResolvedAddress => ({
    address,
    family: address.includes(':') ? 6 : 4,
  }));
  if (!first) throw new AdapterFault('network', 'ENODATA');
  for (const { address } of [first, ...others]) guard.check(address, host);
  return (_hostname, { all }, callback) => {
    // With all of them, the socket can fall back to the other address family.
    if (all === true) callback(null, [first, ...others]);
    else callback(null, first.address, first.family);
  };
}
