import type { IncomingHttpHeaders } from 'node:http';
import { shapesOf, type AnswerShape, type ShapeName, type Shapes } from './answerShape.js';
import { faultNames, type Fault, type FaultRates } from './faults.js';

/** The two endpoints: the streams of a project, and the NFT holdings of wallets. */
export type EndpointName = 'streams' | 'aptos';

/** A request to one of the endpoints, as a script sees it: before key, rate limit and parameters are checked. */
export interface SandboxRequest {
  readonly endpoint: EndpointName;
  /** Which request to the sandbox it is, from 1. */
  readonly n: number;
  /** Which request to this endpoint it is, from 1. */
  readonly nth: number;
  /** Which attempt of this very request it is, from 1. Those refused for their key or the rate limit don't count. */
  readonly attempt: number;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
}

/** What {@link startSandbox} takes. With the same seed and options, the same requests get the same bytes. */
export interface SandboxOptions {
  /** Default 1. */
  readonly seed?: number;
  /** The port on 127.0.0.1. Default 0: any free one. */
  readonly port?: number;
  /** What `X-API-Key` has to carry; anything else gets 401. Default `'sandbox-key-7f3a91c0d5e2'`. */
  readonly apiKey?: string;
  /** Holdings over all owners. They are computed, so 10 million start as fast as none. Default 12,345; at most 2^32 - 1. */
  readonly holdings?: number;
  /** Wallets that hold them, the first ones most. Default 3; at least 1. */
  readonly owners?: number;
  /** Streams of the project. Default 42. */
  readonly streams?: number;
  /** Share of rows with awkward values (line ends, formulas, huge amounts, nulls, unknown fields …), 0 to 1. Default 0.2. */
  readonly nasty?: number;
  /**
   * More than `requests` arrivals in any `per` ms get 429 with Retry-After in whole seconds, rounded up. The refused ones
   * don't count. Default: no limit.
   */
  readonly rateLimit?: { readonly requests: number; readonly per: number };
  /** Time before each answer in ms: fixed, or random within bounds. Default 0. */
  readonly latency?: number | readonly [min: number, max: number];
  /** Age in ms above which a cursor gets 400. Default: they never expire, and are the same at every run. */
  readonly cursorTtl?: number;
  /** How often one cursor may be sent; then it gets 400. Attempts that a fault spoils count too. Default: any number of times. */
  readonly cursorUses?: number;
  /** Faults by rate. Default: none. */
  readonly faults?: FaultRates;
  /**
   * Faults by script: asked at each request to an endpoint. Its fault wins over those by rate, and replaces or spoils
   * whatever answer is due, a refusal too. `undefined`: no fault of the script's.
   */
  readonly script?: (request: SandboxRequest) => Fault | undefined;
  /** Every so many ms one stream goes to another status. Default: none does. */
  readonly statusEvery?: number;
  /** Pack bodies above 1 kB for clients that accept gzip. Default false. */
  readonly compress?: boolean;
  /**
   * Lets pages of any origin ask (CORS): without it, a browser keeps every answer from them. Preflights are answered at once, and are in no
   * count, log or script. Default false.
   */
  readonly cors?: boolean;
  /**
   * How answers are worded: as the live service does (`live`, the default), as the API's reference shows them (`reference`), or in
   * parts of your own choice.
   */
  readonly shape?: ShapeName | AnswerShape;
  /** The clock in ms, which must not go back. Default: the time since 1970 by the monotonic clock of the process. */
  readonly now?: () => number;
}

/** The options with their defaults; "none" is an infinity where that spares a case. */
export type Settings = Required<Omit<SandboxOptions, 'rateLimit' | 'latency' | 'shape'>> & {
  readonly rateLimit: SandboxOptions['rateLimit'] | undefined;
  readonly latency: readonly [min: number, max: number];
  readonly shapes: Shapes;
};

/** Fills in the defaults. Raises `RangeError` for a number that makes no sense, naming the option. */
export function settingsOf(options: SandboxOptions): Settings {
  const { latency = 0, rateLimit, faults = {} } = options;
  const [min, max] = typeof latency === 'number' ? [latency, latency] : latency;
  if (rateLimit !== undefined) {
    check('rateLimit.requests', rateLimit.requests, { min: 1, max: 10_000_000, whole: true });
    check('rateLimit.per', rateLimit.per, { min: 1 });
  }
  return {
    seed: check('seed', options.seed ?? 1, { min: Number.MIN_SAFE_INTEGER, whole: true }),
    port: check('port', options.port ?? 0, { max: 65_535, whole: true }),
    apiKey: options.apiKey ?? 'sandbox-key-7f3a91c0d5e2',
    holdings: check('holdings', options.holdings ?? 12_345, { max: 0xffff_ffff, whole: true }),
    owners: check('owners', options.owners ?? 3, { min: 1, max: 1_000_000, whole: true }),
    streams: check('streams', options.streams ?? 42, { max: 10_000_000, whole: true }),
    nasty: check('nasty', options.nasty ?? 0.2, { max: 1 }),
    rateLimit,
    latency: [check('latency', min, {}), check('latency', max, { min })],
    cursorTtl: check('cursorTtl', options.cursorTtl ?? Infinity, {}),
    cursorUses: check('cursorUses', options.cursorUses ?? Infinity, {}),
    faults: checkRates(faults),
    script: options.script ?? (() => undefined),
    statusEvery: check('statusEvery', options.statusEvery ?? 0, {}) || Infinity,
    compress: options.compress ?? false,
    cors: options.cors ?? false,
    shapes: shapesOf(options.shape ?? 'live'),
    now: options.now ?? (() => performance.timeOrigin + performance.now()),
  };
}

/** The value of an option. Raises `RangeError` unless it is within the bounds; least by default 0. */
export function check(
  name: string,
  value: number,
  bounds: { min?: number; max?: number; whole?: boolean } = {},
): number {
  const { min = 0, max = Infinity, whole = false } = bounds;
  if (value >= min && value <= max && (!whole || Number.isInteger(value))) return value;
  throw new RangeError(`${name} is ${value}: give a ${whole ? 'whole ' : ''}number from ${min} to ${max}.`);
}

function checkRates(rates: FaultRates): FaultRates {
  const names: readonly string[] = faultNames;
  const unknown = Object.keys(rates).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new RangeError(`faults.${unknown} can't come by rate: give one of ${names.join(', ')}, or use a script.`);
  }
  const sum = faultNames.reduce((total, name) => total + check(`faults.${name}`, rates[name] ?? 0, { max: 1 }), 0);
  check('The sum of all faults', sum, { max: 1 });
  return rates;
}
