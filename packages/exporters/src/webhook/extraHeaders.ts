import { ConfigError } from '@sluice/core';

/** Those that say what is sent, and that it is from us. */
const taken = /^(webhook-|host$|content-|transfer-|connection$|upgrade$|expect$|keep-alive$|trailer$|te$)/i;

/** @throws ConfigError if a header can't be sent, or is ours to set. No message repeats a value. */
export function checkHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    const isToken = /^[\w!#$%&'*+.^`|~-]+$/.test(name);
    if (isToken && !taken.test(name) && typeof value === 'string' && /^[\t\x20-\x7e]*$/.test(value)) continue;
    const why = isToken && taken.test(name) ? 'is set by us' : 'can not be sent: names and values are plain ASCII text';
    throw new ConfigError(`The header ${JSON.stringify(name)} ${why}.`, { option: 'headers' });
  }
}

/** What a receiver may be authorized by, and must stand in no error: an endpoint may quote any of it in an answer. */
export interface SecretPlaces {
  readonly secrets: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly url: URL;
}

/** Shorter words of a path are no secrets, and would be missing from every other sentence; so would those that name a scheme. */
const shortestSegment = 12;
const shortestWord = 6;
const schemes = /^(bearer|basic|digest|token|apikey)$/i;

/** All texts that may be secret: signing secrets with and without their prefix, words of headers, tokens in the URL. */
export function secretsIn({ secrets, headers, url }: SecretPlaces): string[] {
  const words = [...Object.values(headers).flatMap(secretsInHeader), ...url.searchParams.values()];
  const segments = url.pathname.split('/').map(decoded);
  const tokens = [
    ...words.filter((text) => text.length >= shortestWord),
    ...segments.filter((text) => text.length >= shortestSegment),
  ].filter((text) => /^[\x21-\x7e]+$/.test(text));
  return [...secrets.flatMap((secret) => [secret, secret.replace(/^whsec_/, '')]), ...tokens];
}

/** What may be secret in a header's value: its words, what they are made of, and the name and the password in basic credentials. */
export function secretsInHeader(value: string): string[] {
  const [, basic] = /^basic\s+(\S+)$/i.exec(value) ?? [];
  const credentials = basic === undefined ? '' : Buffer.from(basic, 'base64').toString('latin1');
  const words = [...value.split(/\s+/), ...value.split(/[\s=;,"]+/), credentials, ...credentials.split(':')];
  return words.filter((word) => word.length >= shortestWord && !schemes.test(word));
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
