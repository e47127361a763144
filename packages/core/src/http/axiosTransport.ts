import axios, { type AxiosInstance } from 'axios';
import { ConfigError, NetworkError } from '../errors.js';
import { addRetries } from './axiosRetries.js';
import { AttemptFailure, closedError, Exchange, Failure, type ExchangeOptions } from './exchange.js';
import { addressOf } from './origin.js';
import { plainHeaders } from './plainHeaders.js';
import { encodeQuery } from './query.js';
import { SignalWatch } from './signalWatch.js';
import type { Transport, TransportRequest, TransportResponse } from './transport.js';

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
  // What a program sets on the axios that it shares with us, e.g. its own token, is not for our APIs.
  for (const name of Object.keys(instance.defaults.headers)) Reflect.deleteProperty(instance.defaults.headers, name);
  addRetries(instance, options.retry.retries, {
    shouldRetry: (error) => error instanceof AttemptFailure && error.exchange.shouldRetry(error),
    beforeRetry: async (error) => {
      if (error instanceof AttemptFailure) await error.exchange.backOff(error);
    },
  });

  const signals = new SignalWatch();
  return (request) =>
    new Promise((resolve, reject) => {
      request.signal?.throwIfAborted();
      if (options.closed.aborted) throw closedError(request.route);
      const address = checkedAddress(request, options.origins);
      // An end from outside is answered at once, whatever the layers below are doing.
      const exchange = new Exchange(options, request, signals, reject);
      answered(instance, address, request, exchange).then(resolve, reject);
    });
}

async function answered(
  instance: AxiosInstance,
  address: URL,
  request: TransportRequest,
  exchange: Exchange,
): Promise<TransportResponse> {
  try {
    const { status, headers, data } = await instance.request<unknown>({
      url: address.href,
      method: 'get',
      headers: { Accept: 'application/json', ...request.headers },
      adapter: exchange.attempt,
    });
    return { status, headers: plainHeaders(headers), body: data, attempts: exchange.attempts };
  } catch (error) {
    throw ours(error, request.route);
  } finally {
    exchange.close();
  }
}

/** A link may send a request elsewhere, but only to another of the client's own origins. */
function checkedAddress(request: TransportRequest, origins: ReadonlySet<string>): URL {
  const query = encodeQuery(request.query, request.arrays ?? 'brackets');
  const address = addressOf(request.baseUrl, request.path, query);
  if (origins.has(address.origin)) return address;
  throw new ConfigError(
    `${request.route} must not go to ${address.origin}: no base address of this client is there, and the API key would go along. Check its links.`,
    { route: request.route },
  );
}

/** What the caller may see of a failure. */
function ours(error: unknown, route: string): unknown {
  if (error instanceof AttemptFailure) return error.exchange.finalError(error);
  if (error instanceof Failure) return error.reason;
  if (axios.isAxiosError(error))
    return new NetworkError(`${route} could not be sent (${error.code ?? 'no reason given'}).`, { details: { route } });
  return error;
}
