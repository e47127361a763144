import { type Call, Exchange, type ExchangeOptions } from './exchange.js';
import { closedError } from './requestErrors.js';
import { SignalWatch } from '../signalWatch.js';
import type { TransportResponse } from './transport.js';

/** Makes the attempts of a request until one gets a response. What it rejects with is the request's error. */
type Repeat = (call: Call, exchange: Exchange) => Promise<TransportResponse>;

/** Sends each request as an exchange, whose attempts `repeat` makes. Default: one after the other. */
export function startExchanges(
  options: ExchangeOptions,
  repeat: Repeat = repeatAttempts,
): (call: Call) => Promise<TransportResponse> {
  const signals = new SignalWatch();
  // Keeps one listener on the signal for the life of the client, instead of adding and removing one per request.
  signals.watch(options.closed, () => undefined);
  let requests = 0;
  return (call) =>
    new Promise((resolve, reject) => {
      const { route, signal } = call;
      signal?.throwIfAborted();
      if (options.closed.aborted) throw closedError(route);
      // Cancellation rejects at once, whatever the layers below are doing.
      const exchange = new Exchange(options, call, { number: (requests += 1), signals, onFail: reject });
      repeat(call, exchange).then(resolve, (error: unknown) => exchange.fail(error));
    });
}

async function repeatAttempts(_call: Call, exchange: Exchange): Promise<TransportResponse> {
  for (;;) {
    const response = await exchange.attempt();
    if (response) return response;
  }
}
