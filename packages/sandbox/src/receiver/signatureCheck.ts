import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Returns why a delivery is refused; `undefined` if its signature is valid. */
export type SignatureCheck = (headers: IncomingHttpHeaders, body: Buffer) => string | undefined;

/**
 * Checks signatures according to Standard Webhooks: `webhook-signature` is a list, separated by spaces, of `v1,BASE64`,
 * the HMAC-SHA256 of the exact bytes of `ID.TIMESTAMP.BODY`. One of them must match one of the secrets. Throws
 * `RangeError` for an invalid secret, without repeating it.
 *
 * @param secrets `whsec_BASE64`
 * @param tolerance allowed difference of the timestamp in seconds
 * @param now the clock, in ms since 1970
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function signatureCheck(secrets: readonly string[], tolerance: number, now: () => number): SignatureCheck {
  const keys = secrets.map(readSecret);
  return (headers, body) => {
    const [id, timestamp, signatures] = signedHeaders.map((name) => headers[name]);
    if (typeof id !== 'string' || id === '') return 'webhook-id: missing';
    if (typeof timestamp !== 'string') return 'webhook-timestamp: missing';
    if (typeof signatures !== 'string') return 'webhook-signature: missing';
    if (!/^\d{1,12}$/.test(timestamp)) return 'webhook-timestamp: not a whole number of seconds since 1970';
    const off = Math.abs(now() / 1_000 - Number(timestamp));
    if (off > tolerance) return `webhook-timestamp: ${Math.round(off)} s off, and ${tolerance} s are allowed`;

    const given = signatures
      .split(' ')
      .filter((signature) => signature.startsWith('v1,'))
      .map((signature) => Buffer.from(signature.slice(3)));
    const isSigned = keys.some((key) => {
      // Node decodes headers as latin1, so encoding them as latin1 restores the received bytes.
      const mac = createHmac('sha256', key).update(`${id}.${timestamp}.`, 'latin1').update(body);
      const right = Buffer.from(mac.digest('base64'));
      return given.some((signature) => signature.length === right.length && timingSafeEqual(signature, right));
    });
    return isSigned ? undefined : 'webhook-signature: none matches';
  };
}

const signedHeaders = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;

function readSecret(secret: string, index: number): KeyObject {
  const [, base64 = ''] = /^whsec_(.+)$/.exec(secret) ?? [];
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length === 0 || bytes.toString('base64') !== base64)
    throw new RangeError(`secrets[${index}] is not a signing secret: give whsec_ and base64.`);
  return createSecretKey(bytes);
}
