import type { Position } from './position.js';
import { isRecord } from './values.js';

/** An error code that programs can compare. Each code belongs to one class. */
export type SluiceErrorCode =
  | 'config'
  | 'network'
  | 'timeout'
  | 'http'
  | 'rate-limited'
  | 'unexpected-redirect'
  | 'decode'
  | 'response-too-large'
  | 'forbidden-address'
  | PaginationFault
  | 'checkpoint'
  | 'lock'
  | 'backpressure'
  | 'sink'
  | 'plugin';

/** Why a walk cannot continue; the code of a {@link PaginationError}. */
export type PaginationFault =
  | 'no-progress'
  | 'missing-cursor'
  | 'cursor-refused'
  | 'rows-moved'
  | 'rows-missing'
  | 'rows-repeated'
  | 'too-many-pages'
  | 'secret-in-cursor';

/** Details of an error, safe to log: plain values, never the API key or a whole response body. */
export type ErrorDetails = Readonly<Record<string, unknown>>;

/** The cause of an error: the API, the endpoint that receives records, the caller, the machine, or a plugin. */
export type Fault = 'api' | 'endpoint' | 'caller' | 'machine' | 'plugin';

/**
 * A way to solve an error, with the name of the option to change in this package. It contains no text from outside.
 *
 * `rerun`: use the previous settings. `restart-partition`: walk the partition again, as an export does with `onExpired:
 * 'restart-partition'`. `allow`: confirm with the option that this is intended.
 */
export type Advice =
  | { readonly kind: 'wait' | 'rerun' | 'restart' | 'restart-partition' | 'see-cause'; readonly option?: never }
  | {
      readonly kind: 'raise';
      readonly option:
        | `timeouts.${'connect' | 'response' | 'total'}`
        | 'timeout'
        | 'retry.for'
        | 'maxRetryAfter'
        | 'maxBodyBytes'
        | 'maxDeadLetters';
    }
  | { readonly kind: 'lower'; readonly option: 'pageSize' | 'rateLimit' | 'deliveries' }
  | { readonly kind: 'set'; readonly option: 'apiKey' | 'full' | 'key' | 'repeats' | 'state' }
  | {
      readonly kind: 'allow';
      readonly option:
        | 'sameProject'
        | 'breakLock'
        | 'trustFileSystem'
        | 'ifExists'
        | 'allowAddresses'
        | 'allowInsecure'
        | 'requireTotal'
        | 'maxRemoved';
    };

/** A summary of the error, or a function that returns it, given another name for the option or settings at fault. */
type Summary = string | ((option?: string) => string);

interface SluiceErrorOptions {
  readonly details?: ErrorDetails | undefined;
  readonly cause?: unknown;
  /** Advice, the best first. It is appended to the message. */
  readonly advice?: readonly Advice[] | undefined;
  /** Default: by code. */
  readonly fault?: Fault | undefined;
}

/** Identifies our errors across copies of this package, where `instanceof` would fail. */
const brand = Symbol.for('sluice.error');

/**
 * The base class of every error that Sluice throws on purpose.
 *
 * The message says what happened, where, and what to do next. Neither it nor any other property holds the API key.
 *
 * @example
 * try {
 *   await exportTo(source, sink).run();
 * } catch (error) {
 *   if (SluiceError.is(error, 'rate-limited')) console.error(error.message, error.docs);
 * }
 */
export class SluiceError extends Error {
  readonly code: SluiceErrorCode;
  readonly details: ErrorDetails;
  /** The message without its advice. */
  readonly summary: string;
  /** Advice, the best first; empty if the summary says what to do. */
  readonly advice: readonly Advice[];
  readonly fault: Fault;
  readonly #write: ((option?: string) => string) | undefined;
  /** Where the walk failed: `source.pages({ startAt: error.position })` resumes there. */
  position?: Position;

