import axios, { type AxiosResponse, type InternalAxiosRequestConfig } from 'axios';
import axiosRetry from 'axios-retry';
import { NetworkError } from '../errors.js';
import { type Call, Exchange, type ExchangeOptions } from './exchange.js';
import { closedError } from './requestErrors.js';
import { SignalWatch } from './signalWatch.js';
import type { TransportResponse } from './transport.js';

/** Sends requests through axios. No axios error leaves this file, because it contains the whole request. */
export function axiosTransport(options: ExchangeOptions): (call: Call) => Promise<TransportResponse> {
  const unchanged = <T>(value: T): T => value;
  const settings = { transformRequest: unchanged, transformResponse: unchanged, validateStatus: () => true };
  const instance = axios.create(settings);
  // Defaults of a program's shared axios, e.g. its token, must not reach our APIs. Fewer are also cheaper to copy.
  for (const name of Object.keys(instance.defaults))
    if (!(name in settings)) Reflect.deleteProperty(instance.defaults, name);
  // Given once and not with each request, which would merge them again and again. The exchange has waited: axios-retry
  // has no maximum delay, overflows its timer, and takes no clock.
  axiosRetry(instance, {
    retries: maxChained,
    retryDelay: () => 0,
    shouldResetTimeout: true,
    retryCondition: (error: unknown) => error instanceof AttemptFailed,
  });
  const signals = new SignalWatch();
  // Keeps one listener on the signal for the life of the client, instead of adding and removing one per request.
  signals.watch(options.closed, () => undefined);
  let requests = 0;

  /** Makes attempts until one gets a response. Headers and body bypass axios, which would copy them several times. */
  const respond = async ({ url, method }: Call, exchange: Exchange): Promise<TransportResponse> => {
    const adapter = async (config: InternalAxiosRequestConfig): Promise<AxiosResponse<TransportResponse>> => {
      const data = await exchange.attempt();
      if (!data) throw new AttemptFailed(config);
      return { status: 200, statusText: '', headers: {}, data, config };
    };
    for (;;) {
      try {
        return (await instance.request<TransportResponse>({ url, method, adapter })).data;
      } catch (error) {
        if (!(error instanceof AttemptFailed)) throw error;
      }
    }
  };

  return (call) =>
    new Promise((resolve, reject) => {
      const { route, signal } = call;
      signal?.throwIfAborted();
      if (options.closed.aborted) throw closedError(route);
      // Cancellation rejects at once, whatever the layers below are doing.
      const exchange = new Exchange(options, call, { number: (requests += 1), signals, onFail: reject });
      respond(call, exchange).then(resolve, (error: unknown) => {
        const code = axios.isAxiosError(error) ? error.code : undefined;
        exchange.fail(
          new NetworkError(`${route} could not be sent (${code ?? 'no reason given'}).`, { details: { route } }),
        );
      });
    });
}

/** axios-retry nests its retries, and each keeps about 3 kB until the end, which adds up in an outage of days. */
const maxChained = 100;

/** Says that the next attempt is due. axios-retry passes only errors with a `config`. */
class AttemptFailed extends Error {
  readonly config: InternalAxiosRequestConfig;

  constructor(config: InternalAxiosRequestConfig) {
    super('An attempt failed, and is made again.');
    this.config = config;
  }
}
