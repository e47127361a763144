import { isUtf8 } from 'node:buffer';
import { isIP, Socket, type LookupFunction } from 'node:net';
import { setImmediate as turnOfTheLoop, setTimeout as wait } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import type { Dispatcher } from 'undici';
import buildConnector from 'undici/lib/core/connect.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import { ConfigError, SluiceError } from '../../errors.js';
import { isLoopback } from '../origin.js';
import {
  type Adapter,
  AdapterFault,
  type AdapterOptions,
  type AddressGuard,
  type AnswerBody,
  textBody,
} from './adapter.js';
import { PendingRequests } from './pendingRequests.js';
import { checkedAddresses, type CheckedAddresses } from './checkedAddresses.js';
import { heapNeed } from './heapNeed.js';
import { codeOf, Incoming } from './incoming.js';
import { observedPool, type ObservedRequest } from './observedPool.js';
import { Utf8Body } from './utf8Body.js';

/** `deflate` is read, but not asked for: servers disagree on what it is. */
const encodings = { 'accept-encoding': 'gzip, br' };

/**
 * Undici under axios: keep-alive, a deadline for connecting, and the proxies that `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`
 * name. Loopback addresses never go through a proxy. Redirects are answers like others: undici does not follow them. With a guard
 * no connection is made to an address that it has not let through; what was made is used again.
 */
export function createAdapter(adapterOptions: AdapterOptions): Adapter {
  const { connectTimeout, maxBodyBytes, bodies = 'whole', guard, proxies = true } = adapterOptions;
  const timeout = Number.isFinite(connectTimeout) ? connectTimeout : 0;
  const maxHeap = getHeapStatistics().heap_size_limit * heapShare;
  const pendingRequests = new PendingRequests();
  const connect = guard ? guarded(guard, timeout, pendingRequests) : detached(buildConnector({ timeout }));
  const isDirect = (url: URL): boolean => guard !== undefined || !proxies || isLoopback(url.hostname);
  // Deadlines of an attempt are the transport's; undici's own would only add a second, coarser clock.
  const options = { connect, factory: observedPool, headersTimeout: 0, bodyTimeout: 0 };
  const direct = keptAndFresh((reuse) => new Agent({ ...options, ...reuse }));
  let proxied: Dispatchers | undefined;
  const throughProxies = async (): Promise<Dispatchers> => {
    const { proxyAgent } = await import('./proxyAgent.js');
    return (proxied ??= keptAndFresh((reuse) => proxyAgent(connect, timeout, reuse)));
  };
  return {
    async send({ url: address, method, headers, body = null, isFresh = false, signal }) {
      const url = new URL(address);
      const answer = new Incoming({ maxBytes: maxBodyBytes, signal });
      const leave = pendingRequests.enter(url.origin);
      try {
        // Where no proxy is named, nothing is waited for before the request leaves.
        const isProxied = !isDirect(url) && (proxied !== undefined || namesProxy(process.env));
        const { kept, fresh } = isProxied ? (proxied ?? (await throughProxies())) : direct;
        const { origin, pathname, search } = url;
        const about = { origin, path: pathname + search, method, body };
        const request: ObservedRequest = { ...about, headers: { ...encodings, ...headers }, answer };
        (isFresh ? fresh : kept).dispatch(request, answer);
        await answer.answered;
      } catch (error) {
        answer.drop();
        throw isStale(answer, error) ? new AdapterFault('stale', codeOf(error)) : faultBeforeAnswer(error);
      } finally {
        leave();
      }
      return {
        status: answer.status,
        headers: joinedHeaders(answer.headers),
        body: await (bodies === 'whole' ? readWhole(answer, maxHeap) : readBeginning(answer, maxBodyBytes)),
      };
    },
    async close() {
      const all = [direct, proxied].flatMap((each) => (each ? [each.kept, each.fresh] : []));
      await Promise.all(all.map((dispatcher) => dispatcher.destroy()));
    },
  };
}

/** One that keeps its connections, and one that makes one for each request. */
interface Dispatchers {
  readonly kept: Dispatcher;
  readonly fresh: Dispatcher;
}

function keptAndFresh(create: (reuse: { readonly pipelining?: 0 }) => Dispatcher): Dispatchers {
  // Undici's word for a connection that ends with its answer.
  return { kept: create({}), fresh: create({ pipelining: 0 }) };
}

/** Whether the environment names a proxy, by any of the names that undici looks for. */
function namesProxy({ http_proxy, HTTP_PROXY, https_proxy, HTTPS_PROXY }: NodeJS.ProcessEnv): boolean {
  return [http_proxy, HTTP_PROXY, https_proxy, HTTPS_PROXY].some(Boolean);
}

/**
 * Connects with sockets that don't keep the process alive: the deadline of whoever waits for an answer does. So nothing is left
 * behind by a request that is aborted while its connection is being made, which undici does not stop.
 */
