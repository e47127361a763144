import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { ConfigError } from '../../errors.js';
import { isLoopback } from '../origin.js';
import { platformCode } from '../../values.js';
import { AdapterFault } from './adapter.js';

/**
 * The proxy that the environment names for a URL, in `HTTPS_PROXY` or `HTTP_PROXY`. There is none for loopback addresses
 * and for the hosts of `NO_PROXY`.
 *
 * @throws ConfigError if a variable is not a proxy URL. Its value is not shown: it may contain a password.
 */
export function proxyFor(url: URL): URL | undefined {
  if (isLoopback(url.hostname)) return undefined;
  const value = variable(url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY');
  if (value === '' || isExcepted(url)) return undefined;
  try {
    const proxy = new URL(value);
    proxyAuthorization(proxy);
    if (/^https?:$/.test(proxy.protocol)) return proxy;
  } catch {
    // Its own error would show it.
  }
  throw new ConfigError(
    'HTTPS_PROXY or HTTP_PROXY is not the URL of a proxy. Give one like http://proxy.example.com:8080.',
  );
}

/** Whether `NO_PROXY` has a host or its domain: `example.com`, `.example.com`, `*.example.com`, `example.com:8080`, `::1`, `*`. */
function isExcepted(url: URL): boolean {
  const port = portOf(url);
  return variable('NO_PROXY')
    .toLowerCase()
    .split(/[,\s]+/)
    .some((entry) => {
      // Without brackets, the end of an IPv6 address is no port.
      const [, named = entry, onlyPort = port] = /^([^:]+|\[.+\]):(\d+)$/.exec(entry) ?? [];
      const domain = isIP(named) === 6 ? `[${named}]` : named.replace(/^\*?\./, '');
      if (domain === '' || onlyPort !== port) return false;
      return domain === '*' || `.${url.hostname}`.endsWith(`.${domain}`);
    });
}

function variable(name: string): string {
  return process.env[name.toLowerCase()] || process.env[name] || '';
}

function portOf({ port, protocol }: URL): string {
  return port || (protocol === 'https:' ? '443' : '80');
}

interface Tunnel {
  readonly to: URL;
  readonly proxy: URL;
  readonly signal: AbortSignal;
}

/**
 * Asks a proxy to pass on to another host whatever an open connection carries from now on.
 *
 * @throws AdapterFault that says what the proxy did; the signal's reason.
 */
export async function openTunnel(socket: Socket, { to, proxy, signal }: Tunnel): Promise<void> {
  const end = `${to.hostname}:${portOf(to)}`;
  const request = httpRequest({
    method: 'CONNECT',
    path: end,
    headers: { host: end, ...proxyAuthorization(proxy) },
    createConnection: () => socket,
  });
  // One that comes after the first must not end the process.
  request.on('error', () => undefined).end();
  let status: number | undefined;
  request.once('connect', (response) => (status = response.statusCode));
  try {
    await once(request, 'connect', { signal });
  } catch (error) {
    const code = platformCode(error);
    throw new AdapterFault('network', code === 'ECONNRESET' ? 'the proxy closed the connection' : code);
  }
  if (status !== 200) throw new AdapterFault('network', `the proxy responded with ${String(status)}`);
}

function proxyAuthorization({ username, password }: URL): { readonly 'proxy-authorization'?: string } {
  if (username === '') return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` };
}
