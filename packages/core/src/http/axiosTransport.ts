import axios, { type AxiosResponse, type InternalAxiosRequestConfig } from 'axios';
import axiosRetry from 'axios-retry';
import { NetworkError } from '../errors.js';
import { type Call, type ExchangeOptions, startExchanges } from './exchange.js';
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
  return startExchanges(options, async ({ route, url, method }, exchange) => {
    // Headers and body bypass axios, which would copy them several times.
    const adapter = async (config: InternalAxiosRequestConfig): Promise<AxiosResponse<TransportResponse>> => {
      const data = await exchange.attempt();
      if (!data) throw new AttemptFailed(config);
      return { status: 200, statusText: '', headers: {}, data, config };
    };
    for (;;) {
      try {
        return (await instance.request<TransportResponse>({ url, method, adapter })).data;
      } catch (error) {
        if (error instanceof AttemptFailed) continue;
        const code = axios.isAxiosError(error) ? error.code : undefined;
        throw new NetworkError(`${route} could not be sent (${code ?? 'no reason given'}).`, { details: { route } });
      }
    }
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
