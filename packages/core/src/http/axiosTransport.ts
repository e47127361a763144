import axios, { type AxiosInstance } from 'axios';
import axiosRetry from 'axios-retry';
import { reportOf } from '../errorReport.js';
import { NetworkError } from '../errors.js';
import { AttemptFailure, type Call, closedError, Exchange, type ExchangeOptions, Failure } from './exchange.js';
import { SignalWatch } from './signalWatch.js';
import type { TransportResponse } from './transport.js';

/** Carries calls, each with its retries. */
type Caller = (call: Call) => Promise<TransportResponse>;

/**
 * Calls by axios. No error of axios leaves this file: those hold the whole request, and more than a caller needs to see.
 */
export function axiosTransport(options: ExchangeOptions): Caller {
  const keep = <T>(value: T): T => value;
  const ours = { transformRequest: keep, transformResponse: keep, validateStatus: () => true };
  const instance = axios.create(ours);
  // What a program sets on the axios that it shares with us, e.g. its own token, is not for our APIs. Nor is what only the adapters of axios
  // read; it would be copied for each request.
  for (const name of Object.keys(instance.defaults))
    if (!(name in ours)) Reflect.deleteProperty(instance.defaults, name);
  addRetries(instance, maxChained, {
    shouldRetry: (error) => error instanceof AttemptFailure && error.exchange.shouldRetry(error),
    beforeRetry: async (error) => {
      if (error instanceof AttemptFailure) await error.exchange.backOff(error);
    },
  });

  const signals = new SignalWatch();
  // Each request watches it, and it ends with the client: one listener for all of them, which is not put up and taken down for each.
  signals.watch(options.closed, () => undefined);
  let requests = 0;
  return (call) =>
    new Promise((resolve, reject) => {
      call.signal?.throwIfAborted();
      if (options.closed.aborted) throw closedError(call.route);
      // An end from outside is answered at once, whatever the layers below are doing.
      const exchange = new Exchange(options, call, { number: (requests += 1), signals, onEnd: reject });
      answered(instance, call, exchange).then(resolve, reject);
    });
}

/** Retries of axios-retry's wait inside of each other, and each keeps some 2 kB until the end: in an outage of days that would add up. */
const maxChained = 100;

/** Headers and body are the exchange's: axios would copy them several times for each request, and put them into its errors. */
async function answered(
  instance: AxiosInstance,
  { url, method, route }: Call,
  exchange: Exchange,
): Promise<TransportResponse> {
  const { attempt } = exchange;
  try {
    for (;;) {
      try {
        const { status, data } = await instance.request<unknown>({ url, method, adapter: attempt });
        exchange.settle(() => ({ outcome: 'answered', status }));
        return { status, headers: exchange.headers, body: data, attempts: exchange.attempts };
      } catch (failure) {
        if (!(failure instanceof AttemptFailure && exchange.shouldRetry(failure))) throw failure;
        await exchange.backOff(failure);
      }
    }
  } catch (failure) {
    const error = shown(failure, route);
    exchange.settle(() => ({ outcome: 'failed', error: reportOf(error) }));
    throw error;
  } finally {
    exchange.close();
  }
}

/** What the caller may see of a failure. */
function shown(error: unknown, route: string): unknown {
  if (error instanceof AttemptFailure) return error.exchange.finalError(error);
  if (error instanceof Failure) return error.reason;
  if (axios.isAxiosError(error))
    return new NetworkError(`${route} could not be sent (${error.code ?? 'no reason given'}).`, { details: { route } });
  return error;
}

/** When and after what an attempt is repeated. */
interface RetryHooks {
  readonly shouldRetry: (error: unknown) => boolean;
  /** Resolves when the next attempt may begin. */
  readonly beforeRetry: (error: unknown) => Promise<void>;
}

/**
 * Lets axios-retry repeat what fails on `instance`.
 *
 * The waiting is ours: axios-retry's own has no cap, overflows its timer and knows nothing of a clock that tests can turn.
 */
function addRetries(instance: AxiosInstance, retries: number, { shouldRetry, beforeRetry }: RetryHooks): void {
  axiosRetry(instance, {
    retries,
    retryCondition: shouldRetry,
    onRetry: (_count, error) => beforeRetry(error),
    retryDelay: () => 0,
    shouldResetTimeout: true,
  });
}
