import { isUtf8 } from 'node:buffer';
import { isIP, Socket, type LookupFunction } from 'node:net';
import { setImmediate as nextLoopTurn, setTimeout as wait } from 'node:timers/promises';
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
  type AttemptRequest,
  textBody,
} from './adapter.js';
import { PendingRequests } from './pendingRequests.js';
import { checkedAddresses, type CheckedAddresses } from './checkedAddresses.js';
import { heapNeed } from './heapNeed.js';
import { codeOf, Incoming } from './incoming.js';
import { ObservedPools, type ObservedRequest } from './observedPool.js';
import { Utf8Body } from './utf8Body.js';

/** `deflate` is decoded but not requested, because servers disagree on what it is. */
const encodings = { 'accept-encoding': 'gzip, br' };

/**
 * Undici under axios: keep-alive, a deadline for connecting, and the proxies of `HTTPS_PROXY`, `HTTP_PROXY` and
 * `NO_PROXY`, never for loopback addresses. Undici does not follow redirects. With a guard, it connects only to
 * addresses that the guard allowed; open connections are reused.
 */
export function createAdapter(adapterOptions: AdapterOptions): Adapter {
  const { connectTimeout, maxBodyBytes, bodies = 'whole', guard, proxies = true } = adapterOptions;
  const timeout = Number.isFinite(connectTimeout) ? connectTimeout : 0;
  const maxHeap = getHeapStatistics().heap_size_limit * heapShare;
  const pendingRequests = new PendingRequests();
  const connect = guard ? guarded(guard, timeout, pendingRequests) : detached(buildConnector({ timeout }));
  const isDirect = (hostname: string): boolean => guard !== undefined || !proxies || isLoopback(hostname);
  // The transport has the deadlines; undici's own would add a second, coarser clock.
  const pools = new ObservedPools();
  const options = { connect, factory: pools.create, headersTimeout: 0, bodyTimeout: 0 };
  const direct = dispatchers((reuse) => new Agent({ ...options, ...reuse }));
  let proxied: Dispatchers | undefined;
  const throughProxies = async (): Promise<Dispatchers> => {
    const { proxyAgent } = await import('./proxyAgent.js');
    return (proxied ??= dispatchers((reuse) => proxyAgent(connect, timeout, { factory: pools.create, ...reuse })));
  };
  const targetOf = rememberedTarget();
  const headersOf = rememberedHeaders();
  return {
    announcesWrites: true,
    async send({ url, method, headers: given, body = null, isFresh = false, signal, onWrite }) {
      const { origin, hostname, path } = targetOf(url);
      const answer = new Incoming({ maxBytes: maxBodyBytes, signal, onWrite });
      const release = pendingRequests.enter(origin);
      try {
        // Without a proxy, nothing is awaited before the request is sent.
        const isProxied = !isDirect(hostname) && (proxied !== undefined || namesProxy(process.env));
        const { kept, fresh } = isProxied ? (proxied ?? (await throughProxies())) : direct;
        // Undici's proxy agent writes the host into the headers that it gets, so it gets some of its own.
        const headers = isProxied ? { ...headersOf(given) } : headersOf(given);
        const request: ObservedRequest = { origin, path, method, body, headers, answer };
        (isFresh ? fresh : kept).dispatch(request, answer);
        await answer.answered;
      } catch (error) {
        answer.drop();
        throw isStale(answer, error) ? new AdapterFault('stale', codeOf(error)) : faultBeforeAnswer(error);
      } finally {
        release();
      }
      return {
        status: answer.status,
        headers: joinedHeaders(answer.headers),
        body: await (bodies === 'whole' ? readWhole(answer, maxHeap) : readBeginning(answer, maxBodyBytes)),
      };
    },
    async close() {
      pools.close();
      const all = [direct, proxied].flatMap((each) => (each ? [each.kept, each.fresh] : []));
      await Promise.all(all.map((dispatcher) => dispatcher.destroy()));
    },
  };
}

/** Where a request goes. */
interface Target {
  readonly origin: string;
  readonly hostname: string;
  /** With its query. */
  readonly path: string;
}

/** A query as {@link encodeQuery} writes it: a `URL` would not change it. */
const encodedQuery = /^[\w*.%+&=-]*$/;

/** Takes addresses apart, and remembers the last one: the requests of a walk differ in their queries only. */
function rememberedTarget(): (address: string) => Target {
  let last: { readonly before: string; readonly target: Target } | undefined;
  return (address) => {
    const end = address.indexOf('?') + 1;
    const before = address.slice(0, end);
    const query = address.slice(end);
    if (end > 0 && last?.before === before && encodedQuery.test(query))
      return { ...last.target, path: last.target.path + query };
    const { origin, hostname, pathname, search, hash } = new URL(address);
    // A question mark within a fragment begins no query.
    last = hash === '' ? { before, target: { origin, hostname, path: `${pathname}?` } } : undefined;
    return { origin, hostname, path: pathname + search };
  };
}

/** Adds the encodings that we can decode. It remembers the last headers, unless somebody may modify them. */
function rememberedHeaders(): (headers: AttemptRequest['headers']) => Readonly<Record<string, string>> {
  let last:
    { readonly headers: AttemptRequest['headers']; readonly sent: Readonly<Record<string, string>> } | undefined;
  return (headers) => {
    if (last?.headers === headers) return last.sent;
    const sent = Object.freeze({ ...encodings, ...headers });
    if (Object.isFrozen(headers)) last = { headers, sent };
    return sent;
  };
}

