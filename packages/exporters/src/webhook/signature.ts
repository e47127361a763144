import { createHmac } from 'node:crypto';
import { ConfigError } from '@sluice/core';

export interface Signed {
  readonly id: string;
  /** Seconds since 1970 of this attempt: receivers refuse what is old, so that nobody can send it again. */
  readonly timestamp: number;
  readonly body: string;
}

/** Signs messages, once with each secret. */
export interface Signer {
  /** The three headers of the specification. */
  headers(message: Signed): Readonly<Record<string, string>>;
}

const prefix = 'whsec_';
/** Bytes. The specification asks for 24 to 64, but its own example is one of the many that have fewer. */
const [shortest, longest] = [16, 64];

/**
 * Signs as Standard Webhooks says: `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64. With two secrets there are two
 * signatures, so that a receiver can go from one to the other while both are good.
 *
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 * @throws ConfigError if a secret is none, or there are none or more than two. No message repeats one.
 */
export function signer(secrets: readonly string[]): Signer {
  if (secrets.length === 0 || secrets.length > 2)
    throw new ConfigError(`There are ${secrets.length} secrets: give one, or two while one replaces the other.`, {
      option: 'secret',
    });
  const keys = secrets.map(keyOf);
  return {
    headers: ({ id, timestamp, body }) => ({
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': keys
        .map((key) => `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`)
        .join(' '),
    }),
  };
}

function keyOf(secret: string): Buffer {
  const text = secret.startsWith(prefix) ? secret.slice(prefix.length) : secret;
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(text) && text.length % 4 === 0;
  const key = Buffer.from(isBase64 ? text : '', 'base64');
  if (key.length >= shortest && key.length <= longest) return key;
  throw new ConfigError(
    `A secret is no signing secret: it must be ${prefix} and ${shortest} to ${longest} bytes in base64, as your receiver's own tools make it.`,
    { option: 'secret' },
  );
}
