import type { Position } from './position.js';
import { isRecord } from './values.js';

/** What can go wrong, as a word that programs can compare. One code belongs to one class. */
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

/** Why a walk could not go on; the code of a {@link PaginationError}. */
export type PaginationFault =
  'no-progress' | 'missing-cursor' | 'cursor-refused' | 'rows-moved' | 'too-many-pages' | 'secret-in-cursor';

/** Facts about one fault, safe to log: plain values, never the API key, never an answer's whole body. */
export type ErrorDetails = Readonly<Record<string, unknown>>;

/** Whose fault an error is: the API's, that of the endpoint that records are sent to, the caller's, the machine's, or a plugin's. */
export type Fault = 'api' | 'endpoint' | 'caller' | 'machine' | 'plugin';

/**
 * One way out of an error, with the option that opens it, by its name in this package. It holds no text from outside.
 *
 * `rerun`: use the previous settings. `restart-partition`: walk the part again, as an export does with `onExpired: 'restart-partition'`. `allow`: say with the
 * option that it is right as it is.
 */
export type Advice =
  | { readonly kind: 'wait' | 'rerun' | 'restart' | 'restart-partition' | 'see-cause'; readonly option?: never }
  | {
      readonly kind: 'raise';
      readonly option:
        | `timeouts.${'connect' | 'response' | 'total'}`
        | 'retry.for'
        | 'maxRetryAfter'
        | 'maxBodyBytes'
        | 'maxDeadLetters';
    }
  | { readonly kind: 'lower'; readonly option: 'pageSize' | 'rateLimit' | 'concurrency' }
  | { readonly kind: 'set'; readonly option: 'apiKey' }
  | {
      readonly kind: 'allow';
      readonly option:
        'sameProject' | 'breakLock' | 'trustFileSystem' | 'ifExists' | 'allowAddresses' | 'allowInsecure';
    };

interface SluiceErrorOptions {
  readonly details?: ErrorDetails | undefined;
  readonly cause?: unknown;
  /** Ways out, the best one first. They are added to the message. */
  readonly advice?: readonly Advice[] | undefined;
  /** Default: whose fault errors of this code are. */
  readonly fault?: Fault | undefined;
}

/** Marks our errors across copies of this package, where `instanceof` would fail. */
const brand = Symbol.for('sluice.error');

