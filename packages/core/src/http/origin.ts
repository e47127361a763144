import { ConfigError } from '../errors.js';

/** Whether a URL's host name means this machine, whatever a name server says. */
export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127(\.\d{1,3}){3}$/.test(hostname)
  );
}

/**
 * Checks an API's base address before anything is sent to it.
 *
 * @returns the address without a trailing slash.
 * @throws ConfigError unless it is an absolute `https:` address (or `http:` on loopback or with `allowInsecure`) without
 * credentials, query or fragment.
 */
export function checkBaseUrl(baseUrl: string, allowInsecure: boolean): string {
  let url: URL;
  try {
    url = new URL(baseUrl);
  } catch {
    throw new ConfigError(`The base address is not a URL: ${quoted(baseUrl)}. Give one like https://api.example.com.`);
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new ConfigError(`The base address must begin with https://, not ${url.protocol}//.`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new ConfigError(`The base address must not hold a user name or password. The key travels in its own header.`);
  }
  if (url.search !== '' || url.hash !== '') {
    throw new ConfigError(`The base address must not have a query or fragment: ${url.origin}${url.pathname}.`);
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !allowInsecure) {
    throw new ConfigError(
      `${url.origin} is not encrypted, so anyone on the way could read the API key. Use https, or set allowInsecure: true.`,
    );
  }
  return url.origin + url.pathname.replace(/\/+$/, '');
}

/**
 * The address of a request, which never leaves the base address's origin.
 *
 * @throws ConfigError if `path` is absolute or relative to the scheme: it would take the key elsewhere.
 */
export function addressOf(baseUrl: string, path: string, query: string): URL {
  const url = new URL(`${baseUrl}${path}${query === '' ? '' : `?${query}`}`);
  if (!path.startsWith('/') || path.startsWith('//') || url.origin !== new URL(baseUrl).origin) {
    throw new ConfigError(`A request path must begin with one slash and stay below the base address: ${quoted(path)}.`);
  }
  return url;
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
