import type { Clock, Sender } from '@sluice/core';
import type { DeliveriesOptions } from './deliveries.js';
import type { Signer } from './signature.js';

/** What a request is sent with. */
export interface SignedSendOptions {
  readonly sender: Sender;
  readonly signer: Signer;
  /** Sent along with each. */
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
}

/** Sends what it is given, signed anew for each attempt: a receiver refuses a signature that is minutes old. */
export function signedSend({ sender, signer, headers, clock }: SignedSendOptions): DeliveriesOptions['send'] {
  return async ({ id, body }, signal) => {
    let attempts = 0;
    const stamp = (): Readonly<Record<string, string>> => {
      attempts += 1;
      return { ...headers, ...signer.headers({ id, timestamp: Math.floor(clock.now() / 1000), body }) };
    };
    try {
      await sender.send({ body, headers: stamp, signal });
      return { isTaken: true, attempts };
    } catch (error) {
      signal.throwIfAborted();
      return { isTaken: false, attempts, error };
    }
  };
}
