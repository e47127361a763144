import axios from 'axios';
import { NetworkError } from '../errors.js';
import { addRetries } from './axiosRetries.js';
import { AttemptFailure, Exchange, type ExchangeOptions } from './exchange.js';
import { addressOf } from './origin.js';
import { encodeQuery } from './query.js';
import type { Transport } from './transport.js';

/**
 * The transport on axios. No error of axios leaves this file: those hold the request's headers, and so the key.
 */
export function axiosTransport(options: ExchangeOptions): Transport {
  const keep = <T>(value: T): T => value;
  const instance = axios.create({
    responseType: 'text',
    transformRequest: keep,
    transformResponse: keep,
    maxRedirects: 0,
    proxy: false,
    validateStatus: () => true,
  });
  addRetries(instance, options.retry.retries, {
    shouldRetry: (error) => error instanceof AttemptFailure && error.exchange.shouldRetry(error.fault),
    beforeRetry: async (error) => {
      if (error instanceof AttemptFailure) await error.exchange.backOff(error.fault);
    },
  });

  return async (request) => {
    request.signal?.throwIfAborted();
    const address = addressOf(request.baseUrl, request.path, encodeQuery(request.query, request.arrays ?? 'brackets'));
    const exchange = new Exchange(options, request);
    try {
      const answer = await instance.request<unknown>({
        url: address.href,
        method: 'get',
        headers: { Accept: 'application/json', ...request.headers },
        adapter: exchange.attempt,
      });
      return {
        status: answer.status,
        headers: lowerCase(answer.headers),
        body: answer.data,
        attempts: exchange.attempts,
      };
    } catch (error) {
      throw ours(error, exchange, request.route);
    } finally {
      exchange.close();
    }
  };
}

/** What the caller may see of a failure. */
function ours(error: unknown, exchange: Exchange, route: string): unknown {
  if (exchange.signal.aborted) return exchange.signal.reason;
  if (error instanceof AttemptFailure) return exchange.finalError(error.fault);
  if (axios.isAxiosError(error))
    return new NetworkError(`${route} could not be sent (${error.code ?? 'no reason given'}).`, { details: { route } });
  return error;
}

function lowerCase(headers: object): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]));
}
