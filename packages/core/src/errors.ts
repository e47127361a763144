import type { Position } from './position.js';

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

interface SluiceErrorOptions {
  readonly details?: ErrorDetails | undefined;
  readonly cause?: unknown;
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
  /** Where the walk stood when it failed: `source.pages({ startAt: error.position })` goes on from there. */
  position?: Position;

  constructor(code: SluiceErrorCode, message: string, options: SluiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.details = options.details ?? {};
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

  /** What a log may hold: name, code, message, details, the page of docs and the position. */
  toJSON(): Record<string, unknown> {
    return {
      name: this.name,
      code: this.code,
      message: this.message,
      details: this.details,
      docs: this.docs,
      ...(this.position && { position: this.position }),
    };
  }
}

/** An option, an argument or an environment value can't be used. Raised before any request; nothing was changed. */
export class ConfigError extends SluiceError {
  constructor(message: string, details?: ErrorDetails) {
    super('config', message, { details });
  }
}

/** No answer came: the name did not resolve, the connection was refused, reset or lost. */
export class NetworkError extends SluiceError {
  constructor(message: string, options: SluiceErrorOptions = {}) {
    super('network', message, options);
  }
}

/** A deadline passed: `details.deadline` says which (`connect`, `response` or `total`) and `details.ms` how long it was. */
export class RequestTimeoutError extends SluiceError {
  constructor(message: string, options: SluiceErrorOptions = {}) {
    super('timeout', message, options);
  }
}

/** The API answered with a status that is no success and that trying again did not, or would not, change. */
export class HttpError extends SluiceError {
  readonly status: number;
  /** The beginning of the answer's body, scrubbed of secrets; empty if it had none. */
  readonly excerpt: string;

  constructor(message: string, options: { status: number; excerpt: string; details?: ErrorDetails }) {
    super('http', message, { details: { ...options.details, status: options.status, excerpt: options.excerpt } });
    this.status = options.status;
    this.excerpt = options.excerpt;
  }
}

/** The API asked for a longer pause than `maxRetryAfter` allows, or went on refusing after every retry. */
export class RateLimitError extends SluiceError {
  readonly status: number;
  /** When the API will take requests again, by our clock; absent if it did not say. */
  readonly retryAt: Date | undefined;

  constructor(message: string, options: { status: number; retryAt: Date | undefined; details?: ErrorDetails }) {
    super('rate-limited', message, {
      details: { ...options.details, status: options.status, retryAt: options.retryAt?.toISOString() },
    });
    this.status = options.status;
    this.retryAt = options.retryAt;
  }
}

/** The API answered with a redirect. It is never followed, since the key would travel to another place. */
export class UnexpectedRedirectError extends SluiceError {
  constructor(message: string, details?: ErrorDetails) {
    super('unexpected-redirect', message, { details });
  }
}

/** An answer could not be read: cut short, not JSON, HTML, or of another shape; `details.path` is the place in the document. */
export class DecodeError extends SluiceError {
  constructor(message: string, details?: ErrorDetails) {
    super('decode', message, { details });
  }
}

/** An answer is larger than `maxBodyBytes`, after decompression, or would fill the memory once it is read. Reading stopped there. */
export class ResponseTooLargeError extends SluiceError {
  constructor(message: string, details?: ErrorDetails) {
    super('response-too-large', message, { details });
  }
}

/**
 * A host leads to an address that must not be connected to: `details.host`, `details.address` and, as `details.kind`, what sort of
 * address that is. Nothing was sent, and no connection was made.
 */
export class ForbiddenAddressError extends SluiceError {
  constructor(message: string, details?: ErrorDetails) {
    super('forbidden-address', message, { details });
  }
}

/** A walk can't go on; the code says why and `position` says where. */
export class PaginationError extends SluiceError {
  constructor(fault: PaginationFault, message: string, options: SluiceErrorOptions = {}) {
    super(fault, message, options);
  }
}

/** A checkpoint does not fit the plan or the target, or can't be read. Neither was touched. */
export class CheckpointError extends SluiceError {
  constructor(message: string, details?: ErrorDetails) {
    super('checkpoint', message, { details });
  }
}

/** Another process works on the same target. */
export class LockError extends SluiceError {
  constructor(message: string, details?: ErrorDetails) {
    super('lock', message, { details });
  }
}

/** A pushed source outran its sink and the buffer is full. */
export class BackpressureError extends SluiceError {
  constructor(message: string, details?: ErrorDetails) {
    super('backpressure', message, { details });
  }
}

/** A sink could not take rows: disk full, no permission, the target exists. */
export class SinkError extends SluiceError {
  constructor(message: string, options: SluiceErrorOptions = {}) {
    super('sink', message, options);
  }
}

/** A plugin clashes with another one, misses something, or failed to set up. */
export class PluginError extends SluiceError {
  constructor(message: string, options: SluiceErrorOptions = {}) {
    super('plugin', message, options);
  }
}