/**
 * The base of every error that Sluice raises on purpose.
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
  /** The message without its advice. It names options as `details.option` and `details.changed` have them. */
  readonly summary: string;
  /** Ways out, the best one first; empty where the summary says what to do. */
  readonly advice: readonly Advice[];
  readonly fault: Fault;
  /** Where the walk stood when it failed: `source.pages({ startAt: error.position })` goes on from there. */
  position?: Position;

  constructor(code: SluiceErrorCode, summary: string, options: SluiceErrorOptions = {}) {
    const { advice = [], cause } = options;
    super(messageOf(code, summary, advice), cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
    this.summary = summary;
    this.advice = advice;
    this.details = options.details ?? {};
    this.fault = options.fault ?? faultOf(code);
    Object.defineProperty(this, brand, { value: true });
  }

  /** The page that explains this code and its way out; it is part of the package. */
  get docs(): string {
    return `@sluice/core/docs/errors.md#${this.code}`;
  }

  /** Whether `value` is an error of Sluice's (of this code, where one is given), whichever copy of the package made it. */
  static is(value: unknown, code?: SluiceErrorCode): value is SluiceError {
    return value instanceof Error && brand in value && (code === undefined || ('code' in value && value.code === code));
  }

  /** What a log may hold: name, code, message, advice, whose fault it is, details, the page of docs and the position. */
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

/** An option, an argument or an environment value can't be used. Raised before any request; nothing was changed. */
export class ConfigError extends SluiceError {
  constructor(summary: string, details?: ErrorDetails, advice?: readonly Advice[]) {
    super('config', summary, { details, advice });
  }
}

/** No answer came: the name did not resolve, the connection was refused, reset or lost. */
export class NetworkError extends SluiceError {
  constructor(summary: string, options: SluiceErrorOptions = {}) {
    super('network', summary, options);
  }
}

/** A deadline passed: `details.deadline` says which (`connect`, `response` or `total`) and `details.ms` how long it was. */
export class RequestTimeoutError extends SluiceError {
  constructor(summary: string, options: SluiceErrorOptions = {}) {
    super('timeout', summary, options);
  }
}

/** The API answered with a status that is no success and that trying again did not, or would not, change. */
export class HttpError extends SluiceError {
  readonly status: number;
  /** The beginning of the answer's body, scrubbed of secrets; empty if it had none. */
  readonly excerpt: string;

  constructor(summary: string, options: SluiceErrorOptions & { status: number; excerpt: string }) {
    const { status, excerpt } = options;
    super('http', summary, { ...options, details: { ...options.details, status, excerpt } });
    this.status = options.status;
    this.excerpt = options.excerpt;
  }
}

/** The API asked for a longer pause than `maxRetryAfter` allows, or went on refusing after every retry. */
export class RateLimitError extends SluiceError {
  readonly status: number;
  /** When the API will take requests again, by our clock; absent if it did not say. */
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

/** The API answered with a redirect. It is never followed, since the key would travel to another place. */
export class UnexpectedRedirectError extends SluiceError {
  constructor(summary: string, details?: ErrorDetails, advice?: readonly Advice[]) {
    super('unexpected-redirect', summary, { details, advice });
  }
}

/** An answer could not be read: cut short, not JSON, HTML, or of another shape; `details.path` is the place in the document. */
export class DecodeError extends SluiceError {
  constructor(summary: string, details?: ErrorDetails, advice?: readonly Advice[]) {
    super('decode', summary, { details, advice });
  }
}

/** An answer is larger than `maxBodyBytes`, after decompression, or would fill the memory once it is read. Reading stopped there. */
export class ResponseTooLargeError extends SluiceError {
  constructor(summary: string, details?: ErrorDetails, advice?: readonly Advice[]) {
    super('response-too-large', summary, { details, advice });
  }
}

/**
 * A host leads to an address that must not be connected to: `details.host`, `details.address` and, as `details.kind`, what sort of
 * address that is. Nothing was sent, and no connection was made.
 */
export class ForbiddenAddressError extends SluiceError {
  constructor(summary: string, details?: ErrorDetails, advice?: readonly Advice[]) {
    super('forbidden-address', summary, { details, advice });
  }
}

/** A walk can't go on; the code says why and `position` says where. */
export class PaginationError extends SluiceError {
  constructor(code: PaginationFault, summary: string, options: SluiceErrorOptions = {}) {
    super(code, summary, options);
  }
}

/** A checkpoint does not fit the plan or the target, or can't be read. Neither was touched. */
export class CheckpointError extends SluiceError {
  constructor(summary: string, details?: ErrorDetails, advice?: readonly Advice[]) {
    super('checkpoint', summary, { details, advice });
  }
}

/** Another process works on the same target. */
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

/** A sink could not take rows: disk full, no permission, the target exists. */
export class SinkError extends SluiceError {
  constructor(summary: string, options: SluiceErrorOptions = {}) {
    super('sink', summary, options);
  }
}

/** A plugin clashes with another one, misses something, or failed to set up. */
export class PluginError extends SluiceError {
  constructor(summary: string, options: SluiceErrorOptions = {}) {
    super('plugin', summary, options);
  }
}

/** Adds to what an error says, once more is known. */
export function amend(error: SluiceError, more: string, advice: readonly Advice[] = []): void {
  const [summary, all] = [`${error.summary} ${more}`, [...error.advice, ...advice]];
  Object.assign(error, { summary, advice: all, message: messageOf(error.code, summary, all) });
}

/** The advice of an error that anybody may have made, without what is none of ours. It throws nothing. */
export function adviceOf(given: unknown): readonly Advice[] {
  try {
    return Array.isArray(given) ? Object.freeze(given.map(copyOf).filter(isAdvice)) : [];
  } catch {
    return [];
  }
}

/** Read once: a getter may answer something else each time. */
function copyOf(given: unknown): { readonly kind?: unknown; readonly option?: unknown } {
  if (!isRecord(given)) return {};
  const { kind, option } = given;
  return Object.freeze(option === undefined ? { kind } : { kind, option });
}

function isAdvice(advice: { readonly kind?: unknown; readonly option?: unknown }): advice is Advice {
  return Object.hasOwn(ways, nameOf(advice));
}

function nameOf({ kind, option }: { readonly kind?: unknown; readonly option?: unknown }): string {
  return typeof option === 'string' ? `${String(kind)} ${option}` : String(kind);
}

/** Refused before anything is touched. */
const refusals: ReadonlySet<SluiceErrorCode> = new Set<SluiceErrorCode>(['checkpoint', 'lock']);

function messageOf(code: SluiceErrorCode, summary: string, advice: readonly Advice[]): string {
  if (advice.length === 0) return summary;
  const text = advice.map((each) => ways[nameOf(each)]).join(', or ');
  return `${summary} ${text.charAt(0).toUpperCase()}${text.slice(1)}${refusals.has(code) ? ': nothing was changed' : ''}.`;
}

/** What programmers read. */
const ways: Readonly<Record<string, string>> = {
  wait: 'try again later',
  rerun: 'use the previous settings',
  restart: 'start over with restart',
  'restart-partition': "walk this part again (an export does with onExpired: 'restart-partition')",
  'see-cause': 'see its cause',
  'raise timeouts.connect': 'raise timeouts.connect',
  'raise timeouts.response': 'raise timeouts.response',
  'raise timeouts.total': 'raise timeouts.total',
  'raise retry.for': 'raise retry.for to retry for longer',
  'raise maxRetryAfter': 'raise maxRetryAfter',
  'raise maxBodyBytes': 'raise maxBodyBytes',
  'raise maxDeadLetters': 'raise maxDeadLetters to go on all the same',
  'lower pageSize': 'ask for smaller pages (pageSize)',
  'lower rateLimit': 'lower rateLimit',
  'lower concurrency': 'lower the concurrency',
  'set apiKey': 'set apiKey if it wants one',
  'allow sameProject': 'if it is a new key of the same project, say so with sameProject',
  'allow breakLock': 'if it does not, take the lock with breakLock',
  'allow trustFileSystem': 'use a local disk, or take the risk with trustFileSystem',
  'allow ifExists': "give another name, or replace it with ifExists: 'overwrite'",
  'allow allowAddresses': 'if it is the right place, add that to allowAddresses',
  'allow allowInsecure': 'use https, or set allowInsecure: true',
} satisfies Record<NameOf<Advice>, string>;

type NameOf<A extends Advice> = A extends { readonly option: string } ? `${A['kind']} ${A['option']}` : A['kind'];

/** Whose fault errors of a code are, unless they say so themselves. */
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
