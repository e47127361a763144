import { createHmac } from 'node:crypto';
import { ConfigError } from '@sluice/core';

export interface Signed {
  readonly id: string;
  /** Time of this attempt, in seconds since 1970. Receivers refuse old ones, to prevent replay attacks. */
  readonly timestamp: number;
  readonly body: string;
}

/** Signs a message, once with each secret: the headers of the specification. */
export type Signer = (message: Signed) => Readonly<Record<string, string>>;

const prefix = 'whsec_';
/** In bytes. The specification asks for 24 to 64, but its example and many secrets in use have fewer. */
const min = 16;
const max = 64;

/**
 * Signs according to Standard Webhooks: `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64. Two secrets give
 * two signatures, so that a receiver can switch secrets while both are valid.
 *
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 * @throws ConfigError if a secret is invalid, or there are none or more than two. The message does not contain it.
 */
export function signer(secrets: readonly string[]): Signer {
  if (secrets.length === 0 || secrets.length > 2)
    throw new ConfigError(`There are ${secrets.length} secrets: give one, or two while one replaces the other.`, {
      option: 'secret',
    });
  const keys = secrets.map(decodeSecret);
  return ({ id, timestamp, body }) => ({
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': keys
      .map((key) => `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`)
      .join(' '),
  });
}

function decodeSecret(secret: string): Buffer {
  const key = keyOf(secret);
  if (key.length >= min && key.length <= max) return key;
  throw new ConfigError(
    `A secret is not a signing secret: it must be ${prefix} and ${min} to ${max} bytes in base64, as your receiver's own tools make it.`,
    { option: 'secret' },
  );
}

/** The bytes that a secret stands for; none if it is not base64. */
function keyOf(secret: string): Buffer {
  const text = secret.startsWith(prefix) ? secret.slice(prefix.length) : secret;
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(text) && text.length % 4 === 0;
  return Buffer.from(isBase64 ? text : '', 'base64');
}

/** Everything that shows a secret: itself, and its bytes as a receiver that signs with them may quote them. */
export function shownSecrets(secret: string): string[] {
  const key = keyOf(secret);
  const texts = [key.toString('utf8'), key.toString('latin1')];
  const hex = key.toString('hex').match(/../g) ?? [];
  return [
    ...[secret, secret.replace(/^whsec_/, ''), key.toString('base64url'), ...texts],
    // Errors quote none but those that are blanks.
    // eslint-disable-next-line no-control-regex -- the pattern must match controls
    ...texts.map((text) => text.replace(/[\0-\x08\x0e-\x1f\x7f-\x9f]/g, '')),
    ...[hex.join(''), hex.join(' '), hex.join(':'), key.join(','), key.join(', ')],
  ];
}