/** One dispatcher reuses connections, one opens a connection per request. */
interface Dispatchers {
  readonly kept: Dispatcher;
  readonly fresh: Dispatcher;
}

function dispatchers(create: (reuse: { readonly pipelining?: 0 }) => Dispatcher): Dispatchers {
  // Undici closes such a connection after its response.
  return { kept: create({}), fresh: create({ pipelining: 0 }) };
}

/** Whether the environment has one of the proxy variables that undici reads. */
function namesProxy({ http_proxy, HTTP_PROXY, https_proxy, HTTPS_PROXY }: NodeJS.ProcessEnv): boolean {
  return [http_proxy, HTTP_PROXY, https_proxy, HTTPS_PROXY].some(Boolean);
}

/** Connects with sockets that do not keep the process alive: undici does not stop connecting for an aborted request. */
function detached(connect: (...args: Parameters<buildConnector.connector>) => unknown): buildConnector.connector {
  return (options, callback) => {
    // Contrary to its type, undici's connector returns the socket at once.
    const socket = connect(options, callback);
    if (!(socket instanceof Socket)) return;
    socket.unref();
    socket.ref = () => socket;
  };
}

/** Connects only to addresses that the guard allows. The socket gets the checked ones instead of resolving again. */
function guarded(guard: AddressGuard, timeout: number, pendingRequests: PendingRequests): buildConnector.connector {
  const toLiteral = detached(buildConnector({ timeout }));
  return (options, callback) => {
    const { hostname, protocol, host = hostname } = options;
    const guardedHost = { hostname, isEncrypted: protocol === 'https:' };
    if (isIP(hostname) !== 0) {
      // Undici catches what this throws, as from any connector.
      guard.check(hostname, guardedHost);
      toLiteral(options, callback);
      return;
    }
    const began = performance.now();
    const untilEmpty = (stop: () => void): (() => void) => pendingRequests.whenEmpty(`${protocol}//${host}`, stop);
    checkedAddresses(guard, guardedHost, { timeout, untilEmpty })
      .then((addresses) => {
        // At least 1, because 0 means no deadline.
        const left = timeout === 0 ? 0 : Math.max(1, timeout - (performance.now() - began));
        detached(buildConnector({ timeout: left, lookup: lookupIn(addresses) }))(options, callback);
      })
      .catch((error: unknown) => callback(faultBeforeAnswer(error), null));
  };
}

/** A lookup that returns the known addresses. With `all`, the socket can fall back to the other address family. */
function lookupIn([first, ...others]: CheckedAddresses): LookupFunction {
  return (_hostname, { all }, callback) => {
    if (all === true) callback(null, [first, ...others]);
    else callback(null, first.address, first.family);
  };
}

/** Whether the server closed the idle connection, as it may (RFC 9112, section 9.3.1): the request is sent again. */
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
      return new ConfigError('A link gave the request a header that cannot be sent. Check the values it sets.');
    default:
      return new AdapterFault('network', proxyRefusal(error) ?? code);
  }
}

/** The status of a proxy that did not open a tunnel, e.g. 407. Undici gives it only in the message. */
function proxyRefusal(error: unknown): string | undefined {
  const [, status] = /^Proxy response \((\d+)\)/.exec(error instanceof Error ? error.message : '') ?? [];
  return status === undefined ? undefined : `the proxy responded with ${status}`;
}

/** Undici gives names in lower case. */
function joinedHeaders(headers: Incoming['headers']): Record<string, string> {
  const joined: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) joined[name] = Array.isArray(value) ? value.join(', ') : value;
  return joined;
}

/** Ms to read an ignored body: a connection that takes longer is not worth reusing. */
const longestDrain = 1_000;
/** Ms to wait for the body of an error. */
const longestErrorWait = 250;

/** What has arrived of a body, up to `maxBytes`. The body of a success is not awaited: its status is enough. */
async function readBeginning(answer: Incoming, maxBytes: number): Promise<AnswerBody> {
  const isSuccess = answer.status >= 200 && answer.status < 300;
  const drain = setTimeout(() => answer.drop(), longestDrain);
  // Nobody waits for this body, so the timer must not keep the process alive.
  drain.unref();
  // A body that breaks off is quoted as far as it came.
  const reading = answer.complete.catch(() => undefined).finally(() => clearTimeout(drain));
  // Usually the body arrived with the status, and the connection is free at once.
  await Promise.race([reading, isSuccess ? nextLoopTurn() : wait(longestErrorWait, undefined, { ref: false })]);
  return textBody(isSuccess ? '' : Buffer.concat(answer.chunks).toString('utf8', 0, maxBytes));
}

/** Share of the heap for one response: a walk holds several, and serializing them takes as much again. */
const heapShare = 1 / 16;
/** Upper bound of heap per byte of JSON, so that short documents need no check. */
const maxHeapPerByte = 64;

/** A complete body, which may take `maxHeap` bytes once parsed. */
async function readWhole({ complete, chunks }: Incoming, maxHeap: number): Promise<AnswerBody> {
  await complete;
  const whole = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
  if (!isUtf8(whole)) throw new AdapterFault('not-text');
  if (whole.length * maxHeapPerByte > maxHeap && heapNeed(whole) > maxHeap) throw new AdapterFault('too-heavy');
  return new Utf8Body(whole);
}
