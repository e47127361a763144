import axios, { type AxiosInstance, type AxiosResponse, type InternalAxiosRequestConfig } from 'axios';
import axiosRetry from 'axios-retry';
import { reportOf } from '../errorReport.js';
import { NetworkError } from '../errors.js';
import { closedError } from './answer.js';
import { type AttemptFailure, type AttemptSuccess, type Call, Exchange, type ExchangeOptions } from './exchange.js';
import { SignalWatch } from './signalWatch.js';
import type { TransportResponse } from './transport.js';

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
  // The waiting is ours: axios-retry's own has no cap, overflows its timer and knows nothing of a clock that tests can turn.
  axiosRetry(instance, { retries: maxChained, retryDelay: () => 0, shouldResetTimeout: true });

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
  const adapter = async (config: InternalAxiosRequestConfig): Promise<AxiosResponse<AttemptSuccess>> => {
    const outcome = await exchange.attempt().catch((reason: unknown) => {
      throw new Ending(reason);
    });
    if ('fault' in outcome) throw new AttemptError(config, outcome);
    return { status: outcome.status, statusText: '', headers: {}, data: outcome, config };
  };
  const shouldRetry = (error: unknown): error is AttemptError =>
    error instanceof AttemptError && exchange.shouldRetry(error.failure);
  const retries = {
    retryCondition: shouldRetry,
    onRetry: async (_count: number, error: unknown) => {
      if (error instanceof AttemptError) await exchange.backOff(error.failure);
    },
  };
  try {
    for (;;) {
      try {
        const { data } = await instance.request<AttemptSuccess>({ url, method, adapter, 'axios-retry': retries });
        exchange.settle(() => ({ outcome: 'answered', status: data.status }));
        return { ...data, attempts: exchange.attempts };
      } catch (error) {
        if (!shouldRetry(error)) throw error;
        await exchange.backOff(error.failure);
      }
    }
  } catch (thrown) {
    const error = thrown instanceof AttemptError ? exchange.finalError(thrown.failure) : shown(thrown, route);
    exchange.settle(() => ({ outcome: 'failed', error: reportOf(error) }));
    throw error;
  } finally {
    exchange.close();
  }
}

/** What the caller may see of an error that is not of an attempt. */
function shown(error: unknown, route: string): unknown {
  if (error instanceof Ending) return error.reason;
  if (axios.isAxiosError(error))
    return new NetworkError(`${route} could not be sent (${error.code ?? 'no reason given'}).`, { details: { route } });
  return error;
}

/** Carries a failed attempt through axios and axios-retry, which only pass on what has a `config`. */
class AttemptError extends Error {
  readonly config: InternalAxiosRequestConfig;
  readonly failure: AttemptFailure;

  constructor(config: InternalAxiosRequestConfig, failure: AttemptFailure) {
    super(failure.fault.error.message);
    this.config = config;
    this.failure = failure;
  }
}

/** Carries any other error past axios, which writes on those that it can see through. */
class Ending extends Error {
  readonly reason: unknown;

  constructor(reason: unknown) {
    super('The request ended.');
    this.reason = reason;
  }
}
