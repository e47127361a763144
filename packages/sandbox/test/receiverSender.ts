import { Webhook } from 'standardwebhooks';
import type { Receiver } from '../src/index.js';

export const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
export const OTHER_SECRET = `whsec_${Buffer.from('another secret of 32 bytes, as is').toString('base64')}`;

/** What is sent. Without `secret` it is not signed. */
export interface Sent {
  readonly id: string;
  readonly body?: string;
  readonly secret?: string;
  readonly signal?: AbortSignal;
}

/** Sends one delivery, signed by the package of Standard Webhooks. Follows no redirect. */
export async function send(receiver: Pick<Receiver, 'url'>, { id, body, secret, signal }: Sent): Promise<Response> {
  const text = body ?? envelope(id);
  return fetch(receiver.url, {
    method: 'POST',
    headers: secret === undefined ? { 'webhook-id': id } : signedHeaders(id, text, secret),
    body: text,
    redirect: 'manual',
    ...(signal === undefined ? {} : { signal }),
  });
}

/** The headers of a delivery that was signed at a time, now by default. */
export function signedHeaders(id: string, body: string, secret = SECRET, at = new Date()): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body),
  };
}

/** One record as Sluice sends it. */
export function envelope(id: string, data: unknown = { amount: '1' }): string {
  return JSON.stringify({ id, type: 'row', timestamp: '2026-01-01T00:00:00.000Z', source: 'test', sequence: 1, data });
}

/** Envelopes, given as text, in a batch. */
export function batch(id: string, envelopes: readonly string[]): string {
  const head = JSON.stringify({
    id,
    type: 'batch',
    timestamp: '2026-01-01T00:00:00.000Z',
    source: 'test',
    sequence: 1,
  });
  return `${head.slice(0, -1)},"data":[${envelopes.join()}]}`;
}
