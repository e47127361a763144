import { type Advice, ConfigError } from '../errors.js';
import { shownText } from '../values.js';

/** Whether a URL's host name means this machine. Names like `x.localhost` do not: DNS may resolve them elsewhere. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}

/**
 * Checks an API's base URL before anything is sent to it. Messages do not quote an invalid one: it may be a key.
 *
 * @param options.plugin the plugin to name in messages
 * @param options.what what the URL is, for messages; `option` is how it is given
 * @returns the URL without a trailing slash.
 * @throws ConfigError unless it is an absolute `https:` URL (or `http:` on loopback or with `allowInsecure`)
 * without credentials, query or fragment.
 */
export function checkBaseUrl(
  baseUrl: string,
  {
    plugin,
    allowInsecure,
    what = 'base URL',
    option = 'baseUrl',
  }: { readonly plugin: string; readonly allowInsecure: boolean; readonly what?: string; readonly option?: string },
): string {
  const refusal = (fault: string, advice: readonly Advice[] = []): ConfigError =>
    new ConfigError((name = `${what} of ${plugin}`) => `The ${name} ${fault}`, { option, plugin }, advice);
  let url: URL;
  try {
    url = new URL(baseUrl);
  } catch {
    throw refusal('is not a URL. Give one like https://api.example.com.');
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw refusal('must begin with https://. Give one like https://api.example.com.');
  if (url.username !== '' || url.password !== '')
    throw refusal('must not contain a user name or password. The key travels in its own header.');
  if (url.search !== '' || url.hash !== '')
    throw refusal(`must not have a query or fragment: ${url.origin}${url.pathname}.`);
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !allowInsecure)
    throw refusal(`is not encrypted (${url.origin}), so anyone on the way could read the API key.`, [
      { kind: 'allow', option: 'allowInsecure' },
    ]);
  return url.origin + url.pathname.replace(/\/+$/, '');
}

/**
 * The URL of a request without its query, which is always below the base URL.
 *
 * @throws ConfigError unless `path` begins with one slash and is percent-encoded: an absolute URL, `..` in any
 * spelling, a backslash or a query could send the key elsewhere.
 */
export function addressOf(baseUrl: string, path: string): URL {
  const base = new URL(baseUrl);
  const url = new URL(base);
  const pathname = base.pathname.replace(/\/+$/, '') + path;
  url.pathname = pathname;
  // A link may have changed the base URL.
  if (!/^\/(?!\/)/.test(path) || hasDotSegment(pathname) || url.pathname !== pathname || url.origin !== base.origin)
    throw new ConfigError(
      `A request path must begin with one slash, stay below the base URL and be percent-encoded: ${shownText(path)}.`,
    );
  return url;
}

/**
 * Whether a server could find a `.` or `..` segment: one that decodes `path` first, maybe twice, reads overlong UTF-8, `%uXXXX`
 * or similar characters as ASCII, or drops blanks, or what follows a `;`, `#`, `?` or a control character.
 */
export function hasDotSegment(path: string): boolean {
  return readLeniently(path)
    .split(/[/\\]/)
    .some((segment) => /^[\0-\x20]*\.\.?(?:$|[\0-\x20\x7f;#?])/.test(segment));
}

/** A path decoded as carelessly as a server may do it. */
function readLeniently(path: string): string {
  return path
    .replace(/%(?:25)+/g, '%')
    .replace(/%u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)))
    .replace(
      /%(?:c([01])|(?:e0|f0%80|f8%80%80|fc%80%80%80)%8([01]))%([0-9a-f]{2})/gi,
      (_, two: string | undefined, more: string | undefined, low: string) =>
        String.fromCharCode(64 * Number(two ?? more) + (parseInt(low, 16) % 64)),
    )
    .replace(/(?:%[0-9a-f]{2})+/gi, decodeValid)
    .normalize('NFKC');
}

/** Decodes what is UTF-8, or else at least what is ASCII. */
function decodeValid(escaped: string): string {
  try {
    return decodeURIComponent(escaped);
  } catch {
    return escaped.replace(/%[0-7][0-9a-f]/gi, decodeURIComponent);
  }
}