  constructor(code: SluiceErrorCode, summaryOf: Summary, options: SluiceErrorOptions = {}) {
    const { advice = [], cause } = options;
    const summary = typeof summaryOf === 'string' ? summaryOf : summaryOf();
    super(messageOf(code, summary, advice), cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
    this.summary = summary;
    this.#write = typeof summaryOf === 'string' ? undefined : summaryOf;
    this.advice = advice;
    this.details = options.details ?? {};
    this.fault = options.fault ?? faultOf(code);
    Object.defineProperty(this, brand, { value: true });
  }

  /** The page that explains this code and its solution; it is part of the package. */
  get docs(): string {
    return `@sluice/core/docs/errors.md#${this.code}`;
  }

  /** The summary with another name for its option or settings, e.g. `--page-size`; unchanged if it names none. */
  summaryWith(option: string): string {
    const written = this.#write?.();
    // A summary that was redacted since then stays unchanged.
    if (written === undefined || !this.summary.startsWith(written)) return this.summary;
    return (this.#write?.(option) ?? '') + this.summary.slice(written.length);
  }

  /** Whether `value` is a `SluiceError` (of this code, if given), from any copy of the package. */
  static is<Code extends SluiceErrorCode>(value: unknown, code: Code): value is ErrorOf<Code>;
  static is(value: unknown, code?: SluiceErrorCode): value is SluiceError;
  static is(value: unknown, code?: SluiceErrorCode): value is SluiceError {
    return value instanceof Error && brand in value && (code === undefined || ('code' in value && value.code === code));
  }

  /** The error for logs: name, code, message, advice, fault, details, docs and position. */
  toJSON(): Record<string, unknown> {
    return {
      name: this.name,
      code: this.code,
      message: this.message,
      ...(this.advice.length > 0 && { advice: this.advice }),
      fault: this.fault,
      details: this.details,
      docs: this.docs,
      ...(this.position && { position: this.position }),
    };
  }
}

/** The class of a code, if it has more properties than all errors. */
type ErrorOf<Code extends SluiceErrorCode> = Code extends 'http'
  ? HttpError
  : Code extends 'rate-limited'
    ? RateLimitError
    : SluiceError;

/** An option, argument or environment variable is invalid. Thrown before any request; nothing was changed. */
export class ConfigError extends SluiceError {
  constructor(summary: Summary, details?: ErrorDetails, advice?: readonly Advice[]) {
    super('config', summary, { details, advice });
  }
}

/** There is no response: the name did not resolve, or the connection was refused, reset or lost. */
export class NetworkError extends SluiceError {
  constructor(summary: string, options: SluiceErrorOptions = {}) {
    super('network', summary, options);
  }
}

/** A deadline passed: `details.deadline` is `connect`, `response` or `total`, `details.ms` its length. */
export class RequestTimeoutError extends SluiceError {
  constructor(summary: string, options: SluiceErrorOptions = {}) {
    super('timeout', summary, options);
  }
}

/** The API responded with an error status, and retries did not help or would not. */
export class HttpError extends SluiceError {
  readonly status: number;
  /** The beginning of the response's body, with secrets redacted; empty if it had none. */
  readonly excerpt: string;

  constructor(summary: string, options: SluiceErrorOptions & { status: number; excerpt: string }) {
    const { status, excerpt } = options;
    super('http', summary, { ...options, details: { ...options.details, status, excerpt } });
    this.status = options.status;
    this.excerpt = options.excerpt;
  }
}

/**
 * The API asked for a longer pause than `maxRetryAfter` allows, or refused every retry, or its quota is used up for
 * longer than `maxQuotaWait`.
 */
export class RateLimitError extends SluiceError {
  /** The status of the last refused response; 429 if none was refused. */
  readonly status: number;
  /** When the API accepts requests again, by our clock; absent if it did not say. */
  readonly retryAt: Date | undefined;

  constructor(summary: string, options: SluiceErrorOptions & { status: number; retryAt: Date | undefined }) {
    const { status, retryAt } = options;
    super('rate-limited', summary, {
      ...options,
      details: { ...options.details, status, retryAt: retryAt?.toISOString() },
    });
    this.status = options.status;
    this.retryAt = options.retryAt;
  }
}

/**
 * The API responded with a redirect that is not followed: it leaves the base URL, so the key would be sent elsewhere,
 * drops a parameter of the request, is the sixth in a row, or answers another method than GET.
 */
export class UnexpectedRedirectError extends SluiceError {
  constructor(summary: string, details?: ErrorDetails, advice?: readonly Advice[]) {
    super('unexpected-redirect', summary, { details, advice });
  }
}

/** A response is invalid: cut, not JSON, HTML, or of an unexpected shape; `details.path` is the place in it. */
export class DecodeError extends SluiceError {
  constructor(summary: string, details?: ErrorDetails, advice?: readonly Advice[]) {
    super('decode', summary, { details, advice });
  }
}

/** A response is larger than `maxBodyBytes`, after decompression, or would take too much memory once parsed. */
export class ResponseTooLargeError extends SluiceError {
  constructor(summary: string, details?: ErrorDetails, advice?: readonly Advice[]) {
    super('response-too-large', summary, { details, advice });
  }
}

/** A host resolves to a forbidden address; not connected. Details: `host`, `address`, and `kind` of address. */
export class ForbiddenAddressError extends SluiceError {
  constructor(summary: string, details?: ErrorDetails, advice?: readonly Advice[]) {
    super('forbidden-address', summary, { details, advice });
  }
}

/** A walk cannot continue; the code says why, and `position` where. */
export class PaginationError extends SluiceError {
  constructor(code: PaginationFault, summary: string, options: SluiceErrorOptions = {}) {
    super(code, summary, options);
  }
}

/** A checkpoint does not match the plan or the target, or cannot be read. Neither was changed. */
export class CheckpointError extends SluiceError {
  constructor(summary: Summary, details?: ErrorDetails, advice?: readonly Advice[]) {
    super('checkpoint', summary, { details, advice });
  }
}

/** Another process uses the same target. */
export class LockError extends SluiceError {
  constructor(summary: string, details?: ErrorDetails, advice?: readonly Advice[]) {
    super('lock', summary, { details, advice });
  }
}

/** A pushed source outran its sink and the buffer is full. */
export class BackpressureError extends SluiceError {
  constructor(summary: string, details?: ErrorDetails, advice?: readonly Advice[]) {
    super('backpressure', summary, { details, advice });
  }
}

/** A sink cannot write: disk full, no permission, the target exists. */
export class SinkError extends SluiceError {
  constructor(summary: Summary, options: SluiceErrorOptions = {}) {
    super('sink', summary, options);
  }
}

/** A plugin conflicts with another one, lacks something, or its setup failed. */
export class PluginError extends SluiceError {
  constructor(summary: string, options: SluiceErrorOptions = {}) {
    super('plugin', summary, options);
  }
}

export function amend(error: SluiceError, more: string, advice: readonly Advice[] = []): void {
  const summary = `${error.summary} ${more}`;
  const all = [...error.advice, ...advice];
  const { message: before, stack } = error;
  const message = messageOf(error.code, summary, all);
  // The stack begins with the message, and logs print the stack.
  Object.assign(error, { summary, advice: all, message, stack: stack?.replace(before, () => message) });
}

/** The valid advice of any error. It never throws. */
export function adviceOf(given: unknown): readonly Advice[] {
  try {
    return Array.isArray(given) ? Object.freeze(given.map(copyOf).filter(isAdvice)) : [];
  } catch {
    return [];
  }
}

/** Copies advice, reading it once, since a getter may return another value each time. */
function copyOf(given: unknown): { readonly kind?: unknown; readonly option?: unknown } {
  if (!isRecord(given)) return {};
  const { kind, option } = given;
  return Object.freeze(option === undefined ? { kind } : { kind, option });
}

function isAdvice(advice: { readonly kind?: unknown; readonly option?: unknown }): advice is Advice {
  return Object.hasOwn(adviceTexts, nameOf(advice));
}

function nameOf({ kind, option }: { readonly kind?: unknown; readonly option?: unknown }): string {
  return typeof option === 'string' ? `${String(kind)} ${option}` : String(kind);
}

/** Codes of errors that are thrown before anything is changed. */
const refusals: ReadonlySet<SluiceErrorCode> = new Set<SluiceErrorCode>(['checkpoint', 'lock']);

function messageOf(code: SluiceErrorCode, summary: string, advice: readonly Advice[]): string {
  if (advice.length === 0) return summary;
  const text = advice.map((each) => adviceTexts[nameOf(each)]).join(', or ');
  return `${summary} ${text.charAt(0).toUpperCase()}${text.slice(1)}${refusals.has(code) ? ': nothing was changed' : ''}.`;
}

/** Advice as text for programmers. */
const adviceTexts: Readonly<Record<string, string>> = {
  wait: 'try again later',
  rerun: 'use the previous settings',
  restart: 'start over with restart',
  'restart-partition': "walk this partition again (an export does with onExpired: 'restart-partition')",
  'see-cause': 'see its cause',
  'raise timeouts.connect': 'raise timeouts.connect',
  'raise timeouts.response': 'raise timeouts.response',
  'raise timeouts.total': 'raise timeouts.total',
  'raise timeout': 'raise timeout',
  'raise retry.for': 'raise retry.for to retry for longer',
  'raise maxRetryAfter': 'raise retry.maxRetryAfter',
  'raise maxBodyBytes': 'raise maxBodyBytes',
  'raise maxDeadLetters': 'raise maxDeadLetters to continue anyway',
  'lower pageSize': 'request smaller pages (pageSize)',
  'lower rateLimit': 'lower rateLimit',
  'lower deliveries': 'lower deliveries',
  'set apiKey': 'set apiKey if it needs one',
  'set full': 'export all rows again, with incremental: { full: true }',
  'set key': 'name the columns that identify a row, as key',
  'set repeats': "if the API's pages overlap, set repeats: 'drop'",
  'set state': 'keep the state in a database',
  'allow sameProject': 'if it is a new key of the same project, say so with sameProject',
  'allow breakLock': 'if it does not, take the lock with breakLock',
  'allow trustFileSystem': 'use a local disk, or take the risk with trustFileSystem',
  'allow ifExists': "give another name, or replace it with ifExists: 'overwrite'",
  'allow allowAddresses': 'if it is the right place, add that to allowAddresses',
  'allow allowInsecure': 'use https, or set allowInsecure: true',
  'allow requireTotal': 'if the total counts something else, say so with requireTotal: false',
  'allow maxRemoved': "if they are really gone, allow it with maxRemoved: '100%'",
} satisfies Record<NameOf<Advice>, string>;

type NameOf<A extends Advice> = A extends { readonly option: string } ? `${A['kind']} ${A['option']}` : A['kind'];

/** The default `fault` of a code. */
function faultOf(code: SluiceErrorCode): Fault {
  switch (code) {
    case 'config':
    case 'checkpoint':
    case 'backpressure':
      return 'caller';
    case 'lock':
    case 'sink':
      return 'machine';
    case 'plugin':
      return 'plugin';
    case 'forbidden-address':
      return 'endpoint';
    default:
      return 'api';
  }
}
