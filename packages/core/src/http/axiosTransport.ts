import axios, { type AxiosInstance, type AxiosResponse, type InternalAxiosRequestConfig } from 'axios';
import axiosRetry from 'axios-retry';
import { reportOf } from '../errorReport.js';
import { NetworkError } from '../errors.js';
import { closedError } from './answer.js';
import { type AttemptFailure, type AttemptSuccess, type Call, Exchange, type ExchangeOptions } from './exchange.js';
import { HeaderJoiner } from './sendAttempt.js';
import { SignalWatch } from './signalWatch.js';
import type { TransportResponse } from './transport.js';

type Caller = (call: Call) => Promise<TransportResponse>;

/** Sends requests through axios. No axios error leaves this file, because it contains the whole request. */
export function axiosTransport(options: ExchangeOptions): Caller {
  const unchanged = <T>(value: T): T => value;
  const settings = { transformRequest: unchanged, transformResponse: unchanged, validateStatus: () => true };
  const instance = axios.create(settings);
  // Defaults of a program's shared axios, e.g. its token, must not reach our APIs. Fewer are also cheaper to copy.
  for (const name of Object.keys(instance.defaults))
    if (!(name in settings)) Reflect.deleteProperty(instance.defaults, name);
  // Given once and not with each request, which would merge them again and again. The exchange waits instead: axios-retry
  // has no maximum delay, overflows its timer, and takes no clock.
  axiosRetry(instance, {
    retries: maxChained,
    retryDelay: () => 0,
    shouldResetTimeout: true,
    retryCondition: shouldRetry,
    onRetry: async (_count: number, error: unknown) => {
      if (error instanceof AttemptError) await error.exchange.backOff(error.failure);
    },
  });

  const signals = new SignalWatch();
  const headers = new HeaderJoiner();
  // Keeps one listener on the signal for the life of the client, instead of adding and removing one per request.
  signals.watch(options.closed, () => undefined);
  let requests = 0;
  return (call) =>
    new Promise((resolve, reject) => {
      call.signal?.throwIfAborted();
      if (options.closed.aborted) throw closedError(call.route);
      // Cancellation rejects at once, whatever the layers below are doing.
      const exchange = new Exchange(options, call, { number: (requests += 1), signals, headers, onEnd: reject });
      answered(instance, call, exchange).then(resolve, reject);
    });
}

/** axios-retry nests its retries, and each keeps about 2 kB until the end, which adds up in an outage of days. */
const maxChained = 100;

/** Headers and body bypass axios, which would copy them several times and put them into its errors. */
async function answered(
  instance: AxiosInstance,
  { url, method, route }: Call,
  exchange: Exchange,
): Promise<TransportResponse> {
  const adapter = async (config: InternalAxiosRequestConfig): Promise<AxiosResponse<AttemptSuccess>> => {
    const outcome = await exchange.attempt().catch((reason: unknown) => {
      throw new CarriedReason(reason);
    });
    if ('fault' in outcome) throw new AttemptError(config, exchange, outcome);
    return { status: outcome.status, statusText: '', headers: {}, data: outcome, config };
  };
  try {
    for (;;) {
      try {
        const { data } = await instance.request<AttemptSuccess>({ url, method, adapter });
        exchange.settle(() => ({ outcome: 'answered', status: data.status }));
        const { status, headers, body } = data;
        return { status, headers, body, attempts: exchange.attempts };
      } catch (error) {
        if (!shouldRetry(error)) throw error;
        await exchange.backOff(error.failure);
      }
    }
  } catch (thrown) {
    const error = thrown instanceof AttemptError ? exchange.finalError(thrown.failure) : visibleError(thrown, route);
    exchange.settle(() => ({ outcome: 'failed', error: reportOf(error) }));
    throw error;
  } finally {
    exchange.close();
  }
}

function shouldRetry(error: unknown): error is AttemptError {
  return error instanceof AttemptError && error.exchange.shouldRetry(error.failure);
}

/** The error to show to the caller, if it is not the failure of an attempt. */
function visibleError(error: unknown, route: string): unknown {
  if (error instanceof CarriedReason) return error.reason;
  if (axios.isAxiosError(error))
    return new NetworkError(`${route} could not be sent (${error.code ?? 'no reason given'}).`, { details: { route } });
  return error;
}

/** Carries a failed attempt through axios and axios-retry, which only pass on errors with a `config`. */
class AttemptError extends Error {
  readonly config: InternalAxiosRequestConfig;
  readonly exchange: Exchange;
  readonly failure: AttemptFailure;

  constructor(config: InternalAxiosRequestConfig, exchange: Exchange, failure: AttemptFailure) {
    super(failure.fault.error.message);
    this.config = config;
    this.exchange = exchange;
    this.failure = failure;
  }
}

/** Carries any other error past axios, which modifies errors that it knows. */
class CarriedReason extends Error {
  readonly reason: unknown;

  constructor(reason: unknown) {
    super('The request ended.');
    this.reason = reason;
  }
}
