import type { IncomingHttpHeaders } from 'node:http';
import { fillShapes, type AnswerShape, type ShapeName, type Shapes } from './served/answerShape.js';
import { faultNames, isFaultName, type Fault, type FaultRates } from './faults.js';

/** The two endpoints: the streams of a project, and the NFT holdings of wallets. */
export type EndpointName = 'streams' | 'aptos';

/** A request as a script sees it: before key, rate limit and parameters are checked. */
export interface SandboxRequest {
  readonly endpoint: EndpointName;
  /** Number of the request to the sandbox, from 1. */
  readonly n: number;
  /** Number of the request to this endpoint, from 1. */
  readonly nth: number;
  /** Number of the attempt of this request, from 1, without those refused for the key or the rate limit. */
  readonly attempt: number;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
}

/** Options of {@link startSandbox}. With the same seed and options, the same requests get the same bytes. */
export interface SandboxOptions {
  /** Default 1. */
  readonly seed?: number;
  /** The port on 127.0.0.1. Default 0: any free one. */
  readonly port?: number;
  /** The required `X-API-Key`; others get 401. Default `'sandbox-key-7f3a91c0d5e2'`. */
  readonly apiKey?: string;
  /** Holdings of all owners, at most 2^32 - 1. Computed, so 10 million start as fast as none. Default 12,345. */
  readonly holdings?: number;
  /** Wallets, at least 1; the first ones have most holdings. Default 3. */
  readonly owners?: number;
  /** Streams of the project. Default 42. */
  readonly streams?: number;
  /**
   * Share of rows with nasty values (line ends, formulas, huge amounts, nulls, unknown fields), 0 to 1. Default 0.2.
   */
  readonly nasty?: number;
  /** Above `requests` in any `per` ms: 429 with Retry-After in seconds. Refused ones don't count. Default: no limit. */
  readonly rateLimit?: { readonly requests: number; readonly per: number };
  /** Latency of each response in ms: fixed, or random within bounds. Default 0. */
  readonly latency?: number | readonly [min: number, max: number];
  /** Age in ms above which a cursor gets 400. Default: cursors never expire, and are the same in every run. */
  readonly cursorTtl?: number;
  /** How often a cursor may be sent; then it gets 400. Attempts with faults count too. Default: no limit. */
  readonly cursorUses?: number;
  /** Faults by rate. Default: none. */
  readonly faults?: FaultRates;
  /** Called for each request. Its fault overrides faults by rate, and applies to any response, even a refusal. */
  readonly script?: (request: SandboxRequest) => Fault | undefined;
  /** Interval in ms at which one stream changes its status. Default: never. */
  readonly statusEvery?: number;
  /** Compresses bodies above 1 KiB for clients that accept gzip. Default false. */
  readonly compress?: boolean;
  /** Allows browser requests from any origin (CORS). Preflights are not counted, logged or scripted. Default false. */
  readonly cors?: boolean;
  /**
   * The shape of responses: of the live service (`live`, default), of the API's reference (`reference`), or your own.
   */
  readonly shape?: ShapeName | AnswerShape;
  /** A monotonic clock in ms. Default: the time since 1970 by the process's monotonic clock. */
  readonly now?: () => number;
}

/** The options with their defaults; some limits default to `Infinity`. */
export type Settings = Required<Omit<SandboxOptions, 'rateLimit' | 'latency' | 'shape'>> & {
  readonly rateLimit: SandboxOptions['rateLimit'] | undefined;
  readonly latency: readonly [min: number, max: number];
  readonly shape: Shapes;
};

/** Fills in the defaults. Throws `RangeError` with the option's name for an invalid number. */
export function checkOptions(options: SandboxOptions): Settings {
  checkObject(options);
  const { latency = 0, rateLimit, faults = {} } = options;
  const [min, max] = typeof latency === 'number' ? [latency, latency] : latency;
  if (rateLimit !== undefined) {
    check('rateLimit.requests', rateLimit.requests, { min: 1, max: 10_000_000, whole: true });
    check('rateLimit.per', rateLimit.per, { min: 1 });
  }
  const settings: Settings = {
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
    shape: fillShapes(options.shape ?? 'live'),
    now: options.now ?? (() => performance.timeOrigin + performance.now()),
  };
  refuseUnknown(options, settings);
  return settings;
}

/** Throws `RangeError` unless options are in an object: JavaScript callers may pass anything. */
export function checkObject(options: unknown): void {
  if (typeof options !== 'object' || options === null)
    throw new RangeError(`The options are ${String(options)}: give an object.`);
}

/** Refuses options with names that the settings do not have. Throws `RangeError`. */
export function refuseUnknown<Options extends object>(
  options: Options,
  known: Readonly<Record<keyof NoInfer<Options>, unknown>>,
): void {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  throw new RangeError(`There is no option ${JSON.stringify(unknown)}. Known: ${Object.keys(known).join(', ')}.`);
}

/** Returns the value of an option. Throws `RangeError` if it is out of bounds; default from 0. */
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
  const unknown = Object.keys(rates).find((name) => !isFaultName(name));
  if (unknown !== undefined)
    throw new RangeError(`faults.${unknown} can't have a rate: give one of ${faultNames.join(', ')}, or use a script.`);
  const sum = faultNames.reduce((total, name) => total + check(`faults.${name}`, rates[name] ?? 0, { max: 1 }), 0);
  check('The sum of all faults', sum, { max: 1 });
  return rates;
}
