import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { faultyAnswer, jsonAnswer, refusalAnswer, type Answer } from './answer.js';
import { openExchange } from './exchange.js';
import { FaultDraw } from './faultDraw.js';
import { pickByRate, type Fault } from './faults.js';
import { draws, fingerprint, fraction } from './served/random.js';
import { Refusal } from './refusal.js';
import type { OpenRequest, RequestLog } from './requestLog.js';
import type { EndpointName, Settings } from './sandboxOptions.js';
import { SlidingWindow } from './slidingWindow.js';

/** Checks a query (throws a `Refusal`), and returns the function that creates the body, which a fault may change. */
export type Endpoint = (query: URLSearchParams) => (fault?: Fault) => unknown;

/** An endpoint, its path and its rows. */
export interface Route {
  readonly name: EndpointName;
  readonly path: string;
  readonly endpoint: Endpoint;
  readonly rows: { move(by: number): void };
}

/**
 * Handles requests in this order: path and method, script, key (401), rate limit (429), parameters (400), page. Faults
 * by rate affect only requests that would get a page.
 */
export function requestListener(settings: Settings, routes: readonly Route[], log: RequestLog): RequestListener {
  const routeAt = new Map(routes.map((route) => [route.path, route]));
  const window = settings.rateLimit && new SlidingWindow(settings.rateLimit);
  const faults = new FaultDraw(draws(settings.seed, 'fault'), {
    pick: pickByRate(settings.faults),
    maxInARow: 3,
    remembered: 10_000,
  });
  const latencies = draws(settings.seed, 'latency');

  return (incoming, response) => {
    if (settings.cors && answerCrossOrigin(incoming, response)) return;
    const { method = '', url = '', headers } = incoming;
    const [path = '', ...rest] = url.split('?');
    const route = routeAt.get(path);
    const query = rest.join('?');
    const entry = log.arrive({ endpoint: route?.name, method, path, query, fault: undefined, rateLimited: false });
    const send = openExchange(response, log, entry);
    const { answer, fault } = decide(entry, route, headers);
    entry.fault = fault?.kind;
    const [min, max] = settings.latency;
    send(faultyAnswer(fault, answer, readKey(headers)), {
      fault,
      wait: min + (max - min) * fraction(latencies(entry.n)) + (fault?.kind === 'delay' ? fault.ms : 0),
      gzip: settings.compress && /\bgzip\b/.test(headers['accept-encoding'] ?? ''),
    });
  };

  function decide(
    entry: OpenRequest,
    route: Route | undefined,
    headers: IncomingHttpHeaders,
  ): { answer: Answer; fault: Fault | undefined } {
    let scripted: Fault | undefined;
    try {
      if (route === undefined) throw new Refusal(404, `Nothing is found at ${entry.path}`);
      if (entry.method !== 'GET') throw new Refusal(405, `${entry.method} is not allowed here`, { allow: 'GET' });
      const request = fingerprint(settings.seed, `${entry.path}?${entry.query}`);
      const query = new URLSearchParams(entry.query);
      scripted = settings.script({
        endpoint: route.name,
        n: entry.n,
        nth: log.countAt(route.name),
        attempt: faults.attempt(request),
        query,
        headers,
      });
      if (readKey(headers) !== settings.apiKey) throw new Refusal(401, 'X-API-Key: missing or not known');
      admit(entry);
      const drawn = faults.next(request);
      const page = route.endpoint(query);
      const fault = scripted ?? drawn;
      if (fault?.kind === 'moved-rows') route.rows.move(fault.by ?? 1);
      return { answer: jsonAnswer(200, page(fault)), fault };
    } catch (error) {
      const refusal = error instanceof Refusal ? error : new Refusal(500, `The sandbox failed: ${String(error)}`);
      return { answer: refusalAnswer(refusal), fault: scripted };
    }
  }

  function admit(entry: OpenRequest): void {
    const wait = window?.arrive(entry.arrivedAt) ?? 0;
    if (wait === 0) return;
    entry.rateLimited = true;
    throw new Refusal(429, `Too many requests: try again in ${Math.ceil(wait)} ms`, {
      'retry-after': String(Math.ceil(wait / 1_000)),
    });
  }
}

function readKey(headers: IncomingHttpHeaders): string {
  const key = headers['x-api-key'];
  return typeof key === 'string' ? key : '';
}

/**
 * Allows requests from any origin. Returns whether the request was a preflight, which it has answered.
 *
 * @see https://fetch.spec.whatwg.org/#http-cors-protocol
 */
function answerCrossOrigin({ method, headers }: IncomingMessage, response: ServerResponse): boolean {
  response.setHeader('access-control-allow-origin', '*');
  // Browsers hide this header from scripts unless it is listed here.
  response.setHeader('access-control-expose-headers', 'retry-after');
  if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return false;
  response.writeHead(204, {
    'access-control-allow-methods': 'GET',
    'access-control-allow-headers': 'x-api-key',
    'access-control-max-age': '600',
  });
  response.end();
  return true;
}
