import axios, { type AxiosError, type AxiosInstance, type AxiosResponse, type InternalAxiosRequestConfig } from 'axios';
import axiosRetry from 'axios-retry';
import { reportOf } from '../errorReport.js';
import { NetworkError } from '../errors.js';
import { closedError } from './response/readResponse.js';
import { type AttemptOutcome, type Call, Exchange, type ExchangeOptions } from './exchange.js';
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
  // Given once and not with each request, which would merge them again and again. `onRetry` waits: axios-retry has no
  // maximum delay, overflows its timer, and takes no clock.
  axiosRetry(instance, {
    retries: maxChained,
    retryDelay: () => 0,
    shouldResetTimeout: true,
    retryCondition: (error: unknown) => error instanceof RetryableError,
    onRetry: async (_count: number, error: unknown) => {
      if (error instanceof RetryableError) await error.backOff();
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
      respond(instance, call, exchange).then(resolve, reject);
    });
}

/** axios-retry nests its retries, and each keeps about 3 kB until the end, which adds up in an outage of days. */
const maxChained = 100;

async function respond(instance: AxiosInstance, call: Call, exchange: Exchange): Promise<TransportResponse> {
  try {
    const outcome = await lastAttempt(instance, call, exchange);
    if ('fault' in outcome) throw exchange.finalError(outcome);
    const { status, headers, body } = outcome;
    exchange.settle(() => ({ outcome: 'answered', status }));
    return { status, headers, body, attempts: exchange.attempts };
  } catch (thrown) {
    const error = axios.isAxiosError(thrown) ? unsentError(thrown, call.route) : thrown;
    exchange.settle(() => ({ outcome: 'failed', error: reportOf(error) }));
    throw error;
  } finally {
    exchange.close();
  }
}

/** Makes attempts until one of them is not retried. Headers and body bypass axios, which would copy them several times. */
async function lastAttempt(
  instance: AxiosInstance,
  { url, method }: Call,
  exchange: Exchange,
): Promise<AttemptOutcome> {
  const adapter = async (config: InternalAxiosRequestConfig): Promise<AxiosResponse<AttemptOutcome>> => {
    const data = await exchange.attempt();
    if ('fault' in data && exchange.shouldRetry(data)) throw new RetryableError(config, () => exchange.backOff(data));
    return { status: 200, statusText: '', headers: {}, data, config };
  };
  for (;;) {
    try {
      return (await instance.request<AttemptOutcome>({ url, method, adapter })).data;
    } catch (error) {
      if (!(error instanceof RetryableError)) throw error;
      await error.backOff();
    }
  }
}

/** An error of axios itself contains the request. */
function unsentError({ code = 'no reason given' }: AxiosError, route: string): NetworkError {
  return new NetworkError(`${route} could not be sent (${code}).`, { details: { route } });
}

/** A failed attempt to be made again. axios-retry passes only errors with a `config`. */
class RetryableError extends Error {
  readonly config: InternalAxiosRequestConfig;
  readonly backOff: () => Promise<void>;

  constructor(config: InternalAxiosRequestConfig, backOff: () => Promise<void>) {
    super('An attempt failed, and is made again.');
    this.config = config;
    this.backOff = backOff;
  }
}
