import { webhook, type WebhookOptions } from '@sluice/exporters/webhook';
import type { Sink } from '@sluice/core';
import { startReceiver, type Receiver, type ReceiverOptions } from '@sluice/sandbox';
import { onTestEnd } from '../../../../scripts/testScope.js';
import type { Thing } from './thingSource.js';

export const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

/** A receiver that checks our signatures; it is closed when the test ends. */
export async function openReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const receiver = await startReceiver({ secrets: [secret], ...options });
  onTestEnd(() => receiver.close());
  return receiver;
}

/** A webhook to a receiver, which does not wait long before it tries again. */
export function webhookTo<T extends object = Thing>(
  { url }: Pick<Receiver, 'url'>,
  options: Partial<WebhookOptions<T>> = {},
): Sink<T> {
  return webhook<T>({
    url: `${url}/hook`,
    secret,
    allowAddresses: ['127.0.0.1'],
    retry: { baseDelay: 1 },
    ...options,
  });
}
