import { abortable } from '../abortable.js';
import type { Clock } from '../clock.js';
import { isRecord, kindOf } from '../values.js';
import { PluginError, SluiceError } from '../errors.js';
import { closedError, linkTimeoutError } from './requestErrors.js';
import { SignalWatch } from '../signalWatch.js';
import { Stopwatch } from './stopwatch.js';
import type { Link, Transport, TransportRequest, TransportResponse } from './transport.js';

interface LinkChainOptions {
  readonly clock: Clock;
  /** Ms that links may take for a request; `Infinity` sets no deadline. The transport below has its own deadlines. */
  readonly total: number;
  readonly closed: AbortSignal;
}

/** Finds the journey of a request. Links copy requests, and this property with them. */
const journey: unique symbol = Symbol('sluice.journey');

interface TimedRequest extends TransportRequest {
  readonly [journey]?: Journey;
}

/** Links around a transport. More links can be added innermost. */
export class LinkChain {
  readonly #transport: Transport;
  readonly #options: LinkChainOptions;
  readonly #signals = new SignalWatch();
  #innermost: { next: Transport };
  readonly #outermost: Transport;
  #hasLinks: boolean;

  constructor(transport: Transport, links: readonly Link[], options: LinkChainOptions) {
    this.#transport = (request: TimedRequest) => request[journey]?.below(transport, request) ?? transport(request);
    this.#options = options;
    const innermost = { next: this.#transport };
    this.#innermost = innermost;
    this.#hasLinks = links.length > 0;
    this.#outermost = wrapTransport((request) => innermost.next(request), links);
  }

  readonly send: Transport = (request) => {
    if (!this.#hasLinks) return this.#outermost(request);
    return new Journey(request, this.#options).through(this.#outermost, this.#signals);
  };

  /**
   * Adds links inside all others, for requests from now on. Links that exist are kept, because they may have state.
   *
   * @throws PluginError if a link does not return a function; also whatever the link throws.
   */
  add(links: readonly Link[], plugin: string): void {
    if (links.length === 0) return;
    const innermost = { next: this.#transport };
    const next = wrapTransport((request) => innermost.next(request), links, plugin);
    this.#innermost.next = next;
    this.#innermost = innermost;
    this.#hasLinks = true;
  }
}

/**
 * A request on its way through links, whose time is limited. Time of the transport below does not count: it has its own
 * deadlines, which exclude waits for the limiter.
 */
class Journey {
  readonly #request: TransportRequest;
  readonly #options: LinkChainOptions;
  readonly #stopwatch: Stopwatch;
  /** Aborted on cancellation, closing or the deadline. */
  readonly #stop = new AbortController();
  #pendingBelow = 0;
  #isOver = false;

  constructor(request: TransportRequest, options: LinkChainOptions) {
    this.#request = request;
    this.#options = options;
    const { clock, total } = options;
    this.#stopwatch = new Stopwatch(clock, total, () => this.#stop.abort(linkTimeoutError(request.route, total)));
  }

  /** The response; or a rejection at once when it is stopped, whatever the links are doing. */
  async through(links: Transport, signals: SignalWatch): Promise<TransportResponse> {
    const { signal, route } = this.#request;
    signal?.throwIfAborted();
    const unwatch = [signals.watch(this.#options.closed, () => this.#stop.abort(closedError(route)))];
    if (signal) unwatch.push(signals.watch(signal, () => this.#stop.abort(signal.reason)));
    this.#stopwatch.run();
    const request: TimedRequest = { ...this.#request, [journey]: this };
    try {
      return await abortable(links(request), this.#stop.signal);
    } finally {
      this.#isOver = true;
      this.#stopwatch.stop();
      for (const end of unwatch) end();
    }
  }

  /** Sends the request that the innermost link passed on. Nothing is sent once the journey was stopped. */
  async below(transport: Transport, request: TransportRequest): Promise<TransportResponse> {
    this.#stop.signal.throwIfAborted();
    this.#pendingBelow += 1;
    this.#stopwatch.pause();
    try {
      return await transport(request);
    } finally {
      this.#pendingBelow -= 1;
      if (this.#pendingBelow === 0 && !this.#isOver) this.#stopwatch.run();
    }
  }
}

/** Puts links around a transport, the first one outermost. */
function wrapTransport(transport: Transport, links: readonly Link[], plugin?: string): Transport {
  return links.reduceRight<Transport>((next, link) => wrapLink(next, link, plugin), transport);
}

/** Wraps a link: an error, or a result that is not a response, names it. The client's own links may throw any error. */
function wrapLink(next: Transport, link: Link, plugin: string | undefined): Transport {
  const whose = plugin === undefined ? "A link among the client's options" : `A link of the plugin "${plugin}"`;
  const transport: unknown = link((request) => {
    const response = next(request);
    // The link may drop it, and when it is rejected later, e.g. by an abort, that would end the process.
    response.catch(() => undefined);
    return response;
  });
  if (typeof transport !== 'function')
    throw new PluginError(
      `${whose} returned ${transport === undefined ? 'nothing' : kindOf(transport)}: it has to return a function that sends a request.`,
    );
  return async (request) => {
    let response: unknown;
    try {
      response = await Reflect.apply(transport, undefined, [request]);
    } catch (error) {
      const isStop = request.signal?.aborted === true && error === request.signal.reason;
      const isOwn = plugin === undefined && error instanceof Error;
      if (isStop || isOwn || SluiceError.is(error)) throw error;
      throw new PluginError(`${whose} failed at ${request.route}.`, { cause: error, advice: [{ kind: 'see-cause' }] });
    }
    if (isResponse(response)) return response;
    throw new PluginError(
      `${whose} responded to ${request.route} with ${response === undefined ? 'nothing' : kindOf(response)}: it has to return the response of next.`,
    );
  };
}

function isResponse(response: unknown): response is TransportResponse {
  return (
    isRecord(response) && 'body' in response && isRecord(response['headers']) && typeof response['status'] === 'number'
  );
}
