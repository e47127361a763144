import type { Clock } from '../clock.js';
import { isRecord, kindOf } from '../values.js';
import { PluginError, SluiceError } from '../errors.js';
import { closedError, linkTimeoutError } from './answer.js';
import { SignalWatch } from './signalWatch.js';
import { Stopwatch } from './stopwatch.js';
import type { Link, Transport, TransportRequest, TransportResponse } from './transport.js';

interface LinkChainOptions {
  readonly clock: Clock;
  /** Ms that links may take for a request; `Infinity` sets no deadline. What is below them has deadlines of its own. */
  readonly total: number;
  readonly closed: AbortSignal;
}

/** What a link's request belongs to. Links copy requests, and this along with them. */
const journey: unique symbol = Symbol('sluice.journey');

interface TimedRequest extends TransportRequest {
  readonly [journey]?: Journey;
}

/** Links around a transport, with room for more between them and the transport. */
export class LinkChain {
  readonly #transport: Transport;
  readonly #options: LinkChainOptions;
  readonly #signals = new SignalWatch();
  /** What the innermost link calls. */
  #innermost: { next: Transport };
  readonly #outermost: Transport;
  #hasLinks: boolean;

  constructor(transport: Transport, links: readonly Link[], options: LinkChainOptions) {
    this.#transport = (request: TimedRequest) => request[journey]?.below(transport, request) ?? transport(request);
    this.#options = options;
    const innermost = { next: this.#transport };
    this.#innermost = innermost;
    this.#hasLinks = links.length > 0;
    this.#outermost = linked((request) => innermost.next(request), links);
  }

  readonly send: Transport = (request) => {
    if (!this.#hasLinks) return this.#outermost(request);
    return new Journey(request, this.#options, this.#signals).through(this.#outermost);
  };

  /**
   * Puts links inside all others, for requests from now on. What was put there stays as it is: a link may remember something.
   *
   * @throws PluginError if one of them makes no transport, or whatever it throws.
   */
  add(links: readonly Link[], plugin: string): void {
    if (links.length === 0) return;
    const innermost = { next: this.#transport };
    const next = linked((request) => innermost.next(request), links, plugin);
    this.#innermost.next = next;
    this.#innermost = innermost;
    this.#hasLinks = true;
  }
}

/**
 * A request on its way through links. The time that they take is counted, and stands still while the transport below them works: that has
 * deadlines of its own, which leave out waits for the limiter.
 */
class Journey {
  readonly #request: TransportRequest;
  readonly #options: LinkChainOptions;
  readonly #signals: SignalWatch;
  readonly #stopwatch: Stopwatch;
  #below = 0;
  #isUnderWay = true;
  readonly #unwatch: (() => void)[] = [];
  #end: (error: unknown) => void = () => undefined;
  #ended: { readonly reason: unknown } | undefined;

  constructor(request: TransportRequest, options: LinkChainOptions, signals: SignalWatch) {
    this.#request = request;
    this.#options = options;
    this.#signals = signals;
    const { clock, total } = options;
    this.#stopwatch = new Stopwatch(clock, total, () => this.#end(linkTimeoutError(request.route, total)));
  }

  /** The answer, or an end from outside at once, whatever the links are doing. */
  through(links: Transport): Promise<TransportResponse> {
    const { signal, route } = this.#request;
    const { closed } = this.#options;
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      this.#end = (reason) => {
        this.#ended ??= { reason };
        this.#close();
        reject(reason);
      };
      this.#unwatch.push(this.#signals.watch(closed, () => this.#end(closedError(route))));
      if (signal) this.#unwatch.push(this.#signals.watch(signal, () => this.#end(signal.reason)));
      this.#stopwatch.run();
      const request: TimedRequest = { ...this.#request, [journey]: this };
      links(request)
        .then(resolve, reject)
        .finally(() => this.#close());
    });
  }

  /** Sends what a link has made of the request. Nothing is sent for somebody who has gone. */
  async below(transport: Transport, request: TransportRequest): Promise<TransportResponse> {
    if (this.#ended) throw this.#ended.reason;
    this.#below += 1;
    this.#stopwatch.pause();
    try {
      return await transport(request);
    } finally {
      this.#below -= 1;
      if (this.#below === 0 && this.#isUnderWay) this.#stopwatch.run();
    }
  }

  #close(): void {
    this.#isUnderWay = false;
    this.#stopwatch.stop();
    for (const unwatch of this.#unwatch) unwatch();
  }
}

/** Puts links around a transport, the first one outermost. */
function linked(transport: Transport, links: readonly Link[], plugin?: string): Transport {
  return links.reduceRight<Transport>((next, link) => named(next, link, plugin), transport);
}

/**
 * A link that is named where it fails, or answers what is no answer: no compiler may have seen it. Those that a program has given by itself
 * may throw errors of their own, to be caught there.
 */
function named(next: Transport, link: Link, plugin: string | undefined): Transport {
  const whose = plugin === undefined ? "A link among the client's options" : `A link of the plugin "${plugin}"`;
  const made: unknown = link(next);
  if (typeof made !== 'function')
    throw new PluginError(
      `${whose} gave ${made === undefined ? 'nothing' : kindOf(made)}: it has to return a function that sends a request.`,
    );
  return async (request) => {
    let answer: unknown;
    try {
      answer = await Reflect.apply(made, undefined, [request]);
    } catch (error) {
      const isStop = request.signal?.aborted === true && error === request.signal.reason;
      const isOwn = plugin === undefined && error instanceof Error;
      if (isStop || isOwn || SluiceError.is(error)) throw error;
      throw new PluginError(`${whose} failed at ${request.route}.`, { cause: error, advice: [{ kind: 'see-cause' }] });
    }
    if (isResponse(answer)) return answer;
    throw new PluginError(
      `${whose} answered ${request.route} with ${answer === undefined ? 'nothing' : kindOf(answer)}: it has to return what next answers.`,
    );
  };
}

function isResponse(answer: unknown): answer is TransportResponse {
  return isRecord(answer) && 'body' in answer && isRecord(answer['headers']) && typeof answer['status'] === 'number';
}
