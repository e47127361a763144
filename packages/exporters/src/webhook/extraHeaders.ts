import { ConfigError } from '@sluice/core';
import { shownSecrets } from './signature.js';

/** Headers of the request and the signature, which the sender sets. */
const reserved = /^(webhook-|host$|content-|transfer-|connection$|upgrade$|expect$|keep-alive$|trailer$|te$)/i;

/** @throws ConfigError if a header is invalid, reserved or set twice. The message does not contain its value. */
export function checkHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    const isToken = /^[\w!#$%&'*+.^`|~-]+$/.test(name);
    if (isToken && !reserved.test(name) && typeof value === 'string' && /^[\t\x20-\x7e]*$/.test(value)) continue;
    const why =
      isToken && reserved.test(name) ? 'is set by Sluice' : 'cannot be sent: names and values are plain ASCII text';
    throw new ConfigError(`The header ${JSON.stringify(name)} ${why}.`, { option: 'headers' });
  }
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined)
    throw new ConfigError(`The header ${JSON.stringify(twice)} is set twice. Leave one of them out.`, {
      option: 'headers',
    });
}

/** Everything that may contain a secret. An endpoint may quote any of it in a response, which errors quote. */
export interface SecretPlaces {
  readonly secrets: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly url: URL;
}

/** Shorter texts and names of schemes are not secrets; redacting them would make messages unreadable. */
const minSegment = 12;
const minWord = 6;
const schemes = /^(bearer|basic|digest|token|apikey)$/i;

/** The texts to redact: signing secrets and their bytes, words of headers, tokens in the URL. */
export function collectSecrets({ secrets, headers, url }: SecretPlaces): string[] {
  const words = [...Object.values(headers).flatMap(secretsInHeader), ...url.searchParams.values()];
  const segments = url.pathname.split('/').map(decodeSegment);
  const tokens = [
    ...words.filter((text) => text.length >= minWord),
    ...segments.filter((text) => text.length >= minSegment),
  ].filter((text) => /^[\x21-\x7e]+$/.test(text));
  return [...secrets.flatMap(shownSecrets), ...tokens];
}

/** Possible secrets in a header value: its words and their parts, and the user and password of Basic credentials. */
export function secretsInHeader(value: string): string[] {
  const [, basic] = /^basic\s+(\S+)$/i.exec(value) ?? [];
  const credentials = basic === undefined ? '' : Buffer.from(basic, 'base64').toString('latin1');
  const words = [...value.split(/\s+/), ...value.split(/[\s=;,"]+/), credentials, ...credentials.split(':')];
  return words.filter((word) => word.length >= minWord && !schemes.test(word));
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