function detached(connect: (...args: Parameters<buildConnector.connector>) => unknown): buildConnector.connector {
  return (options, callback) => {
    // Its type does not say so, but undici's connector gives the socket at once.
    const socket = connect(options, callback);
    if (!(socket instanceof Socket)) return;
    socket.unref();
    socket.ref = () => socket;
  };
}

/**
 * Connects to addresses that the guard has let through, and to no others: those of a name are looked up and checked first, and then
 * handed to the socket, which looks nothing up again.
 */
function guarded(guard: AddressGuard, timeout: number, pendingRequests: PendingRequests): buildConnector.connector {
  const toLiteral = detached(buildConnector({ timeout }));
  return (options, callback) => {
    const { hostname, protocol, host = hostname } = options;
    const guardedHost = { hostname, isEncrypted: protocol === 'https:' };
    if (isIP(hostname) !== 0) {
      // What it throws is undici's to catch, like what a connector throws by itself.
      guard.check(hostname, guardedHost);
      toLiteral(options, callback);
      return;
    }
    const began = performance.now();
    const untilEmpty = (stop: () => void): (() => void) => pendingRequests.whenEmpty(`${protocol}//${host}`, stop);
    checkedAddresses(guard, guardedHost, { timeout, untilEmpty })
      .then((addresses) => {
        // A deadline of 0 is none, so one that is about to pass keeps its last ms.
        const left = timeout === 0 ? 0 : Math.max(1, timeout - (performance.now() - began));
        detached(buildConnector({ timeout: left, lookup: lookupIn(addresses) }))(options, callback);
      })
      .catch((error: unknown) => callback(faultBeforeAnswer(error), null));
  };
}

/** Looks up nothing but what is known. All of it, so that a family that is out of order is passed over for the other one. */
function lookupIn([first, ...others]: CheckedAddresses): LookupFunction {
  return (_hostname, { all }, callback) => {
    if (all === true) callback(null, [first, ...others]);
    else callback(null, first.address, first.family);
  };
}

/**
 * Whether the server closed the connection while it idled, as any server may at any time. RFC 9112, section 9.3.1, has clients expect that,
 * and send again what does no harm twice.
 */
function isStale({ isUnanswered }: Incoming, error: unknown): boolean {
  return isUnanswered && ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(codeOf(error) ?? '');
}

function faultBeforeAnswer(error: unknown): AdapterFault | SluiceError {
  if (error instanceof AdapterFault || SluiceError.is(error)) return error;
  const code = codeOf(error);
  switch (code) {
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'UND_ERR_HEADERS_TIMEOUT':
      return new AdapterFault('connect-timeout', code);
    case 'UND_ERR_INVALID_ARG':
      return new ConfigError('A link gave the request a header that can not be sent. Check the values it sets.');
    default:
      return new AdapterFault('network', proxyRefusal(error) ?? code);
  }
}

/** What a proxy answered that did not open a tunnel, e.g. 407: undici says so in words only. */
function proxyRefusal(error: unknown): string | undefined {
  const [, status] = /^Proxy response \((\d+)\)/.exec(error instanceof Error ? error.message : '') ?? [];
  return status === undefined ? undefined : `the proxy answered ${status}`;
}

/** Undici's own names are in lower case. */
function joinedHeaders(headers: Incoming['headers']): Record<string, string> {
  const joined: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) joined[name] = Array.isArray(value) ? value.join(', ') : value;
  return joined;
}

/** Ms for a body that hardly matters: a connection that takes longer is not worth being used again. */
const longestDrain = 1_000;
/** Ms to wait for what a refusal says. */
const longestExcuse = 250;

/** What there is of a body, up to `maxBytes`. That of a success is not waited for: its status has said all. */
async function readBeginning(answer: Incoming, maxBytes: number): Promise<AnswerBody> {
  const isSuccess = answer.status >= 200 && answer.status < 300;
  const drain = setTimeout(() => answer.drop(), longestDrain);
  // Nobody waits for the body of a success, so it keeps no process alive.
  drain.unref();
  // What breaks off is quoted as far as it came.
  const reading = answer.complete.catch(() => undefined).finally(() => clearTimeout(drain));
  // Mostly the body came along with the status, and the connection is free at once.
  await Promise.race([reading, isSuccess ? turnOfTheLoop() : wait(longestExcuse, undefined, { ref: false })]);
  return textBody(isSuccess ? '' : Buffer.concat(answer.chunks).toString('utf8', 0, maxBytes));
}

/** What one answer may take of the heap: a walk holds several, and writing them down takes as much again. */
const heapShare = 1 / 16;
/** No document takes more heap for a byte, so that shorter ones need no look. */
const maxHeapPerByte = 64;

/** A whole body, which may need `mostHeap` bytes once it is read. */
async function readWhole({ complete, chunks }: Incoming, maxHeap: number): Promise<AnswerBody> {
  await complete;
  const whole = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
  if (!isUtf8(whole)) throw new AdapterFault('not-text');
  if (whole.length * maxHeapPerByte > maxHeap && heapNeed(whole) > maxHeap) throw new AdapterFault('too-heavy');
  return new Utf8Body(whole);
}
